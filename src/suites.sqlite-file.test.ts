// Every contract suite on SQLite in a file, with several handles on it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { describe, test } from "vitest";
import type { Holdfast } from "./contracts/holdfast.ts";
import { open } from "./open.ts";
import * as suites from "./testing/entry.ts";

async function make(): Promise<suites.Fixture> {
  const directory = await mkdtemp(path.join(tmpdir(), "holdfast-suite-"));
  const environment = suites.adjustableEnvironment();
  const handles: Holdfast[] = [];
  const another = async () => {
    const store = await open(path.join(directory, "store.db"), { environment });
    handles.push(store);
    return store;
  };
  const close = async () => {
    for (const handle of handles) await handle.close();
    await rm(directory, { recursive: true });
  };
  return { store: await another(), environment, another, close };
}

async function makeStill(): Promise<suites.PropertyFixture> {
  const directory = await mkdtemp(path.join(tmpdir(), "holdfast-property-"));
  const environment = suites.simulatedEnvironment(1);
  const opened = () => open(path.join(directory, "store.db"), { environment, durability: "normal" });
  let current = await opened();
  const reopen = async () => {
    await current.close();
    current = await opened();
    return current;
  };
  const close = async () => {
    await current.close();
    await rm(directory, { recursive: true });
  };
  return { store: current, environment, reopen, close };
}

const name = "sqlite in a file";
const harness = { describe, test };
const options = { harness };

suites.runStoreSuite(name, make, options);
suites.runSessionsSuite(name, make, options);
suites.runHistorySuite(name, make, options);
suites.runStateSuite(name, make, options);
suites.runTasksSuite(name, make, options);
suites.runAgentsSuite(name, make, options);
suites.runLogSuite(name, make, options);
suites.runBlobsSuite(name, make, options);
suites.runHostileSuite(name, make, options);
suites.runPropertySuite(name, makeStill, { fc, harness, runs: 60 });
