// The suite of vectors on a PostgreSQL of the machine's distribution with the extension pgvector: the results are those of any other.
import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { expect, test } from "vitest";
import { runVectorSuite, type SuiteStore } from "../test/suites.ts";

const server = process.env.HOLDFAST_TEST_NATIVE_POSTGRES;
const trouble = process.env.HOLDFAST_TEST_NATIVE_TROUBLE || "run the tests with `npm test` or `npm test -- native`";

async function inSchema(): Promise<SuiteStore> {
  const schema = `hf_native_${randomBytes(6).toString("hex")}`;
  const url = new URL(server ?? "");
  url.searchParams.set("schema", schema);
  const remove = async () => {
    const sql = postgres(server ?? "", { max: 1, onnotice: () => undefined });
    await sql.unsafe(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await sql.end();
  };
  return { url: url.href, options: { poolSize: 4 }, remove };
}

if (server) {
  test("ME6 the server has pgvector, and other extensions beside the store change nothing", async () => {
    const sql = postgres(server, { max: 1, onnotice: () => undefined });
    await sql`CREATE EXTENSION IF NOT EXISTS vector`;
    const [row] = await sql`SELECT '[1,2]'::vector <=> '[2,4]'::vector AS distance`;
    await sql.end();
    expect(row?.distance).toBeCloseTo(0, 6);
  });
  runVectorSuite("native postgres", inSchema);
} else {
  test.skip(`vectors on a PostgreSQL with pgvector (skipped: ${trouble})`, () => undefined);
}
