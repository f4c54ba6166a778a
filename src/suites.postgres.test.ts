// Every contract suite on PostgreSQL: each case in a schema of its own, dropped after it.
import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterAll } from "vitest";
import { postgresUrl } from "../test/engines.ts";
import { type Place, runEverySuite } from "../test/suites.ts";

const sql = postgres(postgresUrl(), { max: 1, onnotice: () => undefined });
afterAll(() => sql.end());

async function inSchema(): Promise<Place> {
  const schema = `hf_test_${randomBytes(8).toString("hex")}`;
  const url = new URL(postgresUrl());
  url.searchParams.set("schema", schema);
  const remove = () => sql`DROP SCHEMA IF EXISTS ${sql(schema)} CASCADE`;
  return { url: url.href, options: { poolSize: 4 }, remove };
}

runEverySuite("postgres", inSchema, { runs: 30 });
