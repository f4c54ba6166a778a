// Schemas for many cases on one PostgreSQL. Making a store's tables and dropping them takes longer than most cases, so what
// a case left is emptied for a later one. Not for the very next: whatever still runs for the old one is over by then.
// Connections stay with their schema: a new one reads the catalogue and plans every statement again, which takes longer
// than all that a case does with it.
import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { realEnvironment } from "../src/core/environment.ts";
import type { Driver } from "../src/storage/sql/driver.ts";
import { migrate } from "../src/storage/sql/migrations.ts";
import { openPostgres } from "../src/storage/sql/postgres/driver.ts";
import { bound } from "../src/testing/sim/driver.ts";
import { onFileEnd } from "./file-end.ts";

export function postgresUrl(): string {
  const url = process.env.HOLDFAST_TEST_POSTGRES;
  if (!url) throw new Error("HOLDFAST_TEST_POSTGRES is not set; run the tests with `npm test -- <file>`");
  return url;
}

/** A case's schema with an empty store in it, until it is left. */
export interface Schema {
  /** What open() takes. */
  readonly url: string;
  /** Connections of a handle's own, perhaps used before; closing it gives them back. */
  driver(settings: Settings): Promise<Driver>;
  leave(): Promise<void>;
}

interface Settings {
  readonly durability: "full" | "normal";
  readonly poolSize: number;
  readonly busyMs: number;
}

/** So many are left alone for a while. */
const RESTING = 2;
/** Handles whose connections stay open with a schema: the server has room for so many only. */
const MOST_KEPT = 3;
/** One that grew larger is dropped: emptied rows keep their place until they are vacuumed. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Kept from a file of tests for the next one. */
const MOST_RESTING = 6;
/** The names of a run's schemas begin like that. */
const PREFIX = process.env.HOLDFAST_TEST_SCHEMAS;

const environment = realEnvironment();

/** Tables, what is beside them, and the numbers they are known by. */
interface Parts {
  readonly all: readonly number[];
  readonly tables: readonly number[];
  readonly names: readonly string[];
  readonly numbers: readonly string[];
}

interface KeptDriver {
  readonly settings: string;
  readonly driver: Driver;
  isFree: boolean;
}

/** A store's tables as they were made, and the connections that know them. */
class MadeSchema {
  readonly name = `${PREFIX ?? "hf_test_"}${randomBytes(8).toString("hex")}`;
  /** What it consists of, and how the catalogue describes that; whatever a case does to its tables shows there. */
  parts: Parts = { all: [], tables: [], names: [], numbers: [] };
  shape = "";
  /** Statements that insert the rows of a new store. */
  firstRows: readonly string[] = [];
  readonly #kept: KeptDriver[] = [];

  async driver(settings: Settings): Promise<Driver> {
    const like = JSON.stringify(settings);
    let kept = this.#kept.find((one) => one.isFree && one.settings === like);
    if (kept === undefined) {
      const driver = await openPostgres({ ...settings, url: postgresUrl(), schema: this.name, environment });
      kept = { settings: like, driver, isFree: false };
      this.#kept.push(kept);
    }
    const taken = kept;
    taken.isFree = false;
    const close = async () => {
      taken.isFree = true;
    };
    return { ...bound(taken.driver), close };
  }

  /** Keeps so many connections, those that were never given back not among them. */
  async settle(most: number): Promise<void> {
    const kept = this.#kept.filter(({ isFree }) => isFree).slice(0, most);
    const others = this.#kept.filter((one) => !kept.includes(one));
    this.#kept.splice(0, this.#kept.length, ...kept);
    for (const { driver } of others) await driver.close();
  }
}

/** Connects with its first statement. */
function connect(): postgres.Sql {
  return postgres(postgresUrl(), { max: 1, onnotice: () => undefined });
}

class Schemas {
  #sql = connect();
  /** Oldest first. */
  readonly #left: MadeSchema[] = [];

