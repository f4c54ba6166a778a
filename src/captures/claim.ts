// Which process works on a request: a lease with the identity of its process (decisions/0017, 0023). It is a row beside the
// facts about the store and no part of any session, because signs of life are no history.
import type { Captures, ClaimOwner, RequestClaim, UnsavedWork } from "../contracts/captures.ts";
import type { Environment } from "../contracts/environment.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Guard } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { sha256Hex } from "../core/bytes.ts";
import { checkId, checkInt, checkRecord } from "../core/check.ts";
import { plainObject } from "../core/decode.ts";
import { newId } from "../core/new-id.ts";
import { describeOwner, describeProcess, ownerLiveness, ownerText } from "../core/run-owner.ts";
import { STORE_LOCK } from "../core/session-guards.ts";
import { LeaseWatch } from "../runs/lease-watch.ts";
import type { OpenClaims } from "./open-claims.ts";

const LEASE_MS = 10_000;
/** Signs of life within one lease. */
const BEATS = 3;
/** How often a process that waits looks again. */
const LOOK_MS = 250;

export interface ClaimedRequest {
  readonly request: string;
  readonly agent: string;
}

export async function claimRequest(
  storage: Storage,
  claims: OpenClaims,
  { request, agent }: ClaimedRequest,
  { leaseMs = LEASE_MS, wait = false, signal, onWait }: NonNullable<Parameters<Captures["claim"]>[2]>,
): Promise<RequestClaim> {
  const { environment } = storage;
  const ended = signal === undefined ? claims.closing : AbortSignal.any([claims.closing, signal]);
  // The request's own words do not outlive what is erased of it.
  const name = `claim:${sha256Hex(new TextEncoder().encode(JSON.stringify([request, agent])))}`;
  const watch = new LeaseWatch(environment);
  const owner = ownerText(environment, newId(environment, "claim"));
  for (let told: string | null = null; ; ) {
    if (ended.aborted) throw notClaimed(request, claims);
    const text = await readText(storage, name);
    const seen = text === null ? null : decodeClaim(text);
    // Asked before the state, because the remaining time begins to count anew with each sign of life.
    const isAlive =
      seen !== null && (watch.hasMoved(leaseOf(seen)) || ownerLiveness(environment, seen.owner) === "alive");
    const state = seen === null ? "free" : stateOf(environment, watch, seen);
    if (seen === null || state === "free") {
      const mine = takenRecord(seen, { owner, leaseMs, at: environment.now() });
      if (!(await replace(storage, name, text, mine, [STORE_LOCK]))) continue;
      const claim = new HeldClaim(storage, claims, name, mine, previousOf(environment, seen, mine));
      if (!claims.closing.aborted) return claim;
      // The store began to close while this was written. It closes after this call, so the release still reaches it.
      await claim.release().catch(() => {});
      throw notClaimed(request, claims);
    }
    const by = ownerOf(environment, seen, state);
    if (!wait && (isAlive || state === "orphaned")) throw requestBusy(request, agent, by);
    const who = `${seen.owner} ${state} ${by.isStalled}`;
    if (told !== who) onWait?.(by);
    told = who;
    const restMs = state === "orphaned" ? LOOK_MS : remainingMs(environment, watch, seen);
    await environment.sleep(Math.min(LOOK_MS, Math.max(1, restMs)), ended);
  }
}

function notClaimed(request: string, { closing }: OpenClaims): HoldfastError {
  if (!closing.aborted) return new HoldfastError("Aborted", `waiting for request ${quoted(request)} was ended`);
  return new HoldfastError("Closed", `the store was closed while request ${quoted(request)} was waited for`, {
    hint: "Open it again; close() comes last.",
  });
}

/** A claim that this process has: it shows signs of life until it is released. */
class HeldClaim implements RequestClaim {
  readonly previous: NonNullable<RequestClaim["previous"]> | null;
  readonly #storage: Storage;
  readonly #claims: OpenClaims;
  readonly #name: string;
  readonly #over = new AbortController();
  readonly #lost = new AbortController();
  #record: ClaimRecord;
  readonly #beating: Promise<void>;
  /** One write of the row at a time. */
  #writing: Promise<void> = Promise.resolve();

