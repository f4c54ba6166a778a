// Every contract suite on PostgreSQL: each case in a schema of its own, dropped after it.
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import postgres from "postgres";
import { afterAll, describe, test } from "vitest";
import type { Holdfast } from "./contracts/holdfast.ts";
import { open } from "./open.ts";
import * as suites from "./testing/entry.ts";

const server = process.env.HOLDFAST_TEST_POSTGRES;
if (server === undefined || server === "") {
  throw new Error(
    "HOLDFAST_TEST_POSTGRES is not set: `npm test` starts a server and sets it; or give the postgres:// URL of yours",
  );
}

const sql = postgres(server, { max: 1, onnotice: () => undefined });
afterAll(() => sql.end());

/** A schema nobody else uses, and how to be rid of it. */
function freshSchema(): { url: string; drop: () => Promise<unknown> } {
  const schema = `hf_test_${randomBytes(8).toString("hex")}`;
  const url = new URL(server ?? "");
  url.searchParams.set("schema", schema);
  return { url: url.href, drop: () => sql`DROP SCHEMA IF EXISTS ${sql(schema)} CASCADE` };
}

async function make(): Promise<suites.Fixture> {
  const { url, drop } = freshSchema();
  const environment = suites.adjustableEnvironment();
  const handles: Holdfast[] = [];
  const another = async () => {
    const store = await open(url, { environment, poolSize: 4 });
    handles.push(store);
    return store;
  };
  const close = async () => {
    for (const handle of handles) await handle.close();
    await drop();
  };
  return { store: await another(), environment, another, close };
}

async function makeStill(): Promise<suites.PropertyFixture> {
  const { url, drop } = freshSchema();
  const environment = suites.simulatedEnvironment(1);
  const opened = () => open(url, { environment, poolSize: 4 });
  let current = await opened();
  const reopen = async () => {
    await current.close();
    current = await opened();
    return current;
  };
  const close = async () => {
    await current.close();
    await drop();
  };
  return { store: current, environment, reopen, close };
}

const name = "postgres";
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
suites.runPropertySuite(name, makeStill, { fc, harness, runs: 30 });
