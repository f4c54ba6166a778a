// PostgreSQL's own check of a store's tables and indexes: the functions of the extension amcheck. It runs in a
// transaction that the driver rolls back: where the extension is not installed it is created there, so that a check
// leaves nothing behind; if the role may not do that, the report says which grant is missing.
import type { EngineReport } from "../../../contracts/storage/engine-report.ts";
import type { Row } from "../driver.ts";
import { groupDamages, schemaObjects } from "../schema.ts";
import type { Connection } from "./connection.ts";
import { sqlState } from "./errors.ts";

const INDEXES =
  "SELECT c.oid::bigint AS oid, c.relname AS name, i.indisvalid AND i.indisready AS valid FROM pg_class t " +
  "JOIN pg_namespace n ON n.oid = t.relnamespace JOIN pg_index i ON i.indrelid IN (t.oid, t.reltoastrelid) " +
  "JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree' " +
  "WHERE n.nspname = current_schema() AND t.relkind = 'r' ORDER BY c.relname";
const TABLES =
  "SELECT c.oid::bigint AS oid, t.relname AS name FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace " +
  "JOIN pg_class c ON c.oid IN (t.oid, t.reltoastrelid) " +
  "WHERE n.nspname = current_schema() AND t.relkind = 'r' ORDER BY t.relname";
const EXTENSION =
  "SELECT n.nspname AS place, e.extversion AS version FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace " +
  "WHERE e.extname = 'amcheck'";

/** From 1.3 on it checks tables, from 1.4 on also that what is unique in an index is. */
const CHECKS_TABLES = [1, 3] as const;
const CHECKS_UNIQUE = [1, 4] as const;

interface Problem {
  readonly part: "index" | "page" | "schema";
  readonly name: string | null;
  readonly message: string;
}

interface Relation {
  readonly oid: number;
  readonly name: string;
}

/** The connection is in a transaction. */
export async function examinePostgres(connection: Connection): Promise<EngineReport> {
  const indexes = (await connection.run(INDEXES)) as readonly (Row & Relation & { readonly valid: boolean })[];
  const tables = (await connection.run(TABLES)) as readonly (Row & Relation)[];
  const problems: Problem[] = [...compareSchema(indexes, tables)];
  const whole = indexes.filter(({ valid }) => valid);
  const notRun = await withAmcheck(connection, async (amcheck) => {
    problems.push(...(await amcheck.checkIndexes(whole)), ...(await amcheck.checkTables(tables)));
    return amcheck.notRun;
  });
  return { check: "amcheck", notRun, damages: groupDamages(problems) };
}

function* compareSchema(
  indexes: readonly (Relation & { readonly valid: boolean })[],
  tables: readonly Relation[],
): Generator<Problem> {
  const here = { index: new Set(indexes.map(({ name }) => name)), table: new Set(tables.map(({ name }) => name)) };
  for (const { type, name } of schemaObjects()) {
    if (!here[type].has(name)) yield { part: "schema", name, message: `${type} ${name} is missing` };
  }
  for (const { name, valid } of indexes) {
    if (!valid) yield { part: "index", name, message: `index ${name} is marked as invalid` };
  }
}

/** Returns why a part of the check could not run, or null. */
async function withAmcheck(
  connection: Connection,
  run: (amcheck: Amcheck) => Promise<string | null>,
): Promise<string | null> {
  const [installed] = await connection.run(EXTENSION);
  if (installed !== undefined) return run(new Amcheck(connection, installed));
  try {
    await connection.run("CREATE EXTENSION amcheck");
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === null) throw error;
    return reason;
  }
  const [created] = await connection.run(EXTENSION);
  return run(new Amcheck(connection, created ?? {}));
}

class Amcheck {
  notRun: string | null = null;
  readonly #connection: Connection;
  readonly #place: string;
  readonly #version: readonly [number, number];

