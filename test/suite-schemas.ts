// Where the contract suites run on PostgreSQL: each case in a schema that nobody else has.
import { takeSchema } from "./schemas.ts";
import type { SuiteStore } from "./suites.ts";

const POOL = { poolSize: 4 };

export async function inSchema(): Promise<SuiteStore> {
  const { url, driver, leave } = await takeSchema();
  return {
    url,
    options: POOL,
    driver: (durability) => driver({ ...POOL, durability, busyMs: 30_000 }),
    remove: leave,
  };
}
