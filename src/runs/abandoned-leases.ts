// Leases that this handle still has although it no longer works on their runs: the store was out of reach when it would have
// given them back. No other worker can have the same epoch, so the handle that left a lease may continue its run at once.
import type { RunRow } from "../contracts/run-queries.ts";
import type { Storage } from "../contracts/storage.ts";

type Lease = Pick<RunRow, "id" | "epoch">;

/** By handle: the epoch of each run that was left. */
const epochs = new WeakMap<Storage, Map<string, number>>();

export function abandonLease(storage: Storage, { id, epoch }: Lease): void {
  const own = epochs.get(storage) ?? new Map<string, number>();
  epochs.set(storage, own);
  own.set(id, epoch);
}

/** Remembered until the run has another epoch. */
export function isAbandonedHere(storage: Storage, { id, epoch }: Lease): boolean {
  const own = epochs.get(storage);
  const left = own?.get(id);
  if (left !== undefined && left < epoch) own?.delete(id);
  return left === epoch;
}
