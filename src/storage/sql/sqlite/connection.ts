// One connection to a SQLite database: its pragmas, and the SQL function of checksums. Its statements are prepared once, those that
// write many rows in a few widths, and rows with values that Holdfast never writes can be read.
import { hash } from "node:crypto";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Environment } from "../../../contracts/environment.ts";
import { type ChecksumCell, checksumOf } from "../../../core/checksum.ts";
import type { BulkSpec, Param, Row } from "../driver.ts";
import { sqlite } from "./dialect.ts";
import { isOutOfRange } from "./errors.ts";

const NO_BYTES = new Uint8Array(1).subarray(0, 0);

/** Before Node 24 an array without memory of its own is bound as NULL: no bytes must be a place with none in it. */
export const bindable =
  Number.parseInt(process.versions.node, 10) >= 24
    ? (params: readonly Param[]) => params
    : (params: readonly Param[]) =>
        params.map((param) => (param instanceof Uint8Array && param.byteLength === 0 ? NO_BYTES : param));

export class Connection {
  readonly db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(path: string) {
    this.db = new DatabaseSync(path);
    addChecksumFunction(this.db);
  }

  statement(text: string): StatementSync {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const made = this.db.prepare(sqlite.render(text));
    this.#statements.set(text, made);
    return made;
  }

  all(text: string, params: readonly Param[]): readonly Row[] {
    return this.statement(text).all(...bindable(params)) as readonly Row[];
  }

  /**
   * The same for code that decodes rows: a number that is larger than any we write is read as the nearest one there is,
   * so that its row can be named.
   */
  rows(text: string, params: readonly Param[]): readonly Row[] {
    try {
      return this.all(text, params);
    } catch (error) {
      if (!isOutOfRange(error)) throw error;
    }
    const statement = this.db.prepare(sqlite.render(text));
    statement.setReadBigInts(true);
    return statement.all(...bindable(params)).map(nearest);
  }

  /** How many rows it changed. */
  run(text: string, params: readonly Param[]): number {
    return Number(this.statement(text).run(...bindable(params)).changes);
  }
}

function nearest(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, cell]) => [name, typeof cell === "bigint" ? Number(cell) : cell]),
  );
}

/** Rows of one insert. */
const WIDTHS = [16, 2, 1];

export interface BulkText {
  readonly width: number;
  readonly text: string;
}

export class BulkTexts {
  readonly #known = new Map<BulkSpec, readonly BulkText[]>();

  /** The widest first. */
  of(spec: BulkSpec): readonly BulkText[] {
    const known = this.#known.get(spec);
    if (known !== undefined) return known;
    const widths = spec.verb === "insert" ? WIDTHS : [1];
    const made = widths.map((width) => ({ width, text: sqlite.renderBulk(spec, width) }));
    this.#known.set(spec, made);
    return made;
  }
}

export function joinRows(rows: readonly (readonly Param[])[], from: number, width: number): readonly Param[] {
  const params: Param[] = [];
  for (let i = from; i < from + width; i++) for (const param of rows[i] ?? []) params.push(param);
  return params;
}

/** WAL frames after which a commit also checkpoints. */
export const CHECKPOINT_FRAMES = 1000;

export interface SqliteOptions {
  /** A file path, or ":memory:". */
  readonly path: string;
  readonly durability: "full" | "normal";
  readonly busyMs: number;
  readonly environment: Environment;
  /** Permissions of a new file; by default only its owner's. */
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
    // A file that is no store is not changed, and neither is an empty one until a store is created in it.
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

const NAME = "holdfast_checksum";
/** A number that is larger than any we write must not be an error: its row is to be named. */
const OPTIONS = { deterministic: true, varargs: true, useBigIntArguments: true } as const;

function addChecksumFunction(db: DatabaseSync): void {
  const compute = (...cells: readonly ChecksumCell[]) => checksumOf(hash, String(cells[0]), cells.slice(1));
  db.function(NAME, OPTIONS, compute as (...cells: unknown[]) => string);
}

/** The same for the program of a thread, which has a database `db`. */
export const ADD_CHECKSUM_FUNCTION = `
db.function("${NAME}", ${JSON.stringify(OPTIONS)}, (table, ...cells) =>
  (${checksumOf.toString()})(require("node:crypto").hash, table, cells));
`;
