// Every contract suite on SQLite in memory.
import fc from "fast-check";
import { describe, test } from "vitest";
import { open } from "./open.ts";
import * as suites from "./testing/entry.ts";

async function make(): Promise<suites.Fixture> {
  const environment = suites.adjustableEnvironment();
  const store = await open(":memory:", { environment });
  return { store, environment, close: () => store.close() };
}

async function makeStill(): Promise<suites.PropertyFixture> {
  const environment = suites.simulatedEnvironment(1);
  const store = await open(":memory:", { environment });
  return { store, environment, close: () => store.close() };
}

const name = "sqlite in memory";
const harness = { describe, test };
const options = { harness, skip: [{ reason: "a store in memory has one handle", needs: ["another"] as const }] };

suites.runStoreSuite(name, make, options);
suites.runSessionsSuite(name, make, options);
suites.runHistorySuite(name, make, options);
suites.runStateSuite(name, make, options);
suites.runTasksSuite(name, make, options);
suites.runAgentsSuite(name, make, options);
suites.runLogSuite(name, make, options);
suites.runBlobsSuite(name, make, options);
suites.runHostileSuite(name, make, options);
suites.runPropertySuite(name, makeStill, { fc, harness, runs: 200 });
