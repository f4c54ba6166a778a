// A caller that waits for a session to change is notified, whatever happened to earlier waiters.
import { setImmediate as macrotask } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Environment } from "../../contracts/environment.ts";
import { simulatedEnvironment } from "../../testing/environment.ts";
import { migrate } from "./migrations.ts";
import { openSqlite } from "./sqlite/driver.ts";
import { SqlStorage } from "./store.ts";

/** No time passes, and a waiter that is woken takes a while to run. */
function sluggish(): Environment {
  const environment = simulatedEnvironment(1);
  return {
    ...environment,
    sleep: async (ms, signal) => {
      await environment.sleep(ms, signal);
      for (let i = 0; i < 3; i++) await macrotask();
    },
  };
}

async function opened(environment: Environment): Promise<SqlStorage> {
  const driver = await openSqlite({ path: ":memory:", durability: "normal", busyMs: 1000, environment });
  await migrate(driver, { create: true, migrate: true, environment, target: "test" });
  return new SqlStorage(driver, environment);
}

test("LG7 a waiting reader is not woken before its time when nothing changes", async () => {
  const environment = simulatedEnvironment(1);
  const storage = await opened(environment);
  let isOver = false;
  const waiting = storage.waitForChange("s", 60_000).then(() => {
    isOver = true;
  });
  await environment.advance(59_999);
  expect(isOver).toBe(false);
  await environment.advance(1);
  await waiting;
  await storage.close();
});

/** What of these has settled once everything that can go on without time has gone on. */
async function settledOf(waits: Readonly<Record<string, Promise<void>>>): Promise<readonly string[]> {
  const settled: string[] = [];
  for (const [name, wait] of Object.entries(waits)) void wait.then(() => settled.push(name));
  for (let i = 0; i < 10; i++) await macrotask();
  return settled.toSorted();
}

test("LG7 a store that closes wakes all who wait for its sessions, and leaves no timer behind", async () => {
  const environment = simulatedEnvironment(1);
  const storage = await opened(environment);
  const follower = storage.follow("s");
  const waits = { changed: storage.waitForChange("s", 60_000), grown: follower.waitForEvents(0, follower.mark()) };
  expect(await settledOf(waits)).toEqual([]);
  expect(environment.sleepers()).toBeGreaterThan(0);
  await storage.close();
  expect(await settledOf(waits)).toEqual(["changed", "grown"]);
  expect(environment.sleepers()).toBe(0);
});

test.each([false, true])("LG7 waiting on a closed store ends at once (one had waited before: %s)", async (before) => {
  const environment = simulatedEnvironment(1);
  const storage = await opened(environment);
  const waited = before ? storage.waitForChange("s", 60_000) : Promise.resolve();
  await storage.close();
  await waited;
  const follower = storage.follow("s");
  const waits = { changed: storage.waitForChange("s", 60_000), grown: follower.waitForEvents(0, follower.mark()) };
  expect(await settledOf(waits)).toEqual(["changed", "grown"]);
  expect(environment.sleepers()).toBe(0);
});

test("LG7 a reader that waits again at once is woken again", async () => {
  const environment = sluggish();
  const storage = await opened(environment);
  const at = environment.now();
  const write = () =>
    storage.commit({
      sessions: [{ id: "s", mode: "ensure", at }],
      events: [{ session: "s", type: "note", at, data: {} }],
    });
  for (let round = 0; round < 3; round++) {
    let isTold = false;
    const told = storage.waitForChange("s", 60_000).then(() => {
      isTold = true;
    });
    for (let i = 0; i < 10; i++) await macrotask();
    expect(isTold, "before anything changed").toBe(false);
    await write();
    await macrotask();
    expect(isTold, `round ${round}`).toBe(true);
    await told;
  }
  await storage.close();
});
