// The row of a claim: which process has it, its last sign of life, and what it said of its work.
import type { ClaimOwner, PreviousClaim } from "../contracts/captures.ts";
import type { Environment } from "../contracts/environment.ts";
import { plainObject } from "../core/decode.ts";
import { describeProcess } from "../core/process-name.ts";
import type { LeaseWatch } from "../runs/lease-watch.ts";
import { describeOwner } from "../runs/owner.ts";

const LONGEST_LEASE_MS = 3_600_000;
/**
 * So long after its last sign of life, by the store's clock, a claim is taken at once. A clock that is wrong by that much costs
 * no more than two captures beside each other, and a request whose container was killed last week does not wait for a lease.
 */
const STALE_MS = 60_000;

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
  readonly capture: string | null;
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
  };
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

/** free: it may be taken. orphaned: its process is gone, and the worker that it named runs on. */
export type ClaimState = "free" | "owned" | "orphaned";

export function stateOf(environment: Environment, watch: LeaseWatch, record: ClaimRecord): ClaimState {
  if (record.isReleased) return "free";
  if (remainingMs(environment, watch, record) > 0) return "owned";
  const isWorking = record.worker !== null && environment.processes?.liveness(record.worker) === "alive";
  return isWorking ? "orphaned" : "free";
}

/** How long it takes at most until the claim may be taken, if its owner shows no sign of life. */
export function remainingMs(environment: Environment, watch: LeaseWatch, record: ClaimRecord): number {
  if (environment.now() - record.at > STALE_MS + record.leaseMs) return 0;
  return watch.remainingMs(leaseOf(record));
}

/** With its owner, because a claim that was released begins to count anew. */
export function leaseOf({ owner, epoch, beat, leaseMs }: ClaimRecord) {
  return { id: owner, owner, epoch, beat, lease_ms: leaseMs };
}

export function ownerOf({ owner, since, worker }: ClaimRecord, state: ClaimState): ClaimOwner {
  const { host, pid } = describeOwner(owner);
  const orphan = state !== "orphaned" || worker === null ? null : (describeProcess(worker)?.pid ?? null);
  return { host, pid, since, orphan };
}

/** null: it said nothing of its work. */
export function previousOf(record: ClaimRecord | null): PreviousClaim | null {
  if (record === null || (record.sessionId === null && record.capture === null)) return null;
  const { isReleased, sessionId, capture } = record;
  return { isReleased, sessionId, capture };
}
