// Judging leases: a run may be claimed when it has no owner, when its owner's process is gone, when the lease is one that this
// handle left behind, or when its owner showed no sign of life for the whole lease, by the claimer's own clock alone (RU3).
import type { Environment } from "../contracts/environment.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { isHeldRun, isOwnerGone } from "../core/run-owner.ts";
import { waitsOf } from "../core/run-waits.ts";

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

  /** For the runs that this handle sees. */
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

  /** Whether the owner has given a sign of life, or another worker has claimed the run, since the first look. */
  hasMoved({ id, epoch, beat }: Lease): boolean {
    const seen = this.#sightings.get(id);
    return seen !== undefined && (seen.epoch !== epoch || seen.beat !== beat);
  }

  forgetAllBut(runs: ReadonlySet<string>): void {
    for (const id of this.#sightings.keys()) if (!runs.has(id)) this.#sightings.delete(id);
  }
}

/**
 * By handle: the epochs of leases that the handle still has although it no longer works on their runs, because the store was out of
 * reach when it would have released them. No other worker can have the same epoch, so the handle may continue such a run at once.
 */
const epochs = new WeakMap<Storage, Map<string, number>>();

export function abandonLease(storage: Storage, { id, epoch }: Pick<RunRow, "id" | "epoch">): void {
  const own = epochs.get(storage) ?? new Map<string, number>();
  epochs.set(storage, own);
  own.set(id, epoch);
}

/** Until the run has another epoch. */
function isAbandonedHere(storage: Storage, { id, epoch }: Pick<RunRow, "id" | "epoch">): boolean {
  const own = epochs.get(storage);
  const left = own?.get(id);
  if (left !== undefined && left < epoch) own?.delete(id);
  return left === epoch;
}

/** Whether there is something to do for a run now: its time has come, or a child that it waits for can go on. */
export async function isDue(storage: Storage, row: RunRow): Promise<boolean> {
  if (row.status !== "waiting" && row.status !== "paused") return true;
  if (row.wake_at !== null && row.wake_at <= storage.environment.now()) return true;
  return (await lacksChild(storage, row)) || (await canContinueChild(storage, row));
}

/** It waits for a child that could go on: only the parent's process has the code of both. */
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

/** It waits for a child that is not in this store, and would wait for ever: the step must fail. */
async function lacksChild(storage: Storage, row: RunRow): Promise<boolean> {
  if (row.status !== "waiting") return false;
  for (const wait of waitsOf(row)) {
    if (wait.kind === "run" && (await storage.query("run.get", { id: wait.run })).length === 0) return true;
  }
  return false;
}
