// Which process works on a request: a lease with the identity of its process (decisions/0017, 0023). It is a row beside the
// facts about the store and no part of any session, because signs of life are no history.
import type { ClaimedWork, ClaimOptions, ClaimOwner, PreviousClaim, RequestClaim } from "../contracts/captures.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Guard, Storage } from "../contracts/storage.ts";
import { sha256Hex } from "../core/bytes.ts";
import { checkId, checkInt, checkRecord } from "../core/check.ts";
import { newId } from "../core/new-id.ts";
import { LeaseWatch } from "../runs/lease-watch.ts";
import { ownerLiveness, ownerText } from "../runs/owner.ts";
import { STORE_LOCK } from "../sessions/guards.ts";
import {
  type ClaimRecord,
  decodeClaim,
  encodeClaim,
  leaseOf,
  ownerOf,
  previousOf,
  remainingMs,
  stateOf,
} from "./claim-record.ts";
import type { OpenClaims } from "./open-claims.ts";

const LEASE_MS = 10_000;
/** Signs of life within one lease. */
const BEATS = 3;
/** How often a process that waits looks again. */
const LOOK_MS = 250;
/** Rows of claims that showed no sign of life for so long are removed by the sweep. */
const FORGOTTEN_MS = 7 * 24 * 3_600_000;

export interface ClaimedRequest {
  readonly request: string;
  readonly agent: string;
}

export async function claimRequest(
  storage: Storage,
  claims: OpenClaims,
  { request, agent }: ClaimedRequest,
  { leaseMs = LEASE_MS, wait = false, signal, onWait }: ClaimOptions,
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
      const mine = firstRecord(environment.now(), { owner, epoch: (seen?.epoch ?? 0) + 1, leaseMs });
      if (!(await replace(storage, name, text, mine, [STORE_LOCK]))) continue;
      return new HeldClaim(storage, claims, name, mine, previousOf(seen));
    }
    const by = ownerOf(seen, state);
    if (!wait && (isAlive || state === "orphaned")) throw requestBusy(request, agent, by);
    const who = `${seen.owner} ${state}`;
    if (told !== who) onWait?.(by);
    told = who;
    const restMs = state === "orphaned" ? LOOK_MS : remainingMs(environment, watch, seen);
    await environment.sleep(Math.min(LOOK_MS, Math.max(1, restMs)), ended);
  }
}

function firstRecord(at: number, claim: Pick<ClaimRecord, "owner" | "epoch" | "leaseMs">): ClaimRecord {
  return { ...claim, beat: 0, since: at, at, isReleased: false, worker: null, sessionId: null, capture: null };
}

function notClaimed(request: string, { closing }: OpenClaims): HoldfastError {
  if (!closing.aborted) return new HoldfastError("Aborted", `waiting for request ${quoted(request)} was ended`);
  return new HoldfastError("Closed", `the store was closed while request ${quoted(request)} was waited for`, {
    hint: "Open it again; close() comes last.",
  });
}

/** A claim that this process has: it shows signs of life until it is released. */
class HeldClaim implements RequestClaim {
  readonly previous: PreviousClaim | null;
  readonly #storage: Storage;
  readonly #claims: OpenClaims;
  readonly #name: string;
  readonly #over = new AbortController();
  readonly #lost = new AbortController();
  #record: ClaimRecord;
  readonly #beating: Promise<void>;
  /** One write of the row at a time. */
  #writing: Promise<void> = Promise.resolve();

  constructor(storage: Storage, claims: OpenClaims, name: string, record: ClaimRecord, previous: PreviousClaim | null) {
    this.#storage = storage;
    this.#claims = claims;
    this.#name = name;
    this.#record = record;
    this.previous = previous;
    this.#beating = this.#beat();
    claims.add(this);
    // The store closed while this was written.
    if (claims.closing.aborted) this.release().catch(() => {});
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async describe(given: ClaimedWork): Promise<void> {
    const { workerPid, sessionId, capture } = checkWork(given);
    const { processes } = this.#storage.environment;
    const before = this.#record;
    const record = {
      ...before,
      ...(workerPid === undefined ? {} : { worker: processes?.identify?.(workerPid) ?? null }),
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(capture === undefined ? {} : { capture }),
    };
    if (encodeClaim(record) === encodeClaim(before)) return;
    this.#record = record;
    if (!this.#over.signal.aborted) await this.#showLife();
  }

  async release(): Promise<void> {
    if (this.#over.signal.aborted) return;
    this.#claims.delete(this);
    this.#over.abort();
    await this.#beating;
    if (this.#lost.signal.aborted) return;
    const { capture } = this.#record;
    // A process that waits goes on from the capture; nothing else of the work is kept.
    const left = { ...this.#record, isReleased: true, worker: null, sessionId: null };
    await this.#write((text) =>
      capture === null ? removeRow(this.#storage, this.#name, text) : replace(this.#storage, this.#name, text, left),
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

function checkWork(given: unknown): ClaimedWork {
  const { workerPid, sessionId, capture } = checkRecord(given, "work", ["workerPid", "sessionId", "capture"]);
  return {
    ...(workerPid === undefined ? {} : { workerPid: checkInt(workerPid, "work.workerPid", 1, 2 ** 31 - 1) }),
    ...(sessionId === undefined ? {} : { sessionId: checkId(sessionId, "work.sessionId") }),
    ...(capture === undefined ? {} : { capture: checkId(capture, "work.capture") }),
  };
}

/** Claims of processes that are long gone, and what was left for those that waited. */
export async function forgetClaims(storage: Storage): Promise<void> {
  const before = storage.environment.now() - FORGOTTEN_MS;
  for (const { name, value } of await storage.query("claims.list")) {
    if ((decodeClaim(value)?.at ?? 0) < before) await removeRow(storage, name, value);
  }
}

async function readText(storage: Storage, name: string): Promise<string | null> {
  const [row] = await storage.query("claim.get", name);
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

function requestBusy(request: string, agent: string, { host, pid, since, orphan }: ClaimOwner): HoldfastError {
  const who = pid === null ? "Another process" : `Process ${pid} on ${host}`;
  const works = `works on request ${quoted(request)}`;
  const message =
    orphan === null ? `${who} ${works}` : `${who} is gone, and process ${orphan}, which it started, still ${works}`;
  return new HoldfastError("RequestBusy", message, {
    retryable: true,
    details: { request, agent, host, pid, since, orphan },
    hint: "Wait for its end (claim with wait: true), or work beside it without a claim: both results are then kept.",
  });
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
