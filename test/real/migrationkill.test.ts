// Killing with -9 in the middle of a migration: the store is then as it was before, and the next one that opens it migrates
// it with everything it held.
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { open } from "../../src/open.ts";
import type { Dialect } from "../../src/storage/sql/driver.ts";
import { MIGRATIONS, SCHEMA_VERSION } from "../../src/storage/sql/migrations.ts";
import { postgres } from "../../src/storage/sql/postgres/dialect.ts";
import { sqlite } from "../../src/storage/sql/sqlite/dialect.ts";
import { scaled } from "../../src/testing/scale.ts";
import { ENGINES, type EngineStore } from "../engines.ts";
import { examineOld, makeOld } from "../old-store.ts";
import { Children } from "./process.ts";
import { TestStores } from "./stores.ts";

const stores = new TestStores();
const children = new Children(stores.folder);
afterEach(() => children.end());
afterAll(() => stores.remove());

/** Statements from schema 1 on, with the first, which keeps commits out, and the last, which changes the number. */
function countStatements({ excludeCommits }: Dialect): number {
  return MIGRATIONS.slice(1).reduce((sum, { up }) => sum + up.length, excludeCommits.length + 1);
}

/** Tables, columns and the number of the schema. */
async function shapeOf({ driver }: EngineStore): Promise<unknown> {
  const tables = (await driver.read(driver.dialect.tableNames, [])).map(({ name }) => String(name)).sort();
  const columns = [];
  for (const table of tables) columns.push(await driver.read(driver.dialect.describeTable, [table]));
  return { tables, columns, meta: await driver.read("SELECT name, value FROM holdfast_meta ORDER BY name", []) };
}

for (const engine of ENGINES) {
  describe(`a migration killed on ${engine.name}`, () => {
    const all = countStatements(engine.name === "sqlite" ? sqlite : postgres);
    const stops = scaled({ short: [Math.ceil(all / 2), all], long: Array.from({ length: all }, (_, i) => i + 1) });
    test.each(stops)("ST4 after %d statements it has changed nothing, and the next one is whole", async (stopAfter) => {
      const ground = await engine.fresh();
      try {
        await makeOld(ground.driver);
        const before = await shapeOf(ground);
        const child = children.start({ script: "migrator.ts", args: { url: ground.url, stopAfter } });
        await child.heard("stopped");
        expect(await child.kill()).toMatchObject({ signal: "SIGKILL" });
        expect(await shapeOf(ground)).toEqual(before);
        const hf = await open(ground.url);
        try {
          expect(hf.info.schemaVersion).toBe(SCHEMA_VERSION);
          await examineOld(hf);
        } finally {
          await hf.close();
        }
      } finally {
        await ground.end();
      }
    });
  });
}
