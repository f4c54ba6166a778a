// The row of a claim: which process has it, its last sign of life, and what it said of its work.
import type { ClaimOwner, RequestClaim, UnsavedWork } from "../contracts/captures.ts";
import type { Environment } from "../contracts/environment.ts";
import { plainObject } from "../core/decode.ts";
import { describeProcess } from "../core/process-name.ts";
import { describeOwner, ownerLiveness } from "../core/run-owner.ts";
import type { LeaseWatch } from "../runs/lease-watch.ts";

const LONGEST_LEASE_MS = 3_600_000;
/**
 * So long after its last sign of life, by the store's clock, a claim is taken at once. A clock that is wrong by that much costs
 * no more than two captures beside each other, and a request whose container was killed last week does not wait for a lease.
 */
const STALE_MS = 60_000;
/** Unsaved work is looked for so long after the last sign of life of the process that did it. */
const UNSAVED_MS = 7 * 24 * 3_600_000;
/** One claim names no more unsaved work than this: the oldest goes first. */
const MOST_UNSAVED = 8;

/** Work of an earlier process that no process has settled. */
export interface UnsavedRecord {
  readonly sessionId: string | null;
  readonly host: string | null;
  readonly worker: string | null;
  readonly since: number;
  readonly at: number;
}

export interface ClaimRecord {
  readonly owner: string;
  readonly epoch: number;
  readonly beat: number;
  readonly leaseMs: number;
  readonly since: number;
  /** The last sign of life, by the store's clock. */
  readonly at: number;
  /** No process has the claim: the row only says what the last owner left. */
  readonly isReleased: boolean;
  /** The process that does the work, as `Processes` names it. */
  readonly worker: string | null;
  readonly sessionId: string | null;
  /** Inherited from the owner before until this one names its own. */
  readonly capture: string | null;
  readonly unsaved: readonly UnsavedRecord[];
}

export function encodeClaim(record: ClaimRecord): string {
  return JSON.stringify(record);
}

/** null for what no version of ours wrote: it is replaced. */
export function decodeClaim(text: string): ClaimRecord | null {
  const row = plainObject.read(parse(text)) ?? {};
  const { owner, epoch, beat, leaseMs, since, at } = row;
  if (typeof owner !== "string" || typeof epoch !== "number" || typeof beat !== "number") return null;
  if (typeof leaseMs !== "number" || typeof since !== "number" || typeof at !== "number") return null;
  return {
    ...{ owner, epoch, beat, leaseMs: Math.min(leaseMs, LONGEST_LEASE_MS), since, at },
    isReleased: row.isReleased === true,
    ...{ worker: textOf(row.worker), sessionId: textOf(row.sessionId), capture: textOf(row.capture) },
    unsaved: decodeUnsaved(row.unsaved),
  };
}

