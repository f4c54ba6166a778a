// Opens OpenCode's SQLite database while OpenCode may have it open too. Reading takes no lock that a writer waits for. If there is a
// WAL, the database is opened as by any other reader, and SQLite creates a missing index of the WAL (-shm). If there is none, no process
// has the database open: it is opened as an immutable file, and SQLite creates no file.
import { open, readdir, stat } from "node:fs/promises";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { HoldfastError } from "../../contracts/errors.ts";
import { type KnownSchema, readSchema } from "./schema.ts";

const BUSY_MS = 10_000;
/** How often a read is tried if OpenCode begins to write during it. */
const ATTEMPTS = 3;

export interface OpenedDatabase {
  readonly database: DatabaseSync;
  readonly schema: KnownSchema;
}

/** The database that OpenCode would open, found without starting OpenCode. */
export type DatabaseLocation =
  | { readonly kind: "none" }
  | { readonly kind: "file"; readonly file: string }
  /** Only OpenCode itself knows which file it opens. */
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
  const names = (await readdir(dataDir).catch(emptyIfAbsent)).filter((name) => /^opencode.*\.db$/.test(name));
  if (names.length === 0) return { kind: "none" };
  const isOnly = names.length === 1 && names[0] === "opencode.db";
  if (isOnly) return { kind: "file", file: path.join(dataDir, "opencode.db") };
  return { kind: "unclear", why: `there are several databases: ${names.toSorted().join(", ")}` };
}

function emptyIfAbsent(error: NodeJS.ErrnoException): readonly string[] {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
  throw error;
}

/** The database cannot be read directly: its schema is unknown, it is not in WAL mode, or it cannot be opened. */
export class UnknownDatabase extends Error {}

/** Reads one consistent state. UnknownDatabase when only OpenCode's program can read the database. */
export async function readDatabase<T>(file: string, read: (opened: OpenedDatabase) => T): Promise<T> {
  await requireWal(file);
  for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
    const before = await stateOf(file);
    if (before.hasWal) return readOnce(file, true, read);
    const result = runDeferringError(() => readOnce(file, false, read));
    const after = await stateOf(file);
    // If either changed, OpenCode began to write during the read, which may have mixed two states.
    if (!after.hasWal && after.stamp === before.stamp) return result();
  }
  return readOnce(file, true, read);
}

/** Runs `work` now. The returned function returns its value or throws its error. */
function runDeferringError<T>(work: () => T): () => T {
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
  return withDatabase(() => new DatabaseSync(readUrl(file, hasWal), { readOnly: true }), "begin", read);
}

/** If there is no WAL, SQLite would create a WAL and its index in order to read; `immutable` prevents that. */
function readUrl(file: string, hasWal: boolean): URL {
  const url = pathToFileURL(file);
  if (!hasWal) url.searchParams.set("immutable", "1");
  return url;
}

/**
 * Whether the database has no session, whatever its schema is. That is so while OpenCode creates the tables of a new database, one
 * migration after the other. False when the database cannot be read.
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

/** Runs `write` in one transaction. It waits for other writers, and other writers wait for it. */
export async function writeDatabase<T>(file: string, write: (opened: OpenedDatabase) => T): Promise<T> {
  try {
    await requireWal(file);
    return withDatabase(() => new DatabaseSync(file), "begin immediate", write);
  } catch (error) {
    if (!(error instanceof UnknownDatabase)) throw error;
    throw new HoldfastError("AgentFailed", `OpenCode's database cannot be written: ${error.message}`, {
      details: { file, why: error.message },
      hint: "The database was not changed. If opencode is running, try again when it has ended.",
      cause: error,
    });
  }
}

function withDatabase<T>(open: () => DatabaseSync, begin: string, work: (opened: OpenedDatabase) => T): T {
  let database: DatabaseSync | undefined;
  let schema: KnownSchema;
  try {
    database = open();
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

/** In another mode OpenCode would wait for our reads. Bytes 18 and 19 of the file name the mode. */
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
  if (header.toString("latin1", 0, 15) !== "SQLite format 3") throw new UnknownDatabase("it is not an SQLite database");
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
    hint: "The database was not changed. If opencode is running, try again when it has ended.",
    cause: error,
  });
}
