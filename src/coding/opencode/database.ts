// OpenCode's SQLite database, opened beside the program. Reading takes no lock that a writer waits for. With a WAL it is read as
// any reader reads it, and SQLite makes the WAL's index (-shm) again where it is missing. Without one no process has it open: it
// is read as a file that does not change, and no file is made.
import { open, readdir, stat } from "node:fs/promises";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { HoldfastError } from "../../contracts/errors.ts";
import { type KnownSchema, readSchema } from "./schema.ts";

const BUSY_MS = 10_000;
/** Reads of a file in which OpenCode began to write meanwhile. */
const ATTEMPTS = 3;

export interface OpenedDatabase {
  readonly database: DatabaseSync;
  readonly schema: KnownSchema;
}

/** Where the sessions of this machine are: what the program would open, without asking it. */
export type DatabaseLocation =
  | { readonly kind: "none" }
  | { readonly kind: "file"; readonly file: string }
  /** Only the program can tell. */
  | { readonly kind: "unclear"; readonly why: string };

export async function locateDatabase(
  env: Readonly<Record<string, string | undefined>>,
  dataDir: string,
): Promise<DatabaseLocation> {
  const given = env.OPENCODE_DB;
  if (given) {
    if (given === ":memory:") return { kind: "none" };
    const file = path.resolve(dataDir, given);
    return (await statOf(file)) === null ? { kind: "none" } : { kind: "file", file };
  }
  const names = (await readdir(dataDir).catch(absent)).filter((name) => /^opencode.*\.db$/.test(name));
  if (names.length === 0) return { kind: "none" };
  const isOnly = names.length === 1 && names[0] === "opencode.db";
  if (isOnly) return { kind: "file", file: path.join(dataDir, "opencode.db") };
  return { kind: "unclear", why: `there is more than opencode.db: ${names.toSorted().join(", ")}` };
}

function absent(error: NodeJS.ErrnoException): readonly string[] {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
  throw error;
}

/** A database with an unknown schema, which is not read here. */
export class UnknownDatabase extends Error {}

/** One consistent state of it. UnknownDatabase when it must not, or cannot, be read without the program. */
export async function readDatabase<T>(file: string, read: (opened: OpenedDatabase) => T): Promise<T> {
  await requireWal(file);
  for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
    const before = await stateOf(file);
    if (before.hasWal) return readOnce(file, true, read);
    const result = attemptOf(() => readOnce(file, false, read));
    const after = await stateOf(file);
    // Otherwise OpenCode began to write meanwhile: what was read may be of two states.
    if (!after.hasWal && after.stamp === before.stamp) return result();
  }
  return readOnce(file, true, read);
}

/** What it gave or threw, when that is asked for. */
function attemptOf<T>(work: () => T): () => T {
  try {
    const value = work();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function readOnce<T>(file: string, hasWal: boolean, read: (opened: OpenedDatabase) => T): T {
  return opened(() => new DatabaseSync(readUrl(file, hasWal), { readOnly: true }), "begin", read);
}

/** Without a WAL, SQLite would make one, and its index, in order to read. */
function readUrl(file: string, hasWal: boolean): URL {
  const url = pathToFileURL(file);
  if (!hasWal) url.searchParams.set("immutable", "1");
  return url;
}

/**
 * Whether there is no session in it, whatever its schema is. A new database is like that while OpenCode creates its tables, one
 * migration after the other. False where that cannot be read.
 */
export async function isWithoutSessions(file: string): Promise<boolean> {
  if ((await statOf(file))?.size === 0n) return true;
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(readUrl(file, (await stateOf(file)).hasWal), { readOnly: true });
    database.exec(`pragma busy_timeout = ${BUSY_MS}`);
    const table = database.prepare("select 1 from sqlite_master where type = 'table' and name = 'session'").get();
    return table === undefined || database.prepare("select 1 from session limit 1").get() === undefined;
  } catch {
    return false;
  } finally {
    database?.close();
  }
}

/** Everything or nothing of what `write` does. It waits for other writers, and they for it. */
export async function writeDatabase<T>(file: string, write: (opened: OpenedDatabase) => T): Promise<T> {
  try {
    await requireWal(file);
    return opened(() => new DatabaseSync(file), "begin immediate", write);
  } catch (error) {
    if (!(error instanceof UnknownDatabase)) throw error;
    throw new HoldfastError("AgentFailed", `OpenCode's database cannot be written: ${error.message}`, {
      details: { file, why: error.message },
      hint: "Nothing of it was changed. If opencode is running, try again when it has ended.",
      cause: error,
    });
  }
}

function opened<T>(openIt: () => DatabaseSync, begin: string, work: (opened: OpenedDatabase) => T): T {
  let database: DatabaseSync | undefined;
  let schema: KnownSchema;
  try {
    database = openIt();
    database.exec(`pragma busy_timeout = ${BUSY_MS}; pragma foreign_keys = on`);
    database.exec(begin);
    const found = readSchema(database);
    if ("unknown" in found) throw new UnknownDatabase(found.unknown);
    schema = found;
  } catch (error) {
    database?.close();
    if (error instanceof UnknownDatabase) throw error;
    throw new UnknownDatabase(error instanceof Error ? error.message : String(error), { cause: error });
  }
  try {
    const result = work({ database, schema });
    database.exec("commit");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("rollback");
    throw sqliteFailure(error);
  } finally {
    database.close();
  }
}

/** In another mode its writers would wait for readers. Bytes 18 and 19 of the file say it. */
async function requireWal(file: string): Promise<void> {
  const header = Buffer.alloc(20);
  try {
    const handle = await open(file, "r");
    try {
      await handle.read(header, 0, 20, 0);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw new UnknownDatabase(error instanceof Error ? error.message : String(error), { cause: error });
  }
  if (header.toString("latin1", 0, 15) !== "SQLite format 3") throw new UnknownDatabase("it is no SQLite database");
  if (header[18] !== 2 || header[19] !== 2) throw new UnknownDatabase("it is not in WAL mode");
}

async function stateOf(file: string): Promise<{ readonly hasWal: boolean; readonly stamp: string }> {
  const found = await statOf(file);
  const stamp = found === null ? "" : `${found.ino} ${found.size} ${found.mtimeNs}`;
  return { hasWal: (await statOf(`${file}-wal`)) !== null, stamp };
}

async function statOf(file: string) {
  return stat(file, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
    throw error;
  });
}

function sqliteFailure(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== "ERR_SQLITE_ERROR") return error;
  return new HoldfastError("AgentFailed", `OpenCode's database failed: ${(error as Error).message}`, {
    hint: "Nothing of it was changed. If opencode is running, try again when it has ended.",
    cause: error,
  });
}
