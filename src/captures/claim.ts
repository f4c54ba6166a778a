// Claims on requests: a lease that names the process that works on a request (decisions/0017, 0023). It is a row of the store and not
// part of any session, because heartbeats do not belong into a log.
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
/** Heartbeats within one lease. */
const BEATS = 3;
/** How often a waiting process reads the claim. */
const LOOK_MS = 250;

export interface RequestKey {
  readonly request: string;
  readonly agent: string;
}

export async function claimRequest(
  storage: Storage,
  claims: OpenClaims,
  { request, agent }: RequestKey,
  { leaseMs = LEASE_MS, wait = false, signal, onWait }: NonNullable<Parameters<Captures["claim"]>[2]>,
): Promise<RequestClaim> {
  const { environment } = storage;
  const ended = signal === undefined ? claims.closing : AbortSignal.any([claims.closing, signal]);
  // The name has a hash of the request, so that the row does not outlive the request's erasure with its text.
  const name = `claim:${sha256Hex(new TextEncoder().encode(JSON.stringify([request, agent])))}`;
  const watch = new LeaseWatch(environment);
  const owner = ownerText(environment, newId(environment, "claim"));
  for (let reported: string | null = null; ; ) {
    if (ended.aborted) throw notClaimed(request, claims);
    const text = await readText(storage, name);
    const seen = text === null ? null : decodeClaim(text);
    // Read before the state, because each heartbeat restarts the remaining time.
    const isAlive =
      seen !== null && (watch.hasMoved(leaseOf(seen)) || ownerLiveness(environment, seen.owner) === "alive");
    const state = seen === null ? "free" : stateOf(environment, watch, seen);
    if (seen === null || state === "free") {
      const mine = claimedRecord(seen, { owner, leaseMs, at: environment.now() });
      if (!(await replace(storage, name, text, mine, [STORE_LOCK]))) continue;
      const claim = new ActiveClaim(storage, claims, name, mine, previousOf(environment, seen, mine));
      if (!claims.closing.aborted) return claim;
      // The store began to close while the claim was written. It closes after this call, so it can still store the release.
      await claim.release().catch(() => {});
      throw notClaimed(request, claims);
    }
    const by = ownerOf(environment, seen, state);
    if (!wait && (isAlive || state === "orphaned")) throw requestBusy(request, agent, by);
    const ownerState = `${seen.owner} ${state} ${by.isStalled}`;
    if (reported !== ownerState) onWait?.(by);
    reported = ownerState;
    const restMs = state === "orphaned" ? LOOK_MS : remainingMs(environment, watch, seen);
    await environment.sleep(Math.min(LOOK_MS, Math.max(1, restMs)), ended);
  }
}

function notClaimed(request: string, { closing }: OpenClaims): HoldfastError {
  if (!closing.aborted)
    return new HoldfastError("Aborted", `waiting for the claim on request ${quoted(request)} was aborted`);
  return new HoldfastError(
    "Closed",
    `the store was closed while this call waited for the claim on request ${quoted(request)}`,
    {
      hint: "Open the store again, and call close() only when all claims are released.",
    },
  );
}

/** A claim of this process. It writes heartbeats until it is released. */
class ActiveClaim implements RequestClaim {
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
    // Work that an earlier process left in the same session on this host is now this process's work.
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
    if (!this.#over.signal.aborted) await this.#sendHeartbeat();
  }

  async release(): Promise<void> {
    if (this.#over.signal.aborted) return;
    this.#claims.delete(this);
    this.#over.abort();
    await this.#beating;
    if (this.#lost.signal.aborted) return;
    const { capture, unsaved } = this.#record;
    // A waiting process continues from the capture. Only the unsaved work of earlier processes is kept.
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
        await this.#sendHeartbeat();
      } catch (error) {
        // If the store is unreachable for a while, the claim is lost only if another process takes it meanwhile.
        environment.log("warn", "captures.claim", { error: String(error) });
      }
    }
  }