  constructor(connection: Connection, extension: Row) {
    this.#connection = connection;
    this.#place = `"${String(extension.place).replaceAll('"', '""')}"`;
    const [major = 0, minor = 0] = String(extension.version).split(".").map(Number);
    this.#version = [major, minor];
  }

  /** All in one statement; only where that fails, one by one. */
  async checkIndexes(indexes: readonly Relation[]): Promise<readonly Problem[]> {
    const unique = this.#has(CHECKS_UNIQUE) ? ", checkunique => true" : "";
    const call = (oid: string) => `${this.#place}.bt_index_check(${oid}, heapallindexed => true${unique})`;
    const all = indexes.map(({ oid }) => `${oid}::oid`).join(", ");
    if ((await this.#try(`SELECT ${call("o.oid")} FROM unnest(ARRAY[${all}]::oid[]) AS o (oid)`)).error === null)
      return [];
    const problems: Problem[] = [];
    for (const { oid, name } of indexes) {
      const { error } = await this.#try(`SELECT ${call(`${oid}::oid`)}`);
      if (error !== null && !this.#isExcused(error)) problems.push({ part: "index", name, message: messageOf(error) });
    }
    return problems;
  }

  async checkTables(tables: readonly Relation[]): Promise<readonly Problem[]> {
    if (!this.#has(CHECKS_TABLES)) {
      this.notRun ??= `amcheck ${this.#version.join(".")} checks indexes and no tables`;
      return [];
    }
    const call = (oid: string) =>
      `SELECT v.blkno, v.offnum, v.msg FROM ${this.#place}.verify_heapam(${oid}, check_toast => true) v LIMIT 20`;
    const problems: Problem[] = [];
    for (const { oid, name } of tables) {
      const { rows, error } = await this.#try(call(`${oid}::oid`));
      if (error !== null && !this.#isExcused(error)) problems.push({ part: "page", name, message: messageOf(error) });
      for (const { blkno, offnum, msg } of rows) {
        problems.push({ part: "page", name, message: `block ${blkno}, row ${offnum}: ${msg}` });
      }
    }
    return problems;
  }

  #has([major, minor]: readonly [number, number]): boolean {
    return this.#version[0] > major || (this.#version[0] === major && this.#version[1] >= minor);
  }

  async #try(text: string): Promise<{ readonly rows: readonly Row[]; readonly error: unknown }> {
    await this.#connection.run("SAVEPOINT one");
    try {
      return { rows: await this.#connection.run(text), error: null };
    } catch (error) {
      if (!isDamage(error) && reasonOf(error) === null) throw error;
      await this.#connection.run("ROLLBACK TO SAVEPOINT one");
      return { rows: [], error };
    }
  }

  #isExcused(error: unknown): boolean {
    const reason = reasonOf(error);
    this.notRun ??= reason;
    return reason !== null;
  }
}

/** What the server says when it reads something that cannot be: its own codes for damage, and of a wrong page. */
function isDamage(error: unknown): boolean {
  const code = sqlState(error);
  return code === "XX001" || code === "XX002" || code === "XX000";
}

const GRANT = "A superuser can run `CREATE EXTENSION amcheck` and grant EXECUTE on its functions to this role.";

/** Why amcheck cannot be used; null if it is another error. */
function reasonOf(error: unknown): string | null {
  switch (sqlState(error)) {
    case "42501":
      return `this role may not use the extension amcheck (${messageOf(error)}). ${GRANT}`;
    case "0A000":
    case "58P01":
    case "22023":
      return `the extension amcheck is not there (${messageOf(error)}). Install PostgreSQL's contrib package.`;
    case "23505":
    case "42710":
    case "55P03":
    case "25006":
      return `the extension amcheck could not be created just now (${messageOf(error)}). ${GRANT}`;
    case "57014":
      return `the server ended the check (${messageOf(error)}). Give this role a longer statement_timeout.`;
    default:
      return null;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
