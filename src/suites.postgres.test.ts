// Every contract suite on PostgreSQL: each case in a schema that nobody else has.
import { afterAll } from "vitest";
import { postgresUrl } from "../test/engines.ts";
import { Schemas } from "../test/schemas.ts";
import { type Place, runEverySuite } from "../test/suites.ts";

const schemas = new Schemas();
afterAll(() => schemas.end());

async function inSchema(): Promise<Place> {
  const schema = await schemas.take();
  const url = new URL(postgresUrl());
  url.searchParams.set("schema", schema);
  const remove = async () => schemas.leave(schema);
  return { url: url.href, options: { poolSize: 4 }, remove };
}

runEverySuite("postgres", inSchema, { runs: 30 });
