// Killing workers with -9 while they work on runs, and the PostgreSQL server under them. `npm run torture` goes on for longer.
import { afterAll, describe, expect, test } from "vitest";
import { startPostgres } from "../../scripts/postgres.ts";
import { scaled } from "../../src/testing/scale.ts";
import { schemaOn, TestStores } from "./stores.ts";
import { Torture } from "./torture.ts";
import { killServer, killWorkers } from "./torture-faults.ts";

const stores = new TestStores();
afterAll(() => stores.remove());

/** A server is killed after eight seconds at the latest. */
const FAULT_MS = scaled({ short: 10_000, long: 30_000 });

describe("tortured runs", () => {
  test("RU3 RU5 RU6 RU11 SQLite: workers killed again and again, every run ends once, nothing acknowledged is lost", async () => {
    const torture = new Torture({
      url: stores.file(),
      folder: stores.folder,
      faultMs: FAULT_MS,
      faults: [killWorkers],
      isEnough: ({ kills, ended }) => kills > 5 && ended > 10,
    });
    const { kills, ended } = await torture.run();
    expect(kills).toBeGreaterThan(5);
    expect(ended).toBeGreaterThan(10);
  });

  test("RU3 RU5 RU6 RU11 PostgreSQL: workers and the server itself killed again and again", async () => {
    const server = await startPostgres();
    try {
      const torture = new Torture({
        url: schemaOn(server.url),
        folder: stores.folder,
        faultMs: FAULT_MS,
        faults: [killWorkers, killServer(server)],
        isEnough: ({ kills, serverKills, ended }) => kills > 5 && serverKills > 0 && ended > 10,
      });
      const { kills, serverKills, ended } = await torture.run();
      expect(kills).toBeGreaterThan(5);
      expect(serverKills).toBeGreaterThan(0);
      expect(ended).toBeGreaterThan(10);
    } finally {
      await server.stop();
    }
  });
});