  constructor(
    storage: Storage,
    claims: OpenClaims,
    name: string,
    record: ClaimRecord,
    previous: NonNullable<RequestClaim["previous"]> | null,
  ) {
    this.#storage = storage;
    this.#claims = claims;
    this.#name = name;
    this.#record = record;
    this.previous = previous;
    this.#beating = this.#beat();
    claims.add(this);
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async describe(given: Parameters<RequestClaim["describe"]>[0]): Promise<void> {
    const { workerPid, sessionId, capture } = checkWork(given);
    const { processes } = this.#storage.environment;
    const before = this.#record;
    const host = hostOf(this.#storage.environment);
    // What this process says of its own session holds for what an earlier one left of it here.
    const isOwn = (one: { readonly sessionId: string | null; readonly host: string | null }) =>
      sessionId !== undefined && one.sessionId === sessionId && one.host === host;
    const record = {
      ...withoutUnsaved(before, isOwn),
      ...(workerPid === undefined ? {} : { worker: processes?.identify?.(workerPid) ?? null }),
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(capture === undefined ? {} : { capture }),
    };
    await this.#change(record);
  }

  async settle(unsaved: UnsavedWork): Promise<void> {
    const { sessionId, since, lastSeenAt } = checkRecord(unsaved, "unsaved", UNSAVED_FIELDS);
    await this.#change(
      withoutUnsaved(
        this.#record,
        (one) => one.sessionId === sessionId && one.since === since && one.at === lastSeenAt,
      ),
    );
  }

  async #change(record: ClaimRecord): Promise<void> {
    if (encodeClaim(record) === encodeClaim(this.#record)) return;
    this.#record = record;
    if (!this.#over.signal.aborted) await this.#showLife();
  }

  async release(): Promise<void> {
    if (this.#over.signal.aborted) return;
    this.#claims.delete(this);
    this.#over.abort();
    await this.#beating;
    if (this.#lost.signal.aborted) return;
    const { capture, unsaved } = this.#record;
    // A process that waits goes on from the capture; of the work itself only that of earlier processes is kept.
    const isEmpty = capture === null && unsaved.length === 0;
    const left = { ...this.#record, isReleased: true, worker: null, sessionId: null };
    await this.#write((text) =>
      isEmpty ? removeRow(this.#storage, this.#name, text) : replace(this.#storage, this.#name, text, left),
    );
  }

  async #beat(): Promise<void> {
    const { environment } = this.#storage;
    while (!this.#lost.signal.aborted) {
      await environment.sleep(this.#record.leaseMs / BEATS, this.#over.signal);
      if (this.#over.signal.aborted) return;
      try {
        await this.#showLife();
      } catch (error) {
        // A store that is away for a while costs the claim only if another process takes it meanwhile.
        environment.log("warn", "captures.claim", { error: String(error) });
      }
    }
  }

  async #showLife(): Promise<void> {
    const isOwn = await this.#write((text) => {
      this.#record = { ...this.#record, beat: this.#record.beat + 1, at: this.#storage.environment.now() };
      return replace(this.#storage, this.#name, text, this.#record);
    });
    if (!isOwn) this.#lost.abort();
  }

  /**
   * false: another process has the claim. The row is read first, because the owner counts and not the last sign of life: one whose
   * commit was not answered may have happened, and may even happen between the two.
   */
  #write(write: (text: string) => Promise<boolean>): Promise<boolean> {
    const writing = this.#writing.then(async () => {
      for (;;) {
        const text = await readText(this.#storage, this.#name);
        if (text === null || decodeClaim(text)?.owner !== this.#record.owner) return false;
        if (await write(text)) return true;
      }
    });
    this.#writing = writing.then(
      () => {},
      () => {},
    );
    return writing;
  }
}

const UNSAVED_FIELDS = ["sessionId", "isLocal", "since", "lastSeenAt"];

function checkWork(given: unknown): Parameters<RequestClaim["describe"]>[0] {
  const { workerPid, sessionId, capture } = checkRecord(given, "work", ["workerPid", "sessionId", "capture"]);
  return {
    ...(workerPid === undefined ? {} : { workerPid: checkInt(workerPid, "work.workerPid", 1, 2 ** 31 - 1) }),
    ...(sessionId === undefined ? {} : { sessionId: checkId(sessionId, "work.sessionId") }),
    ...(capture === undefined ? {} : { capture: checkId(capture, "work.capture") }),
  };
}

async function readText(storage: Storage, name: string): Promise<string | null> {
  const [row] = await storage.query("claim.get", { name });
  return row?.value ?? null;
}

function valueIs(name: string, expect: string | null): Guard {
  return { check: "claim.value", key: [name], expect };
}

async function replace(
  storage: Storage,
  name: string,
  before: string | null,
  after: ClaimRecord,
  guards: readonly Guard[] = [],
): Promise<boolean> {
  const outcome = await storage.commit({
    guards: [...guards, valueIs(name, before)],
    writes: [{ op: "run", statement: "claim.put", params: [name, encodeClaim(after)] }],
  });
  return outcome.ok;
}

async function removeRow(storage: Storage, name: string, before: string): Promise<boolean> {
  const outcome = await storage.commit({
    guards: [valueIs(name, before)],
    writes: [{ op: "run", statement: "claim.remove", params: [name] }],
  });
  return outcome.ok;
}

function requestBusy(request: string, agent: string, owner: ClaimOwner): HoldfastError {
  const { host, pid, orphan, isStalled } = owner;
  const who = pid === null ? "Another process" : `Process ${pid} on ${host}`;
  const works = `works on request ${quoted(request)}`;
  const stalled = isStalled ? ", and has shown no sign of life for its lease: it is stopped, or it hangs" : "";
  const message =
    orphan === null
      ? `${who} ${works}${stalled}`
      : `${who} is gone, and process ${orphan}, which it started, still ${works}`;
  return new HoldfastError("RequestBusy", message, {
    retryable: true,
    details: { request, agent, ...owner },
    hint: "Wait for its end (claim with wait: true), or work beside it without a claim: both results are then kept.",
  });
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

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
interface UnsavedRecord {
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

function encodeClaim(record: ClaimRecord): string {
  return JSON.stringify(record);
}

/** null for what no version of ours wrote: it is replaced. */
export function decodeClaim(text: string): ClaimRecord | null {
  const row = plainObject.read(parse(text)) ?? {};
  const { owner, epoch, beat, leaseMs, since, at } = row;
  if (typeof owner !== "string" || typeof epoch !== "number" || typeof beat !== "number") return null;
  if (typeof leaseMs !== "number" || typeof since !== "number" || typeof at !== "number") return null;
  return {
    owner,
    epoch,
    beat,
    leaseMs: Math.min(leaseMs, LONGEST_LEASE_MS),
    since,
    at,
    isReleased: row.isReleased === true,
    worker: textOf(row.worker),
    sessionId: textOf(row.sessionId),
    capture: textOf(row.capture),
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
function takenRecord(
  seen: ClaimRecord | null,
  { owner, leaseMs, at }: Pick<ClaimRecord, "owner" | "leaseMs" | "at">,
): ClaimRecord {
  return {
    owner,
    epoch: (seen?.epoch ?? 0) + 1,
    beat: 0,
    leaseMs,
    since: at,
    at,
    isReleased: false,
    worker: null,
    sessionId: null,
    capture: seen?.capture ?? null,
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
function withoutUnsaved(record: ClaimRecord, isSettled: (one: UnsavedRecord) => boolean): ClaimRecord {
  return { ...record, unsaved: record.unsaved.filter((one) => !isSettled(one)) };
}

/** free: it may be taken. orphaned: its process is gone, and the worker that it named runs on. */
type ClaimState = "free" | "owned" | "orphaned";

function stateOf(environment: Environment, watch: LeaseWatch, record: ClaimRecord): ClaimState {
  if (!record.isReleased && remainingMs(environment, watch, record) > 0) return "owned";
  return orphanOf(environment, record) === null ? "free" : "orphaned";
}

/** The worker of the owner, or of an owner before, that runs on this machine; null: none does. */
export function orphanOf({ processes }: Environment, { worker, unsaved }: ClaimRecord): string | null {
  const workers = [worker, ...unsaved.map((one) => one.worker).toReversed()];
  return workers.find((one) => one !== null && processes?.liveness(one) === "alive") ?? null;
}

/** How long it takes at most until the claim may be taken, if its owner shows no sign of life and does not end. */
function remainingMs(environment: Environment, watch: LeaseWatch, record: ClaimRecord): number {
  if (isRunningHere(environment, record)) return record.leaseMs;
  if (environment.now() - record.at > STALE_MS + record.leaseMs) return 0;
  return watch.remainingMs(leaseOf(record));
}

/**
 * Its owner is another process of this machine, which runs: however long that is silent, it has the claim. A process knows its own
 * claims, so that one of them that it could not release ends with its lease.
 */
function isRunningHere(environment: Environment, { owner }: ClaimRecord): boolean {
  const self = environment.processes?.self() ?? null;
  const isOwn = self !== null && owner.endsWith(`@${self}`);
  return !isOwn && ownerLiveness(environment, owner) === "alive";
}

/** With its owner, because a claim that was released begins to count anew. */
function leaseOf({ owner, epoch, beat, leaseMs }: ClaimRecord) {
  return { id: owner, owner, epoch, beat, lease_ms: leaseMs };
}

function ownerOf(environment: Environment, record: ClaimRecord, state: ClaimState): ClaimOwner {
  const { host, pid } = describeOwner(record.owner);
  const worker = state === "orphaned" ? orphanOf(environment, record) : null;
  const orphan = worker === null ? null : (describeProcess(worker)?.pid ?? null);
  const isSilent = environment.now() - record.at > record.leaseMs;
  const isStalled = state === "owned" && isSilent && isRunningHere(environment, record);
  return { host, pid, since: record.since, orphan, isStalled };
}

/** null: it said nothing of its work. */
function previousOf(
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
function hostOf({ processes }: Environment): string | null {
  const self = processes?.self() ?? null;
  return self === null ? null : (describeProcess(self)?.host ?? null);
}
