// Which process works on a request: a lease with the identity of its process (decisions/0017, 0023). It is a row beside the
// facts about the store and no part of any session, because signs of life are no history.
import type { ClaimOptions, ClaimOwner, RequestClaim } from "../contracts/captures.ts";
import type { Environment } from "../contracts/environment.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Guard, Storage } from "../contracts/storage.ts";
import { sha256Hex } from "../core/bytes.ts";
import { plainObject } from "../core/decode.ts";
import { newId } from "../core/new-id.ts";
import { LeaseWatch } from "../runs/lease-watch.ts";
import { describeOwner, ownerLiveness, ownerText } from "../runs/owner.ts";
import { IN_TURN } from "../sessions/guards.ts";
import type { OpenClaims } from "./open-claims.ts";

const LEASE_MS = 10_000;
const LONGEST_LEASE_MS = 3_600_000;
/** Signs of life within one lease. */
const BEATS = 3;
/** How often a process that waits looks again. */
const LOOK_MS = 250;
/**
 * So long after its last sign of life, by the store's clock, a claim is taken at once. A clock that is wrong by that much costs
 * no more than two captures beside each other, and a request whose container was killed last week does not wait for a lease.
 */
const STALE_MS = 60_000;

/** As it stands in the row. */
interface ClaimRecord {
  readonly owner: string;
  readonly epoch: number;
  readonly beat: number;
  readonly leaseMs: number;
  readonly since: number;
  /** The last sign of life, by the store's clock. */
  readonly at: number;
}

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
  for (let hasTold = false; ; ) {
    if (ended.aborted) throw notClaimed(request, claims);
    const text = await readText(storage, name);
    const seen = text === null ? null : decode(text);
    // Asked before the remaining time, which begins to count anew with each sign of life.
    const isAlive =
      seen !== null && (watch.hasMoved(leaseOf(seen)) || ownerLiveness(environment, seen.owner) === "alive");
    if (seen === null || remainingMs(environment, watch, seen) <= 0) {
      const now = environment.now();
      const mine = { owner, epoch: (seen?.epoch ?? 0) + 1, beat: 0, leaseMs, since: now, at: now };
      if (await replace(storage, name, text, mine, [IN_TURN])) return new HeldClaim(storage, claims, name, mine);
      continue;
    }
    if (!wait && isAlive) throw requestBusy(request, agent, seen);
    if (!hasTold) onWait?.(describe(seen));
    hasTold = true;
    await environment.sleep(Math.min(LOOK_MS, Math.max(1, remainingMs(environment, watch, seen))), ended);
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
  readonly #storage: Storage;
  readonly #claims: OpenClaims;
  readonly #name: string;
  readonly #over = new AbortController();
  readonly #lost = new AbortController();
  #record: ClaimRecord;
  #beating: Promise<void>;

  constructor(storage: Storage, claims: OpenClaims, name: string, record: ClaimRecord) {
    this.#storage = storage;
    this.#claims = claims;
    this.#name = name;
    this.#record = record;
    this.#beating = this.#beat();
    claims.add(this);
    // The store closed while this was written.
    if (claims.closing.aborted) this.release().catch(() => {});
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async release(): Promise<void> {
    if (this.#over.signal.aborted) return;
    this.#claims.delete(this);
    this.#over.abort();
    await this.#beating;
    if (this.#lost.signal.aborted) return;
    const guards = [valueIs(this.#name, encode(this.#record))];
    const remove = { op: "run", statement: "claim.remove", params: [this.#name] } as const;
    await this.#storage.commit({ guards, writes: [remove] });
  }

  async #beat(): Promise<void> {
    const { environment } = this.#storage;
    for (;;) {
      await environment.sleep(this.#record.leaseMs / BEATS, this.#over.signal);
      if (this.#over.signal.aborted) return;
      try {
        if (!(await this.#showLife())) return this.#lost.abort();
      } catch (error) {
        // A store that is away for a while costs the claim only if another process takes it meanwhile.
        environment.log("warn", "captures.claim", { error: String(error) });
      }
    }
  }

  async #showLife(): Promise<boolean> {
    const next = { ...this.#record, beat: this.#record.beat + 1, at: this.#storage.environment.now() };
    // A beat whose commit was not answered may have happened.
    const text = await readText(this.#storage, this.#name);
    if (text === null || decode(text)?.owner !== this.#record.owner) return false;
    if (!(await replace(this.#storage, this.#name, text, next))) return false;
    this.#record = next;
    return true;
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
    writes: [{ op: "run", statement: "claim.put", params: [name, encode(after)] }],
  });
  return outcome.ok;
}

function encode(record: ClaimRecord): string {
  return JSON.stringify(record);
}

/** null for what no version of ours wrote: it is replaced. */
function decode(text: string): ClaimRecord | null {
  const { owner, epoch, beat, leaseMs, since, at } = plainObject.read(parse(text)) ?? {};
  if (typeof owner !== "string" || typeof epoch !== "number" || typeof beat !== "number") return null;
  if (typeof leaseMs !== "number" || typeof since !== "number" || typeof at !== "number") return null;
  return { owner, epoch, beat, leaseMs: Math.min(leaseMs, LONGEST_LEASE_MS), since, at };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** With its owner, because a claim that was released begins to count anew. */
function leaseOf({ owner, epoch, beat, leaseMs }: ClaimRecord) {
  return { id: owner, owner, epoch, beat, lease_ms: leaseMs };
}

function remainingMs(environment: Environment, watch: LeaseWatch, record: ClaimRecord): number {
  if (environment.now() - record.at > STALE_MS + record.leaseMs) return 0;
  return watch.remainingMs(leaseOf(record));
}

function describe({ owner, since }: ClaimRecord): ClaimOwner {
  const { host, pid } = describeOwner(owner);
  return { host, pid, since };
}

function requestBusy(request: string, agent: string, record: ClaimRecord): HoldfastError {
  const { host, pid, since } = describe(record);
  const who = pid === null ? "Another process" : `Process ${pid} on ${host}`;
  return new HoldfastError("RequestBusy", `${who} works on request ${quoted(request)}`, {
    retryable: true,
    details: { request, agent, host, pid, since },
    hint: "Wait for its end (claim with wait: true), or work beside it without a claim: both results are then kept.",
  });
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
