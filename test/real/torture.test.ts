// Killing workers with -9 while they work on runs, and the PostgreSQL server under them. `npm run torture` goes on for longer.
import { afterAll, describe, expect, test } from "vitest";
import { startPostgres } from "../../scripts/postgres.ts";
import { scaled } from "../../src/testing/scale.ts";
import { schemaOn, TestStores } from "./stores.ts";
import { Torture } from "./torture.ts";
import { killServer, killWorkers } from "./torture-faults.ts";

const stores = new TestStores();
afterAll(() => stores.remove());

/** The faults go on for longer until there were enough of them. */
const FAULT_MS = scaled({ short: 2500, long: 30_000 });
const SERVER_KILL_MS = scaled({ short: 2000, long: 8000 });
/** Under way at a time. In the short form as many as are started: on a slow machine few end while workers are killed. */
const RUNS = scaled({ short: 12, long: 10 });

describe("tortured runs", () => {
  test("RU3 RU5 RU6 RU11 SQLite: workers killed again and again, every run ends once, nothing acknowledged is lost", async () => {
    const torture = new Torture({
      url: stores.file(),
      folder: stores.folder,
      faultMs: FAULT_MS,
      runs: RUNS,
      faults: [killWorkers],
      isEnough: ({ kills, started, ended }) => kills > 5 && scaled({ short: started, long: ended }) > 10,
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
        runs: RUNS,
        faults: [killWorkers, killServer(server, SERVER_KILL_MS)],
        isEnough: ({ kills, serverKills, started, ended }) =>
          kills > 5 && serverKills > 0 && scaled({ short: started, long: ended }) > 10,
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
