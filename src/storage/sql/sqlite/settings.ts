// What a SQLite store is opened with, and how its connections are set.
import type { DatabaseSync } from "node:sqlite";
import type { Environment } from "../../../contracts/environment.ts";
import type { Connection } from "./connection.ts";

/** WAL frames after which a commit also checkpoints. */
export const CHECKPOINT_FRAMES = 1000;

export interface SqliteOptions {
  /** A file path, or ":memory:". */
  readonly path: string;
  readonly durability: "full" | "normal";
  readonly busyMs: number;
  readonly environment: Environment;
  /** Rights of a file that is made; its owner's only when not given. */
  readonly fileMode?: number;
}

const OUR_TABLE = "SELECT name FROM sqlite_master WHERE name = 'holdfast_meta'";

export function makeReady(db: DatabaseSync, path: string): void {
  // Before the first page, or not at all; on an existing store it would be a write, for which all must wait.
  if (db.prepare("PRAGMA page_count").get()?.page_count === 0) db.exec("PRAGMA auto_vacuum = INCREMENTAL");
  if (path !== ":memory:") db.exec("PRAGMA journal_mode = WAL");
}

export function writerPragmas({ durability }: SqliteOptions): readonly string[] {
  return [
    `synchronous = ${durability === "full" ? "FULL" : "NORMAL"}`,
    `wal_autocheckpoint = ${CHECKPOINT_FRAMES}`,
    "secure_delete = ON",
    "busy_timeout = 0",
    "cache_size = -16384",
    "foreign_keys = OFF",
  ];
}

export function prepareConnection(connection: Connection, options: SqliteOptions, role: "writer" | "reader"): void {
  const { db } = connection;
  if (role === "writer") {
    // A file that is not ours stays as it is, and an empty one until a store is to be made of it.
    if (db.prepare(OUR_TABLE).get() !== undefined) makeReady(db, options.path);
    for (const pragma of writerPragmas(options)) db.exec(`PRAGMA ${pragma}`);
  } else {
    db.exec("PRAGMA query_only = ON");
    // A reader waits only while another process recovers or resets the WAL, which takes no time.
    db.exec("PRAGMA busy_timeout = 2000");
    db.exec("PRAGMA cache_size = -16384");
    db.exec("PRAGMA foreign_keys = OFF");
  }
}
