// A store that the first version wrote: test/fixtures/schema-1.json holds its rows as they were.
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { expect } from "vitest";
import type { Holdfast } from "../src/contracts/holdfast.ts";
import type { Driver, Param } from "../src/storage/sql/driver.ts";
import { MIGRATIONS, renderDdl } from "../src/storage/sql/migrations.ts";

type Cell = number | string | { readonly hex: string };
type Rows = Readonly<Record<string, readonly Readonly<Record<string, Cell>>[]>>;

const OLD: Rows = JSON.parse(readFileSync(path.join(import.meta.dirname, "fixtures/schema-1.json"), "utf8"));

/** Takes away what the newest version made, and makes what the first one had. */
export async function makeOld(driver: Driver): Promise<void> {
  const tables = (await driver.read(driver.dialect.tableNames, [])).map(({ name }) => String(name));
  const [first] = MIGRATIONS;
  await driver.migrate(true, async (execute) => {
    for (const table of tables) if (table !== "holdfast_meta") await execute(`DROP TABLE ${table}`);
    for (const ddl of first?.up ?? []) await execute(renderDdl(driver.dialect, ddl));
    await execute("DELETE FROM counters");
    await execute("DELETE FROM holdfast_meta");
  });
  const isPostgres = driver.dialect.engine === "postgres";
  for (const [table, rows] of Object.entries(OLD)) {
    for (const row of rows) {
      const names = Object.keys(row);
      const params = Object.values(row).map(
        (cell): Param => (typeof cell === "object" ? new Uint8Array(Buffer.from(cell.hex, "hex")) : cell),
      );
      await driver.transact(function* () {
        const places = names.map(() => "?").join(", ");
        const given = isPostgres ? "OVERRIDING SYSTEM VALUE " : "";
        const sql = `INSERT INTO ${table} (${names.join(", ")}) ${given}VALUES (${places})`;
        yield { statements: [{ kind: "query", sql, params }], last: true };
      });
    }
    const isNumbered = rows.some((row) => "no" in row);
    const next = `SELECT setval(pg_get_serial_sequence('${table}', 'no'), (SELECT max(no) FROM ${table}))`;
    if (isPostgres && isNumbered) await driver.read(next, []);
  }
}

/** Everything it held is there, and it goes on. */
export async function examineOld(hf: Holdfast): Promise<void> {
  const scope = { session: "old", agent: "ada" };
  expect((await hf.history.get(scope)).map(({ seq }) => seq)).toEqual([2, 3]);
  expect(await hf.state.get("old")).toEqual({ a: 1, b: "three" });
  expect(await hf.sessions.get("alias")).toMatchObject({ id: "old", title: "Old", kind: "entry", head: null });
  expect(await hf.log.verify("old")).toMatchObject({ ok: true });
  expect((await hf.check()).issues).toEqual([]);
  const again = await hf.history.append(scope, { role: "user", content: "short", key: "k1" });
  expect(again.seq).toBe(2);
  const head = await hf.heads.publish("old");
  await hf.sessions.fork(`old@${head.id}`, { id: "new" });
  await hf.history.append({ session: "new", agent: "ada" }, { role: "user", content: "goes on" });
  expect(await hf.history.session("new")).toHaveLength(3);
  expect((await hf.check()).issues).toEqual([]);
}
