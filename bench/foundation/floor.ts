// The lower bounds of SQLite appends, through the same driver and with a store's pragmas: the same rows written by bare
// statements, and the same bytes in one row of a bare table. No durable write on this disk can be faster.
import { randomFillSync } from "node:crypto";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { open } from "../../src/open.ts";
import { ADD_INLINE_MESSAGE, ADVANCE_SESSION } from "../../src/storage/sql/specs.ts";
import { sqlite } from "../../src/storage/sql/sqlite/dialect.ts";

/** As in src/storage/sql/sqlite/driver.ts. */
export const PRAGMAS: readonly string[] = [
  "auto_vacuum = INCREMENTAL",
  "journal_mode = WAL",
  "synchronous = FULL",
  "wal_autocheckpoint = 1000",
  "secure_delete = ON",
  "cache_size = -16384",
];

export function openBare(file: string): DatabaseSync {
  const db = new DatabaseSync(file);
  for (const pragma of PRAGMAS) db.exec(`PRAGMA ${pragma}`);
  return db;
}

/** Bytes of the values an append writes, measured on the newest rows of a store that has had one. */
export function bytesPerAppend(storeFile: string): number {
  const db = new DatabaseSync(storeFile, { readOnly: true });
  try {
    const row = db.prepare("SELECT * FROM events ORDER BY no DESC LIMIT 1").get() ?? {};
    return Object.values(row).reduce<number>((sum, cell) => sum + cellBytes(cell), 0);
  } finally {
    db.close();
  }
}

/** The size of a value in SQLite's format, without its header of about one byte. */
export function cellBytes(cell: unknown): number {
  if (typeof cell === "string") return Buffer.byteLength(cell);
  if (cell instanceof Uint8Array) return cell.byteLength;
  if (typeof cell !== "number") return 0;
  if (cell === 0 || cell === 1) return 0;
  const bits = Math.ceil(Math.log2(Math.abs(cell) + 1)) + 1;
  return [1, 2, 3, 4, 6].find((bytes) => bits <= bytes * 8) ?? 8;
}

/** Bodies that all differ and cost little to make. */
export function bodySource(bytes: number): () => Uint8Array {
  const pool = randomFillSync(new Uint8Array(1_000_000 + bytes));
  let at = 0;
  return () => {
    at = (at + 61) % 1_000_000;
    return pool.subarray(at, at + bytes);
  };
}

/**
 * The rows of an append, as a store writes them, in one commit by two prepared statements: the event with the message in
 * it, and the position of the session's log. Seqs and hashes are invented; nothing is read, checked or hashed.
 */
export async function sameRowsAppender(
  file: string,
  words: number,
): Promise<{ append: () => void; close: () => void }> {
  const hf = await open(file);
  await hf.history.append({ session: "one", agent: "bench" }, { role: "user", content: "x".repeat(words) });
  await hf.close();
  const db = openBare(file);
  const row = db.prepare("SELECT * FROM events ORDER BY no DESC LIMIT 1").get() ?? {};
  const insert = db.prepare(sqlite.renderBulk(ADD_INLINE_MESSAGE, 1));
  const advance = db.prepare(sqlite.renderBulk(ADVANCE_SESSION, 1));
  const bodies = {
    hash: bodySource(32),
    sha256: bodySource(32),
    salt: bodySource(16),
    words: bodySource(cellBytes(row.words)),
  };
  const given = ADD_INLINE_MESSAGE.columns.filter((column) => column.value === "?").map((column) => column.name);
  const { begin, commit } = transaction(db);
  let seq = Number(row.seq);
  const append = () => {
    seq++;
    const hash = bodies.hash();
    const fresh: Record<string, number | Uint8Array> = {
      seq,
      hash,
      sha256: bodies.sha256(),
      salt: bodies.salt(),
      words: bodies.words(),
    };
    begin.run();
    insert.run(...given.map((name) => fresh[name] ?? row[name] ?? null));
    advance.run(seq, hash, Number(row.at), seq, 0, Number(row.session_no));
    commit.run();
  };
  return { append, close: () => db.close() };
}

/** Writes one row in each commit. */
export function bareAppender(db: DatabaseSync, bytes: number): () => void {
  db.exec("CREATE TABLE floor (body BLOB NOT NULL) STRICT");
  const next = bodySource(bytes);
  const insert = db.prepare("INSERT INTO floor (body) VALUES (?)");
  const { begin, commit } = transaction(db);
  return () => {
    begin.run();
    insert.run(next());
    commit.run();
  };
}

const ROWS = 64;

/** Rows per second of commits of 64 rows, one for each of 64 sessions, in one statement. */
export function bareBatches(db: DatabaseSync, bytes: number, keyed: boolean): (forMs: number) => number {
  const key = keyed ? ", PRIMARY KEY (session, seq)" : "";
  const table = keyed ? "keyed" : "unkeyed";
  db.exec(`CREATE TABLE ${table} (session INTEGER NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL${key}) STRICT`);
  const next = bodySource(bytes);
  const values = Array(ROWS).fill("(?, ?, ?)").join(", ");
  const insert = db.prepare(`INSERT INTO ${table} (session, seq, body) VALUES ${values}`);
  const { begin, commit } = transaction(db);
  let seq = 0;
  return (forMs) => {
    const start = performance.now();
    let rows = 0;
    for (; performance.now() < start + forMs; rows += ROWS) {
      seq++;
      const params: (number | Uint8Array)[] = [];
      for (let session = 0; session < ROWS; session++) params.push(session, seq, next());
      begin.run();
      insert.run(...params);
      commit.run();
    }
    return (rows / (performance.now() - start)) * 1000;
  };
}

function transaction(db: DatabaseSync): { begin: StatementSync; commit: StatementSync } {
  return { begin: db.prepare("BEGIN IMMEDIATE"), commit: db.prepare("COMMIT") };
}
