// Which plan a connection uses that was opened when the tables were small.
import { afterEach, expect, test } from "vitest";
import { type Schema, takeSchema } from "../../../../test/schemas.ts";
import type { Environment } from "../../../contracts/environment.ts";
import { realEnvironment } from "../../../core/environment.ts";
import type { Driver } from "../driver.ts";
import { QUERIES } from "../statements.ts";
import { SqlStorage } from "../store.ts";
import { postgres } from "./dialect.ts";
import { openPostgres } from "./driver.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** One connection on a store of its own, with a clock that the test moves. */
async function openAlone() {
  const schema: Schema = await takeSchema();
  ends.push(() => schema.leave());
  let aheadMs = 0;
  const real = realEnvironment();
  const environment: Environment = { ...real, monotonic: () => real.monotonic() + aheadMs };
  const url = new URL(schema.url);
  const name = url.searchParams.get("schema") ?? "";
  url.searchParams.delete("schema");
  const options = { durability: "full", busyMs: 10_000, poolSize: 1, environment } as const;
  const driver = await openPostgres({ ...options, url: url.href, schema: name });
  ends.push(() => driver.close());
  return {
    driver,
    storage: new SqlStorage(driver, environment),
    advance: (ms: number) => {
      aheadMs += ms;
    },
  };
}

async function createSessions(storage: SqlStorage, from: number, to: number): Promise<void> {
  const at = 1;
  const ids = Array.from({ length: to - from }, (_, i) => `s${from + i}`);
  await storage.commit({
    sessions: ids.map((id) => ({ id, mode: "create", at })),
    events: ids.map((session) => ({ session, type: "session/created", at })),
  });
}

/** The plan that the connection keeps for the query. */
async function keptPlan(driver: Driver, query: Parameters<typeof QUERIES.get>[0], param: string): Promise<string> {
  const [row] = await driver.read("SELECT name FROM pg_prepared_statements WHERE statement = ?", [
    postgres.render(QUERIES.get(query).sql),
  ]);
  const lines = await driver.read(`EXPLAIN (COSTS OFF) EXECUTE "${String(row?.name)}"('${param}')`, []);
  return lines.map((line) => String(line["QUERY PLAN"])).join("\n");
}

test("ST10 a handle that was opened when the tables were small uses their indexes when they have grown", async () => {
  const { driver, storage, advance } = await openAlone();
  await createSessions(storage, 0, 5);
  await driver.read("ANALYZE sessions", []);
  await driver.read(QUERIES.get("session.get").sql, ["s1"]);
  expect(await keptPlan(driver, "session.get", "s1")).toContain("Seq Scan on sessions");
  await createSessions(storage, 5, 5000);
  advance(60_000);
  expect(await driver.read(QUERIES.get("session.get").sql, ["s4000"])).toHaveLength(1);
  expect(await keptPlan(driver, "session.get", "s4000")).not.toContain("Seq Scan on sessions");
});
