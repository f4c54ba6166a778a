// Decides whether a lease may be claimed: when the run has no owner, when its owner's process is gone, when this handle
// has abandoned the lease, or when the owner sent no heartbeat for the whole lease, measured only with the claimer's
// own clock (RU3).
import type { Environment } from "../contracts/environment.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { isOwnerGone } from "../core/run-owner.ts";

type Lease = Pick<RunRow, "id" | "owner" | "epoch" | "beat" | "lease_ms">;

/** A lease with its epoch and beat, and when this handle first saw them. */
interface Sighting {
  readonly epoch: number;
  readonly beat: number;
  readonly since: number;
}

export class LeaseWatch {
  readonly #environment: Environment;
  readonly #isAbandoned: (lease: Lease) => boolean;
  readonly #sightings = new Map<string, Sighting>();

  /** `isAbandoned`: the lease belongs to this handle, which no longer works on the run. */
  constructor(environment: Environment, isAbandoned: (lease: Lease) => boolean = () => false) {
    this.#environment = environment;
    this.#isAbandoned = isAbandoned;
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
    if (owner === null || this.#isAbandoned(lease) || isOwnerGone(this.#environment, lease)) return 0;
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
  const abandoned = own?.get(id);
  if (abandoned !== undefined && abandoned < epoch) own?.delete(id);
  return abandoned === epoch;
}