  async take({ unused = false }: { readonly unused?: boolean }): Promise<Schema> {
    const made = (unused ? undefined : await this.#again()) ?? (await this.#make());
    const url = new URL(postgresUrl());
    url.searchParams.set("schema", made.name);
    return {
      url: url.href,
      driver: (settings) => made.driver(settings),
      leave: async () => {
        await made.settle(MOST_KEPT);
        this.#left.push(made);
      },
    };
  }

  async end(): Promise<void> {
    for (const made of this.#left) await this.#drop(made);
    await this.#sql.end();
  }

  /** Has no connections until the next one is taken. */
  async rest(): Promise<void> {
    for (const made of this.#left) await made.settle(0);
    for (const made of this.#left.splice(0, this.#left.length - MOST_RESTING)) await this.#drop(made);
    const sql = this.#sql;
    this.#sql = connect();
    await sql.end();
  }

  async #make(): Promise<MadeSchema> {
    const made = new MadeSchema();
    const driver = await made.driver({ durability: "full", poolSize: 1, busyMs: 10_000 });
    await migrate(driver, { create: true, migrate: true, environment, target: "test" });
    await driver.close();
    made.parts = await this.#list(made.name);
    made.firstRows = await this.#readFirstRows(made);
    made.shape = (await this.#look(made)).shape;
    return made;
  }

  async #again(): Promise<MadeSchema | undefined> {
    const old = this.#left.length > RESTING ? this.#left.shift() : undefined;
    if (old === undefined) return undefined;
    const { shape, bytes } = await this.#look(old);
    if (shape === old.shape && bytes <= MOST_BYTES) {
      await this.#empty(old);
      return old;
    }
    await this.#drop(old);
    return undefined;
  }

  async #drop(made: MadeSchema): Promise<void> {
    await made.settle(0);
    await this.#sql.unsafe(`DROP SCHEMA IF EXISTS "${made.name}" CASCADE`);
  }

  /** Every table as a new store has it, numbers included. */
  async #empty({ name, parts, firstRows }: MadeSchema): Promise<void> {
    const tables = parts.names.map((table) => `"${name}"."${table}"`);
    await this.#sql.unsafe(
      [
        "BEGIN",
        `LOCK TABLE ${tables.join(", ")}`,
        ...tables.map((table) => `DELETE FROM ${table}`),
        `SELECT ${parts.numbers.map((of) => `setval('"${name}"."${of}"', 1, false)`).join(", ")}`,
        ...firstRows,
        "COMMIT",
      ].join(";\n"),
    );
  }

  async #readFirstRows({ name, parts }: MadeSchema): Promise<readonly string[]> {
    const tables = parts.names.map(
      (table) => `SELECT '${table}' AS name, json_agg(t)::text AS rows FROM "${name}"."${table}" t`,
    );
    const found = await this.#sql.unsafe<{ name: string; rows: string | null }[]>(tables.join(" UNION ALL "));
    return found.flatMap(({ name: table, rows }) => {
      if (rows === null) return [];
      const into = `"${name}"."${table}"`;
      return [
        `INSERT INTO ${into} SELECT * FROM json_populate_recordset(NULL::${into}, '${rows.replaceAll("'", "''")}')`,
      ];
    });
  }

  async #list(schema: string): Promise<Parts> {
    const rows = await this.#sql<{ oid: number; name: string; kind: string }[]>`
      SELECT oid, relname AS name, relkind AS kind FROM pg_class WHERE relnamespace = ${schema}::regnamespace`;
    const of = (kind: string) => rows.filter((row) => row.kind === kind);
    return {
      all: rows.map(({ oid }) => oid),
      tables: of("r").map(({ oid }) => oid),
      names: of("r").map(({ name }) => name),
      numbers: of("S").map(({ name }) => name),
    };
  }

  /** Rows of the catalogue are versions: which ones there are tells whether anything was made, dropped or altered. */
  async #look({
    name,
    parts: { all, tables },
  }: MadeSchema): Promise<{ readonly shape: string; readonly bytes: number }> {
    const [row] = await this.#sql`
      SELECT
        (SELECT sum(pg_relation_size(oid) + coalesce(pg_relation_size(nullif(reltoastrelid, 0)), 0))::float8
          FROM pg_class WHERE oid = ANY(${tables})) AS bytes,
        (SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_namespace'::regclass
          AND refobjid = to_regnamespace(${name})) AS a,
        (SELECT concat(count(*), ' ', max(xmin::text::bigint)) FROM pg_class WHERE oid = ANY(${all})) AS b,
        (SELECT concat(count(*), ' ', max(xmin::text::bigint)) FROM pg_index WHERE indrelid = ANY(${tables})) AS c,
        (SELECT concat(count(*), ' ', max(xmin::text::bigint)) FROM pg_attribute WHERE attrelid = ANY(${tables})) AS d,
        (SELECT concat(count(*), ' ', max(xmin::text::bigint)) FROM pg_constraint WHERE conrelid = ANY(${tables})) AS e`;
    const { bytes, ...rest } = row ?? {};
    return { shape: JSON.stringify(rest), bytes: Number(bytes) };
  }
}

/** Those of this process. */
let all: Schemas | undefined;

export function takeSchema(options: { readonly unused?: boolean } = {}): Promise<Schema> {
  all ??= new Schemas();
  const schemas = all;
  onFileEnd(endFile);
  return schemas.take(options);
}

/** In `npm test`, which removes them all at its end, the next file of this process goes on with the schemas. */
async function endFile(): Promise<void> {
  const schemas = all;
  if (PREFIX === undefined) all = undefined;
  await (PREFIX === undefined ? schemas?.end() : schemas?.rest());
}
