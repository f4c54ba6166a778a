// What the SQL implementation needs from an engine. A write transaction is a plan: a generator that yields round trips
// of statements and gets their rows back. SQLite runs a plan in one go, PostgreSQL sends each trip in one round trip, so the
// same plan serves both.
import { HoldfastError } from "../../contracts/errors.ts";
import type { EngineReport } from "../../contracts/storage/engine-report.ts";
import type { QueryName } from "../../contracts/storage/queries.ts";
import type { InspectLimits, SqlFragments } from "../../contracts/storage/storage.ts";

export type Param = null | number | string | Uint8Array;
export type Row = Readonly<Record<string, unknown>>;

/** A statement as written here, `?` for a parameter; a dialect renders it once. */
type Sql = string;

/** Many rows through one statement: an insert of a table's rows, or an update of known rows. */
export interface BulkSpec {
  readonly name: string;
  readonly table: string;
  /** fence: an update that locks its rows in order and fails unless each still matches all of its key. */
  readonly verb: "insert" | "update" | "delete" | "fence";
  readonly columns: readonly BulkColumn[];
  /** Columns that find the row, for update and delete; they come last in `columns`. */
  readonly key: readonly string[];
  /** Follows an insert, such as ON CONFLICT …; names of the table and of excluded rows are the same in both engines. */
  readonly suffix: string;
  /** Of a fence: a SELECT that must find a row, asked before any row is locked. */
  readonly requires?: Sql;
}

export interface BulkColumn {
  readonly name: string;
  readonly type: "int" | "real" | "text" | "bytes";
  /** How the parameter becomes the value; `?` is the parameter. A constant has none. */
  readonly value: string;
}

export type Statement =
  /** `answers`: its rows are for the outcome, under this name. */
  | { readonly kind: "query"; readonly sql: Sql; readonly params: readonly Param[]; readonly answers?: QueryName }
  /** Rows whose `column` is one of the keys; on PostgreSQL they are locked, in key order. */
  | { readonly kind: "lookup"; readonly sql: Sql; readonly keys: readonly Param[]; readonly lock: boolean }
  /**
   * "alone" waits for writers of the table and keeps others out until the end; "beside" waits only for "alone". All
   * transactions lock tables and rows in one order, and the plan says where this lock is in it. SQLite's write lock
   * does both anyway.
   */
  | { readonly kind: "lock-table"; readonly table: string; readonly how: "alone" | "beside" }
  | { readonly kind: "bulk"; readonly spec: BulkSpec; readonly rows: readonly (readonly Param[])[] };

/** `last` lets the engine commit together with these statements. */
export interface RoundTrip {
  readonly statements: readonly Statement[];
  readonly last: boolean;
}

export type Plan<T> = Generator<RoundTrip, T, readonly (readonly Row[])[]>;

/** How JSON writes a NUL character, as hexadecimal digits: PostgreSQL has no text that holds one. */
export const NUL_ESCAPE = "5c7530303030";

/** `x ${NUMBERS} :list` is true if x is one of the whole numbers of the parameter, a JSON array. */
export const NUMBERS = "/*numbers*/";

/** The same for texts, none of which contains a NUL character. */
export const TEXTS = "/*texts*/";

/** `FROM ${PAIRS} :list w` has a row (a, b) for each pair of whole numbers of the parameter, a JSON array of arrays. */
export const PAIRS = "/*pairs*/";

/** Where LOOKUP stands in a text, the engine puts its way of asking for one of many keys. */
export const LOOKUP = "/*lookup*/";

/** Thrown if a session was not at its cached position: the commit must read it again. Nothing was written. */
export class StaleFence extends Error {}

/**
 * Thrown if a plan noticed only under its locks that another commit was faster: the plan is made again. Nothing was
 * written.
 */
export class LostRace extends Error {}

export function closedError(): HoldfastError {
  return new HoldfastError("Closed", "the store is closed", { hint: "Open the store again, or call close() last." });
}