function decodeUnsaved(value: unknown): readonly UnsavedRecord[] {
  if (!Array.isArray(value)) return [];
  return value.slice(-MOST_UNSAVED).flatMap((one: unknown) => {
    const { sessionId, host, worker, since, at } = plainObject.read(one) ?? {};
    if (typeof since !== "number" || typeof at !== "number") return [];
    return [{ sessionId: textOf(sessionId), host: textOf(host), worker: textOf(worker), since, at }];
  });
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What the process that takes a claim writes: the former owner's work stays in it until it is settled. */
export function takenRecord(
  seen: ClaimRecord | null,
  { owner, leaseMs, at }: Pick<ClaimRecord, "owner" | "leaseMs" | "at">,
): ClaimRecord {
  return {
    ...{ owner, epoch: (seen?.epoch ?? 0) + 1, beat: 0, leaseMs, since: at, at, isReleased: false },
    ...{ worker: null, sessionId: null, capture: seen?.capture ?? null },
    unsaved: seen === null ? [] : unsavedAfter(seen, at),
  };
}

function unsavedAfter(seen: ClaimRecord, now: number): readonly UnsavedRecord[] {
  const kept = seen.unsaved.filter(({ at }) => Math.abs(now - at) < UNSAVED_MS);
  if (seen.isReleased) return kept;
  const { sessionId, worker, at } = seen;
  const { host } = describeOwner(seen.owner);
  const isSame = (one: UnsavedRecord) => one.host === host && one.sessionId === sessionId;
  const since = Math.min(seen.since, ...kept.filter(isSame).map((one) => one.since));
  return [...kept.filter((one) => !isSame(one)), { sessionId, host, worker, since, at }].slice(-MOST_UNSAVED);
}

/** The record once a process has said that this work is saved, or named the session as its own. */
export function withoutUnsaved(record: ClaimRecord, isSettled: (one: UnsavedRecord) => boolean): ClaimRecord {
  return { ...record, unsaved: record.unsaved.filter((one) => !isSettled(one)) };
}

/** free: it may be taken. orphaned: its process is gone, and the worker that it named runs on. */
export type ClaimState = "free" | "owned" | "orphaned";

export function stateOf(environment: Environment, watch: LeaseWatch, record: ClaimRecord): ClaimState {
  if (!record.isReleased && remainingMs(environment, watch, record) > 0) return "owned";
  return orphanOf(environment, record) === null ? "free" : "orphaned";
}

/** The worker of the owner, or of an owner before, that runs on this machine; null: none does. */
export function orphanOf({ processes }: Environment, { worker, unsaved }: ClaimRecord): string | null {
  const workers = [worker, ...unsaved.map((one) => one.worker).toReversed()];
  return workers.find((one) => one !== null && processes?.liveness(one) === "alive") ?? null;
}

/** How long it takes at most until the claim may be taken, if its owner shows no sign of life and does not end. */
export function remainingMs(environment: Environment, watch: LeaseWatch, record: ClaimRecord): number {
  if (isRunningHere(environment, record)) return record.leaseMs;
  if (environment.now() - record.at > STALE_MS + record.leaseMs) return 0;
  return watch.remainingMs(leaseOf(record));
}

/**
 * Its owner is another process of this machine, which runs: however long that is silent, it has the claim. A process knows its own
 * claims, so that one of them that it could not release ends with its lease.
 */
export function isRunningHere(environment: Environment, { owner }: ClaimRecord): boolean {
  const self = environment.processes?.self() ?? null;
  const isOwn = self !== null && owner.endsWith(`@${self}`);
  return !isOwn && ownerLiveness(environment, owner) === "alive";
}

/** With its owner, because a claim that was released begins to count anew. */
export function leaseOf({ owner, epoch, beat, leaseMs }: ClaimRecord) {
  return { id: owner, owner, epoch, beat, lease_ms: leaseMs };
}

export function ownerOf(environment: Environment, record: ClaimRecord, state: ClaimState): ClaimOwner {
  const { host, pid } = describeOwner(record.owner);
  const worker = state === "orphaned" ? orphanOf(environment, record) : null;
  const orphan = worker === null ? null : (describeProcess(worker)?.pid ?? null);
  const isSilent = environment.now() - record.at > record.leaseMs;
  const isStalled = state === "owned" && isSilent && isRunningHere(environment, record);
  return { host, pid, since: record.since, orphan, isStalled };
}

/** null: it said nothing of its work. */
export function previousOf(
  environment: Environment,
  seen: ClaimRecord | null,
  { unsaved }: ClaimRecord,
): NonNullable<RequestClaim["previous"]> | null {
  if (seen === null || (seen.sessionId === null && seen.capture === null && unsaved.length === 0)) return null;
  const { isReleased, sessionId, capture } = seen;
  return { isReleased, sessionId, capture, unsaved: unsaved.map((one) => unsavedWork(environment, one)) };
}

function unsavedWork(environment: Environment, { sessionId, host, since, at }: UnsavedRecord): UnsavedWork {
  const own = hostOf(environment);
  return { sessionId, isLocal: host === null || own === null ? null : host === own, since, lastSeenAt: at };
}

/** null where the platform does not tell. */
export function hostOf({ processes }: Environment): string | null {
  const self = processes?.self() ?? null;
  return self === null ? null : (describeProcess(self)?.host ?? null);
}
