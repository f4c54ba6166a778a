// Judging leases: a run may be claimed when it has no owner, when its owner's process is gone, when the lease is one that this
// handle left behind, or when its owner showed no sign of life for the whole lease, by the claimer's own clock alone (RU3).
import type { Environment } from "../contracts/environment.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { isAbandonedHere } from "./abandoned-leases.ts";
import { ownerLiveness } from "./owner.ts";

type Lease = Pick<RunRow, "id" | "owner" | "epoch" | "beat" | "lease_ms">;

/** A lease as it was first seen, and when. */
interface Sighting {
  readonly epoch: number;
  readonly beat: number;
  readonly since: number;
}

export class LeaseWatch {
  readonly #environment: Environment;
  readonly #isLeftHere: (lease: Lease) => boolean;
  readonly #sightings = new Map<string, Sighting>();

  /** `isLeftHere`: the lease is this handle's own, and it no longer works on the run. */
  constructor(environment: Environment, isLeftHere: (lease: Lease) => boolean = () => false) {
    this.#environment = environment;
    this.#isLeftHere = isLeftHere;
  }

  /** Of the runs that this handle sees. */
  static of(storage: Storage): LeaseWatch {
    return new LeaseWatch(storage.environment, (lease) => isAbandonedHere(storage, lease));
  }

  /** Each call is a look: the time counts from the first one that saw the lease as it is now. */
  isClaimable(lease: Lease): boolean {
    return this.remainingMs(lease) <= 0;
  }

  /** How long it takes at most until the run may be claimed, if its owner shows no sign of life. */
  remainingMs(lease: Lease): number {
    const { id, owner, epoch, beat, lease_ms } = lease;
    if (owner === null || this.#isLeftHere(lease) || isOwnerGone(this.#environment, lease)) return 0;
    const now = this.#environment.monotonic();
    const seen = this.#sightings.get(id);
    if (seen?.epoch === epoch && seen.beat === beat) return seen.since + lease_ms - now;
    this.#sightings.set(id, { epoch, beat, since: now });
    return lease_ms;
  }

  /** Whether the owner has shown a sign of life, or another has taken the lease, since the first look. */
  hasMoved({ id, epoch, beat }: Lease): boolean {
    const seen = this.#sightings.get(id);
    return seen !== undefined && (seen.epoch !== epoch || seen.beat !== beat);
  }

  forgetAllBut(runs: ReadonlySet<string>): void {
    for (const id of this.#sightings.keys()) if (!runs.has(id)) this.#sightings.delete(id);
  }
}

export function isOwnerGone(environment: Environment, { owner }: Pick<RunRow, "owner">): boolean {
  return owner !== null && ownerLiveness(environment, owner) === "gone";
}
