// Stores that older versions wrote, and the migrations that bring them here.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { expect, test } from "vitest";
import { realEnvironment } from "../src/core/environment.ts";
import { open } from "../src/open.ts";
import type { Driver } from "../src/storage/sql/driver.ts";
import { MIGRATIONS, migrate, renderDdl, SCHEMA_VERSION } from "../src/storage/sql/migrations.ts";
import { postgres } from "../src/storage/sql/postgres/dialect.ts";
import { sqlite } from "../src/storage/sql/sqlite/dialect.ts";
import { ENGINES } from "./engines.ts";
import { examineOld, makeOld } from "./old-store.ts";

test.each(ENGINES)("ST4 a store of schema 1 opens with everything it held ($name)", async (engine) => {
  const ground = await engine.fresh();
  try {
    await makeOld(ground.driver);
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

/**
 * The first half of the SHA-256 over each migration's statements, as each engine gets them. Stores in the world were made
 * by these texts: never change a line, add a migration.
 */
const PINNED: Readonly<Record<number, readonly [sqlite: string, postgres: string]>> = {
  1: ["5f6996c0bbf4f7b3d7c64c851761cf5c", "39d68e286348613db0d7b179ffcd452b"],
  2: ["b4e070f0a1bd8bdb1cba8c7bffee2f06", "c8652781a2e470d6fb7b6e237ce10644"],
  3: ["fa3037c05a860fe0755c96e571c75043", "fa3037c05a860fe0755c96e571c75043"],
  4: ["8b0b8fdfa8bd3d276f868619b791d0c5", "8b0b8fdfa8bd3d276f868619b791d0c5"],
  5: ["8954531d3f74c5196e5487d6feefaaa4", "abde8651dafb0001da9248b35980419e"],
  6: ["eb6b3660303779f306c8a70d24ace2fb", "eb6b3660303779f306c8a70d24ace2fb"],
  7: ["f611c0fdb416e6dfe3b2a1aa656fac51", "f611c0fdb416e6dfe3b2a1aa656fac51"],
  8: ["1114d4db2da57b8f351e07f339ae2ee1", "bbf6461529ec3faa889f4be1037af26d"],
  9: ["e3b0c44298fc1c149afbf4c8996fb924", "e3b0c44298fc1c149afbf4c8996fb924"],
  10: ["4ca7812e11c6b5a7b7ef43ebed5b64cf", "78915b7e11b5b3ba3bd6efa26a207f95"],
  12: ["0492709586ac035c7f4b45ba9db1c5e9", "d09a1e59a230ab6ed0799d2511ef7339"],
  13: ["c8d8fe4a9241bfeead0a4a4ff8bf9119", "52b954579e875bccbd5830c2443ac989"],
  14: ["da6ad058b9dda3f09670458d11594102", "e3dd6f4a5d5a78b6327f6bf909192005"],
  15: ["de9d0e6a2e9f53efdf7fc20df5a02bc6", "78fc358145419adc548c777207becaf9"],
  16: ["a0137f7111429d9ac8b60b2ec9ec781a", "62e4c9bbd85c736fdc3f1b6618c76817"],
  17: ["509a422169e3bd4d13f7b5bc22f70e7c", "d5ca9ece7f7278cd944f4d0620f81d83"],
  18: ["3788de2ac6ec56090fd7b6722f67ed54", "3788de2ac6ec56090fd7b6722f67ed54"],
  19: ["171d5c147892b1996e9acb80a0bdccb6", "d743337b68daa1f923d5c97e15ec24b8"],
  20: ["abdff442e8e8e257f7428d49e4e19d5f", "abdff442e8e8e257f7428d49e4e19d5f"],
};

const DIALECTS = [sqlite, postgres];

test("ST4 a migration's statements never change once they are released", () => {
  const found = MIGRATIONS.map(({ version, up }) => {
    const hashes = DIALECTS.map((dialect) => {
      const text = up.map((ddl) => renderDdl(dialect, ddl)).join(";\n");
      return createHash("sha256").update(text).digest("hex").slice(0, 32);
    });
    return [version, hashes] as const;
  });
  expect(Object.fromEntries(found)).toEqual(PINNED);
  const versions = MIGRATIONS.map(({ version }) => version);
  expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
});

/** What the engine's catalogue says of tables, columns and indexes, in the engine's own words. */
const CATALOGUE = {
  sqlite: ["SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"],
  postgres: [
    "SELECT c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull, a.attidentity, " +
      "(SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE d.adrelid = c.oid AND d.adnum = a.attnum) AS value " +
      "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid " +
      "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0 ORDER BY 1, 2",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1",
    "SELECT conrelid::regclass::text AS name, conname, pg_get_constraintdef(oid) AS text FROM pg_constraint " +
      "WHERE connamespace = current_schema()::regnamespace ORDER BY 1, 2",
    "SELECT relname, relkind::text, reloptions FROM pg_class WHERE relnamespace = current_schema()::regnamespace ORDER BY 1",
  ],
};

/** The catalogue, and every row of every table but those of `holdfast_meta` that differ between any two stores. */
async function describeStore(driver: Driver): Promise<Readonly<Record<string, unknown>>> {
  const described: Record<string, unknown> = {};
  for (const sql of CATALOGUE[driver.dialect.engine]) described[sql] = await driver.read(sql, []);
  for (const { name } of await driver.read(driver.dialect.tableNames, [])) {
    const order = name === "holdfast_meta" ? "WHERE name = 'schema'" : "";
    described[String(name)] = await driver.read(`SELECT * FROM ${name} ${order} ORDER BY 1`, []);
  }
  return described;
}

test.each(ENGINES)("ST4 a new store is what the migrations make, one after the other ($name)", async (engine) => {
  const ground = await engine.fresh();
  const options = { create: true, migrate: true, environment: realEnvironment(), target: "test" };
  const dropAll = async () => {
    const tables = await ground.driver.read(ground.driver.dialect.tableNames, []);
    await ground.driver.migrate(true, async (execute) => {
      for (const { name } of tables) await execute(`DROP TABLE ${name}`);
    });
  };
  try {
    // The tables of the ground may have been another case's before.
    await dropAll();
    await migrate(ground.driver, options);
    const fresh = await describeStore(ground.driver);
    await dropAll();
    await migrate(ground.driver, options, MIGRATIONS.slice(0, 1));
    await migrate(ground.driver, options);
    expect(fresh).toEqual(await describeStore(ground.driver));
    expect(fresh.counters).toHaveLength(2);
    expect(Object.keys(fresh).length).toBeGreaterThan(40);
  } finally {
    await ground.end();
  }
});

test("ST4 docs/format.md names the schema version that it describes", () => {
  const text = readFileSync(path.join(import.meta.dirname, "../docs/format.md"), "utf8");
  expect(/^Schema version (\d+),/m.exec(text)?.[1]).toBe(String(SCHEMA_VERSION));
});
