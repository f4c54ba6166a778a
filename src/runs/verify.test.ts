// Verification does not keep the whole journal in memory: a run may receive signals for years.
import { randomBytes } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { Storage } from "../contracts/storage/storage.ts";
import { realEnvironment } from "../core/environment.ts";
import { openOn } from "../open.ts";
import { openSqlite } from "../storage/sql/sqlite/driver.ts";
import { SqlStorage } from "../storage/sql/store.ts";
import { agent } from "../testing/suites/runs-agents.ts";
import { verifyRun } from "./recover.ts";
import { existingRun } from "./rows.ts";

const SIGNALS = 1500;
const BYTES = 24_000;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function held(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

test("RU9 verification does not keep the payloads of a run's events in memory", { timeout: 60_000 }, async () => {
  const environment = realEnvironment();
  const driver = await openSqlite({ path: ":memory:", durability: "normal", busyMs: 1000, environment });
  const { runs } = await openOn(driver, { durability: "normal" });
  const waits = agent(async (it) => it.done(await it.waitFor("never")));
  await runs.execute(waits, { session: "s", id: "r" }, { wait: false });
  for (let n = 0; n < SIGNALS; n++) await runs.signal("r", "n", randomBytes(BYTES).toString("base64"));
  const storage = new SqlStorage(driver, environment);
  const row = await existingRun(storage, "r");
  const before = held();
  let most = Number.NEGATIVE_INFINITY;
  // Measured after the journal was read, and before the other rows are.
  const watched = new Proxy<Storage>(storage, {
    get: (of, name) =>
      name === "query"
        ? (asked: "run.signals", params: Parameters<typeof of.query<"run.signals">>[1]) => {
            if (asked === "run.signals") most = Math.max(most, held() - before);
            return of.query(asked, params);
          }
        : Reflect.get(of, name),
  });
  await verifyRun(watched, row, "whole");
  expect(most, "the memory was never measured").toBeGreaterThan(Number.NEGATIVE_INFINITY);
  expect(most, "of what they carry").toBeLessThan((SIGNALS * BYTES) / 4);
  await driver.close();
});