  async #sendHeartbeat(): Promise<void> {
    const isOwn = await this.#write((text) => {
      this.#record = { ...this.#record, beat: this.#record.beat + 1, at: this.#storage.environment.now() };
      return replace(this.#storage, this.#name, text, this.#record);
    });
    if (!isOwn) this.#lost.abort();
  }

  /**
   * Returns false if another process has the claim. Every try reads the row first: a heartbeat that got no answer may
   * have been committed, or may be committed between the read and the write, so this process does not know the stored
   * text. The owner in the row decides.
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

function claimGuard(name: string, expect: string | null): Guard {
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
    guards: [...guards, claimGuard(name, before)],
    writes: [{ op: "run", statement: "claim.put", params: [name, encodeClaim(after)] }],
  });
  return outcome.ok;
}

async function removeRow(storage: Storage, name: string, before: string): Promise<boolean> {
  const outcome = await storage.commit({
    guards: [claimGuard(name, before)],
    writes: [{ op: "run", statement: "claim.remove", params: [name] }],
  });
  return outcome.ok;
}

function requestBusy(request: string, agent: string, owner: ClaimOwner): HoldfastError {
  const { host, pid, orphan, isStalled } = owner;
  const who = pid === null ? "Another process" : `Process ${pid} on ${host}`;
  const works = `works on request ${quoted(request)}`;
  const stalled = isStalled ? ", and has sent no heartbeat for its lease: it is stopped, or it hangs" : "";
  const message =
    orphan === null
      ? `${who} ${works}${stalled}`
      : `${who} has ended, and process ${orphan}, which it started, still ${works}`;
  return new HoldfastError("RequestBusy", message, {
    retryable: true,
    details: { request, agent, ...owner },
    hint: "Wait for its end (claim with wait: true), or work without a claim: the store then keeps both results.",
  });
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

const LONGEST_LEASE_MS = 3_600_000;
/**
 * A claim is free at once if its last heartbeat is older than this, by the store's clock. So a request whose container was killed last
 * week does not wait for a lease. If a clock is wrong by that much, the only harm is a diverged capture.
 */
const STALE_MS = 60_000;
/** A claim names unsaved work until this time after the last heartbeat of its process. */
const UNSAVED_MS = 7 * 24 * 3_600_000;
/** How many entries of unsaved work a claim names. The oldest are dropped first. */
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
  /** The time of the last heartbeat, by the store's clock. */
  readonly at: number;
  /** No process has the claim: the row only says what the last owner left. */
  readonly isReleased: boolean;
  /** The process that does the work, as `Processes` names it. */
  readonly worker: string | null;
  readonly sessionId: string | null;
  /** Inherited from the previous owner until this one names its own. */
  readonly capture: string | null;
  readonly unsaved: readonly UnsavedRecord[];
}

function encodeClaim(record: ClaimRecord): string {
  return JSON.stringify(record);
}

/** null when no version of Holdfast wrote the text: the row is replaced. */
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

/** The record of a new owner. The unsaved work of the previous owner stays in it until it is settled. */
function claimedRecord(
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

/** The record without work that was saved, or that its owner named as its own. */
function withoutUnsaved(record: ClaimRecord, isSettled: (one: UnsavedRecord) => boolean): ClaimRecord {
  return { ...record, unsaved: record.unsaved.filter((one) => !isSettled(one)) };
}

/** free: a process may take the claim. orphaned: its process has ended, and the worker that it started still runs. */
type ClaimState = "free" | "owned" | "orphaned";

function stateOf(environment: Environment, watch: LeaseWatch, record: ClaimRecord): ClaimState {
  if (!record.isReleased && remainingMs(environment, watch, record) > 0) return "owned";
  return orphanOf(environment, record) === null ? "free" : "orphaned";
}

/** A worker of the owner, or of an earlier owner, that still runs on this machine; null: there is none. */
export function orphanOf({ processes }: Environment, { worker, unsaved }: ClaimRecord): string | null {
  const workers = [worker, ...unsaved.map((one) => one.worker).toReversed()];
  return workers.find((one) => one !== null && processes?.liveness(one) === "alive") ?? null;
}

/** The longest time until the claim is free, if its owner sends no heartbeat and does not end. */
function remainingMs(environment: Environment, watch: LeaseWatch, record: ClaimRecord): number {
  if (isRunningHere(environment, record)) return record.leaseMs;
  if (environment.now() - record.at > STALE_MS + record.leaseMs) return 0;
  return watch.remainingMs(leaseOf(record));
}

/**
 * Whether the owner is another process of this machine that runs: it has the claim however long it is silent. A claim of this process
 * itself that it could not release ends with its lease.
 */
function isRunningHere(environment: Environment, { owner }: ClaimRecord): boolean {
  const self = environment.processes?.self() ?? null;
  const isOwn = self !== null && owner.endsWith(`@${self}`);
  return !isOwn && ownerLiveness(environment, owner) === "alive";
}

/** The id includes the owner, because a new owner restarts the time. */
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

/** null: the previous owner recorded nothing about its work. */
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
