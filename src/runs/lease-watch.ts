// Decides whether a lease may be claimed: when the run has no owner, when its owner's process is gone, when this handle
// has abandoned the lease, or when the owner sent no heartbeat for the whole lease, measured only with the claimer's
// own clock (RU3).
import type { Environment } from "../contracts/environment.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { isHeldRun, isOwnerGone } from "../core/run-owner.ts";
import { waitsOf } from "../core/run-waits.ts";

type Lease = Pick<RunRow, "id" | "owner" | "epoch" | "beat" | "lease_ms">;

/** A lease with its epoch and beat, and when this handle first saw them. */
interface Sighting {
  readonly epoch: number;
  readonly beat: number;
  readonly since: number;
}

export class LeaseWatch {
  readonly #environment: Environment;
  readonly #isLeftHere: (lease: Lease) => boolean;
  readonly #sightings = new Map<string, Sighting>();

  /** `isLeftHere`: the lease belongs to this handle, which no longer works on the run. */
  constructor(environment: Environment, isLeftHere: (lease: Lease) => boolean = () => false) {
    this.#environment = environment;
    this.#isLeftHere = isLeftHere;
  }

  /** A watch for the runs of a store. */
  static of(storage: Storage): LeaseWatch {
    return new LeaseWatch(storage.environment, (lease) => isAbandonedHere(storage, lease));
  }

  /** Every call observes the lease. The time counts from the first call that saw its present epoch and beat. */
  isClaimable(lease: Lease): boolean {
    return this.remainingMs(lease) <= 0;
  }

  /** The longest time until the run may be claimed, if its owner sends no heartbeat. */
  remainingMs(lease: Lease): number {
    const { id, owner, epoch, beat, lease_ms } = lease;
    if (owner === null || this.#isLeftHere(lease) || isOwnerGone(this.#environment, lease)) return 0;
    const now = this.#environment.monotonic();
    const seen = this.#sightings.get(id);
    if (seen?.epoch === epoch && seen.beat === beat) return seen.since + lease_ms - now;
    this.#sightings.set(id, { epoch, beat, since: now });
    return lease_ms;
  }

  /** Whether the owner has sent a heartbeat, or another worker has claimed the run, since the first observation. */
  hasMoved({ id, epoch, beat }: Lease): boolean {
    const seen = this.#sightings.get(id);
    return seen !== undefined && (seen.epoch !== epoch || seen.beat !== beat);
  }

  forgetAllBut(runs: ReadonlySet<string>): void {
    for (const id of this.#sightings.keys()) if (!runs.has(id)) this.#sightings.delete(id);
  }
}

/**
 * Per handle, the epochs of leases that it has although it no longer works on their runs, because the store was
 * unreachable when it tried to release them. No other worker can have the same epoch, so the handle may continue such a
 * run at once.
 */
const epochs = new WeakMap<Storage, Map<string, number>>();

export function abandonLease(storage: Storage, { id, epoch }: Pick<RunRow, "id" | "epoch">): void {
  const own = epochs.get(storage) ?? new Map<string, number>();
  epochs.set(storage, own);
  own.set(id, epoch);
}

/** Whether this handle has abandoned the lease at this epoch. */
function isAbandonedHere(storage: Storage, { id, epoch }: Pick<RunRow, "id" | "epoch">): boolean {
  const own = epochs.get(storage);
  const left = own?.get(id);
  if (left !== undefined && left < epoch) own?.delete(id);
  return left === epoch;
}

/** Whether a worker can continue the run now: it is due, or a child that it waits for can continue. */
export async function isDue(storage: Storage, row: RunRow): Promise<boolean> {
  if (row.status !== "waiting" && row.status !== "paused") return true;
  if (row.wake_at !== null && row.wake_at <= storage.environment.now()) return true;
  return (await lacksChild(storage, row)) || (await canContinueChild(storage, row));
}

/**
 * Whether the run waits for a child that could continue. Only a process with the parent's code has the code of both.
 */
async function canContinueChild(storage: Storage, row: RunRow): Promise<boolean> {
  for (const wait of row.status === "waiting" ? waitsOf(row) : []) {
    const [child] = wait.kind === "run" ? await storage.query("run.get", { id: wait.run }) : [];
    if (child === undefined) continue;
    if (child.ended_at !== null) return true;
    const isFree = child.owner === null || isOwnerGone(storage.environment, child);
    if (isFree && !isHeldRun(child) && (await isDue(storage, child))) return true;
  }
  return false;
}

/** Whether the run waits for a child that is not in this store. It would wait for ever, so the step must fail. */
async function lacksChild(storage: Storage, row: RunRow): Promise<boolean> {
  if (row.status !== "waiting") return false;
  for (const wait of waitsOf(row)) {
    if (wait.kind === "run" && (await storage.query("run.get", { id: wait.run })).length === 0) return true;
  }
  return false;
}
