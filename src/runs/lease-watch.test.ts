// The time of a lease counts from the first read that saw its present epoch and beat.
import { expect, test } from "vitest";
import type { Environment } from "../contracts/environment.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { abandonLease, LeaseWatch } from "./lease-watch.ts";

const LEASE = { id: "r", owner: "worker_1", epoch: 1, beat: 5, lease_ms: 100 };

function watchAt(time: { now: number }): LeaseWatch {
  return new LeaseWatch({ monotonic: () => time.now } as unknown as Environment);
}

test("RU3 the time starts again when another worker has claimed the lease meanwhile, also with the same beat", () => {
  const time = { now: 0 };
  const watch = watchAt(time);
  expect(watch.remainingMs(LEASE)).toBe(100);
  time.now = 90;
  expect([watch.remainingMs(LEASE), watch.hasMoved(LEASE)]).toEqual([10, false]);
  const taken = { ...LEASE, owner: "worker_2", epoch: 2 };
  expect(watch.hasMoved(taken)).toBe(true);
  expect(watch.remainingMs(taken)).toBe(100);
  time.now = 150;
  expect(watch.isClaimable(taken)).toBe(false);
  time.now = 190;
  expect(watch.isClaimable(taken)).toBe(true);
});

test("RU3 the time starts again after a heartbeat", () => {
  const time = { now: 0 };
  const watch = watchAt(time);
  watch.remainingMs(LEASE);
  time.now = 99;
  const beaten = { ...LEASE, beat: 6 };
  expect([watch.hasMoved(beaten), watch.remainingMs(beaten)]).toEqual([true, 100]);
});

test("RU3 a lease that this handle left behind is claimable at once, and no later one of the same run", () => {
  const storage = { environment: { monotonic: () => 0 } as unknown as Environment } as Storage;
  const watch = LeaseWatch.of(storage);
  expect(watch.isClaimable(LEASE)).toBe(false);
  abandonLease(storage, LEASE);
  expect(watch.isClaimable(LEASE)).toBe(true);
  const taken = { ...LEASE, owner: "worker_2", epoch: 2 };
  expect(watch.isClaimable(taken)).toBe(false);
  expect(watch.isClaimable({ ...LEASE, id: "other" })).toBe(false);
});
