// SQLite's own check of a store's file (PRAGMA integrity_check) and of its schema, on a connection of its own. It reads every
// page, so it runs in a thread of its own, unless the file is so small that starting a thread takes longer.
import { DatabaseSync } from "node:sqlite";
import type { EngineDamage, EngineReport } from "../../../contracts/storage/engine-report.ts";
import { MIGRATIONS, renderDdl } from "../migrations.ts";
import { groupDamages } from "../schema.ts";
import { sqlite } from "./dialect.ts";
import { isDamage } from "./errors.ts";

/** Problems that SQLite lists at most; each index or table is named once anyway. */
const PROBLEMS_MAX = 1000;
const CHECK = `PRAGMA integrity_check(${PROBLEMS_MAX})`;
/** Bytes of a database whose pages are read in a few milliseconds. */
const SMALL_BYTES = 2 ** 21;
const SIZE = "SELECT page_count * page_size AS n FROM pragma_page_count(), pragma_page_size()";
const SCHEMA = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master";

/** Plain JavaScript in a string: it needs no file beside the bundle it ends up in. */
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads");
const { DatabaseSync } = require("node:sqlite");
const { path, check, schema } = workerData;
let db;
try {
  db = new DatabaseSync(path, { readOnly: true });
  db.exec("PRAGMA busy_timeout = 10000; PRAGMA cache_size = -65536");
  const read = (sql) => db.prepare(sql).all().map((row) => ({ ...row }));
  parentPort.postMessage({ schema: read(schema), problems: read(check) });
} catch (error) {
  parentPort.postMessage({ error: { message: String(error?.message), errcode: error?.errcode } });
} finally {
  db?.close();
}
`;

interface SchemaRow {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  readonly rootpage: number;
  readonly sql: string | null;
}

interface Answer {
  readonly schema?: readonly SchemaRow[];
  readonly problems?: readonly { readonly integrity_check: string }[];
  readonly error?: { readonly message: string; readonly errcode?: number };
}

/** `memory`: the connection to a database in memory, which no thread can open. */
export async function examineSqlite(path: string, memory: DatabaseSync | null): Promise<EngineReport> {
  const answer = memory === null ? await askFile(path) : askHere(memory);
  if (answer.error !== undefined) {
    const error = Object.assign(new Error(answer.error.message), { errcode: answer.error.errcode });
    if (!isDamage(error)) throw error;
    return report([{ part: "page", name: null, messages: [error.message], count: 1 }]);
  }
  const schema = answer.schema ?? [];
  const problems = (answer.problems ?? []).map((row) => row.integrity_check).filter((text) => text !== "ok");
  return report([...compareSchema(schema), ...groupDamages(problems.map((text) => damageOf(text, schema)))]);
}

function report(damages: readonly EngineDamage[]): EngineReport {
  return { check: "integrity_check", notRun: null, damages };
}

function askHere(db: DatabaseSync): Answer {
  const rows = (sql: string) => db.prepare(sql).all() as unknown;
  return {
    schema: rows(SCHEMA) as readonly SchemaRow[],
    problems: rows(CHECK) as NonNullable<Answer["problems"]>,
  };
}

async function askFile(path: string): Promise<Answer> {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true });
    // It waits only while another process recovers or resets the WAL, which takes no time.
    db.exec("PRAGMA busy_timeout = 2000");
    if (Number(db.prepare(SIZE).get()?.n) <= SMALL_BYTES) return askHere(db);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { error: error as Error & { readonly errcode?: number } };
  } finally {
    db?.close();
  }
  return askThread(path);
}

async function askThread(path: string): Promise<Answer> {
  // Loaded only now: most programs need no thread.
  const threads = process.getBuiltinModule("node:worker_threads");
  const worker = new threads.Worker(PROGRAM, {
    eval: true,
    workerData: { path, check: CHECK, schema: SCHEMA },
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  try {
    return await new Promise<Answer>((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
      worker.once("exit", () => reject(new Error("the thread that checked the file ended")));
    });
  } finally {
    await worker.terminate();
  }
}

const OF_INDEX = /(?:missing from index|entries in index|non-unique entry in index|differ from index) (\S+)/;
const OF_TREE = /^Tree (\d+)\b/;
const OF_COLUMN = /(?:value in|CHECK constraint failed in) (\w+)/;

/** Which table or index a problem is about, as far as SQLite says. */
function damageOf(message: string, schema: readonly SchemaRow[]): ReturnType<typeof damage> {
  const index = OF_INDEX.exec(message)?.[1];
  if (index !== undefined) return damage("index", index, message);
  const root = Number(OF_TREE.exec(message)?.[1] ?? 0);
  const tree = root === 0 ? undefined : schema.find(({ rootpage }) => rootpage === root);
  if (tree !== undefined) return damage(tree.type === "index" ? "index" : "page", tree.name, message);
  return damage("page", OF_COLUMN.exec(message)?.[1] ?? null, message);
}

function damage(part: "index" | "page", name: string | null, message: string) {
  return { part, name, message };
}

type Schema = ReadonlyMap<string, SchemaRow>;
let known: Schema | null = null;

const CHANGES_ROWS = /^\s*(INSERT|UPDATE)\b/;

/** What the migrations make of an empty database. */
function expectedSchema(): Schema {
  if (known !== null) return known;
  const db = new DatabaseSync(":memory:");
  const steps = MIGRATIONS.flatMap(({ up }) => up).filter((step) => !CHANGES_ROWS.test(step));
  for (const step of steps) db.exec(renderDdl(sqlite, step));
  const rows = db.prepare(SCHEMA).all() as unknown as readonly SchemaRow[];
  db.close();
  known = new Map(rows.map((row) => [row.name, row]));
  return known;
}

/** Tables that a user added are not checked. */
function compareSchema(found: readonly SchemaRow[]): readonly EngineDamage[] {
  const here = new Map(found.map((row) => [row.name, row]));
  const wrong: EngineDamage[] = [];
  for (const [name, wanted] of expectedSchema()) {
    const row = here.get(name);
    const message = row === undefined ? `${wanted.type} ${name} is missing` : differenceOf(wanted, row);
    if (message !== null) wrong.push({ part: "schema", name, messages: [message], count: 1 });
  }
  return wrong;
}

function differenceOf(wanted: SchemaRow, found: SchemaRow): string | null {
  const isSame = wanted.type === found.type && wanted.tbl_name === found.tbl_name;
  if (isSame && plain(wanted.sql) === plain(found.sql)) return null;
  return `${wanted.type} ${wanted.name} is not what the migrations make: ${found.sql ?? ""}`;
}

function plain(sql: string | null): string {
  return (sql ?? "").replace(/\s+/g, " ").trim();
}
