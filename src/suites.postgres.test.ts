// Every contract suite on PostgreSQL: each case in a schema that nobody else has.
import { takeSchema } from "../test/schemas.ts";
import { runEverySuite, type SuiteStore } from "../test/suites.ts";
import { scaled } from "./testing/scale.ts";

const POOL = { poolSize: 4 };

async function inSchema(): Promise<SuiteStore> {
  const { url, driver, leave } = await takeSchema();
  return {
    url,
    options: POOL,
    driver: (durability) => driver({ ...POOL, durability, busyMs: 30_000 }),
    remove: leave,
  };
}

runEverySuite("postgres", inSchema, { runs: scaled({ short: 3, long: 60 }) });
