// The interface of storage (floor 1) for the rules (floor 2): one write verb that takes data, and named reads. Promise:
// a commit happens whole or not at all; it is durable when it is acknowledged; its guards were true at the moment it
// happened; events get contiguous seqs and their chain hashes inside it; a read sees every acknowledged commit.
import type { Environment } from "../environment.ts";
import type { Commit, Outcome } from "./commit.ts";
import type { EngineReport } from "./engine-report.ts";
import type { Queries, QueryName } from "./queries.ts";

/** The name for which a worker calls Storage.waitForChange() to wait for runs that are due. No session has this id. */
export const DUE = "";

export interface Storage {
  readonly engine: "sqlite" | "postgres";
  /** The SQL fragments in which this engine differs. */
  readonly fragments: SqlFragments;
  readonly environment: Environment;
  commit(commit: Commit): Promise<Outcome>;
  query<N extends QueryName>(name: N, params: Queries[N]["params"]): Promise<readonly Queries[N]["row"][]>;
  /**
   * Runs one SELECT of the query compiler, with `?` for each parameter. It is read-only, and runs on its own connection outside the
   * event loop's thread. QueryTimeout if it takes too long, LimitExceeded if it returns too many rows.
   */
  inspect(sql: string, params: readonly InspectParam[], limits: InspectLimits): Promise<readonly InspectRow[]>;
  /** Resolves when the session may have new events, or the time is over. It may resolve too often or too late. */
  waitForChange(session: string, timeoutMs: number, signal?: AbortSignal): Promise<void>;
  /** Returns a follower for a reader that waits for new events of a session. All followers of a handle cost as much as one. */
  follow(session: string): LogFollower;
  /** Returns the space of deleted rows to the file, and overwrites their content. */
  reclaim(): Promise<void>;
  /** Rewrites the whole database, so that no deleted content is left in it. This needs disk space for a second copy, and writers wait. */
  rewrite(): Promise<void>;
  /** Runs the engine's own check of its pages, indexes and tables, always outside the event loop's thread. */
  examine(): Promise<EngineReport>;
  /** The size of the database on disk in bytes. */
  size(): Promise<number>;
  close(): Promise<void>;
}

/** The state of a log when a reader took the mark. Only the storage interprets it. */
export interface LogMark {
  readonly log: object | null;
  readonly news: number;
}

/**
 * Notifies one reader when to read a session's log again. A notification may be late, and always comes. The reader
 * takes a mark, reads, and waits for what is new since the mark.
 */
export interface LogFollower {
  /** Takes a mark before a read: the reader either reads what is written from then on, or is notified of it. */
  mark(): LogMark;
  /**
   * Resolves when the log is longer than `after`, or the session or the store is gone, and also after stop(). The mark may be
   * that of another follower of the session whose read this one shares.
   */
  waitForEvents(after: number, mark: LogMark): Promise<void>;
  /** Resolves when the store answers again. For a reader after a failed read. */
  waitForStore(): Promise<void>;
  stop(): void;
}

export type InspectParam = null | number | string | Uint8Array;
export type InspectRow = Readonly<Record<string, unknown>>;

export interface InspectLimits {
  readonly timeoutMs: number;
  readonly maxRows: number;
}

/** SQL fragments that differ between the engines. Each function gets SQL and returns SQL. */
export interface SqlFragments {
  readonly int: string;
  readonly real: string;
  readonly text: string;
  readonly bytes: string;
  /** The name of the type for positions in a text. */
  readonly offset: string;
  /** Follows a text that is no column, so that it is compared bytewise as columns are. */
  readonly collate: string;
  /** The text in a column of UTF-8 bytes; NULL if it contains a NUL character. */
  utf8(bytes: string): string;
  /** The bytes as lower-case hexadecimal digits. */
  hex(bytes: string): string;
  /** A number as people write it: 2 and 2.5. */
  numberText(number: string): string;
  /** The position of the part in the text, from 1; 0 if the text does not contain it. */
  position(text: string, part: string): string;
  /** Combines the terms of a recursive query that refer to `name` into one term. Each arm gets the name by which it refers to the query. */
  recursive(name: string, arms: readonly ((name: string) => string)[]): string;
  /** The rows of the parameter `?`, a JSON array of arrays. */
  jsonRows(columns: readonly ("int" | "real" | "text")[]): string;
  /**
   * The text of a field of a JSON object that is stored as UTF-8 bytes. NULL if there is no such field, and for every
   * field of an object that contains a NUL character.
   */
  jsonField(bytes: string, ...path: readonly string[]): string;
  /** Stands before a statement to get its query plan. */
  readonly explain: string;
}