/** One after the other, in one round trip; the rows are those of the last. */
export type Execute = (...sql: readonly string[]) => Promise<readonly Row[]>;

/** How many transactions of commits may be under way at once, and how long a commit waits for the locks of others. */
export interface CommitLanes {
  readonly most: number;
  readonly waitMs: number;
  /** How long this process was suspended in total; this time does not count as waiting. */
  stoodStillMs?(): number;
}

export interface TransactOptions {
  /** How long it waits for locks of other transactions; default: the handle's `busyMs`. */
  readonly waitMs?: number | undefined;
  /**
   * Steps that the plan will run, known before it begins. Such a plan is large: it may take seconds, during which the event
   * loop must run.
   */
  readonly prepared?: readonly Statement[] | undefined;
}

export interface Driver {
  readonly dialect: Dialect;
  /** Without it, one transaction at a time. */
  readonly lanes?: CommitLanes;
  /** True if reads are synchronous: awaiting them does not let the event loop run. */
  readonly answersAtOnce: boolean;
  /**
   * Runs a plan; one that lost a race before anything happened is run again. StaleFence when a fence did not hold. StoreBusy
   * when others held its rows for too long: nothing was written then.
   */
  transact<T>(plan: () => Plan<T>, options?: TransactOptions): Promise<T>;
  read(sql: Sql, params: readonly Param[]): Promise<readonly Row[]>;
  /** Rows whose column is one of the keys; LOOKUP stands in the text where the engine asks for them. */
  lookup(sql: Sql, keys: readonly Param[]): Promise<readonly Row[]>;
  /** A query of a caller: see Storage.inspect. */
  inspect(sql: Sql, params: readonly Param[], limits: InspectLimits): Promise<readonly Row[]>;
  /** Statements outside a plan, in one transaction under the engine's migration lock; `create` may make the place for it. */
  migrate(create: boolean, run: (execute: Execute) => Promise<void>): Promise<void>;
  /** Notifies listeners in other processes. A notification may be lost. */
  announce(sessions: Iterable<string>): void;
  /**
   * Calls back when another connection may have written; null stands for any session. Writes of this handle need not be
   * reported. Returns a function that stops it.
   */
  watch(heard: (sessions: readonly string[] | null) => void): () => void;
  reclaim(): Promise<void>;
  rewrite(): Promise<void>;
  /** See Storage.examine. */
  examine(): Promise<EngineReport>;
  size(): Promise<number>;
  close(): Promise<void>;
}

/** Everything on which the engines differ. Nothing else in the SQL knows which one it runs on. */
export interface Dialect {
  readonly engine: "sqlite" | "postgres";
  /** Column types of the migrations. */
  readonly types: Readonly<Record<"serial" | "int" | "real" | "text" | "bytes" | "table_end", string>>;
  /** `?` becomes the engine's parameter. */
  render(sql: Sql): string;
  /** A lookup for one key (SQLite, asked once per key) or for an array of them. */
  renderLookup(sql: Sql, lock: boolean): string;
  renderBulk(spec: BulkSpec, width: number): string;
  /** Appended to a guard's text inside a plan. */
  readonly lockRow: string;
  /** The greater of two values, NULL when one is. */
  greater(a: string, b: string): string;
  /**
   * The statement that begins a migration: it waits for commits under way and keeps others out until the migration
   * ends. null if the migration's own lock does so.
   */
  readonly excludeCommits: readonly Sql[];
  /** Selects the server's clock in epoch milliseconds, as `ms`; null if there is no server. */
  readonly serverTime: Sql | null;
  readonly tableNames: Sql;
  /** Names and types of a table's columns, for the test that compares them with contracts/storage/tables.ts. */
  readonly describeTable: Sql;
  readonly explain: string;
  /** What queries of people say differently. */
  readonly fragments: SqlFragments;
}
