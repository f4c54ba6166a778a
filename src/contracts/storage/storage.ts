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
  /** How this engine says what its SQL says in its own way. */
  readonly fragments: SqlFragments;
  readonly environment: Environment;
  commit(commit: Commit): Promise<Outcome>;
  query<N extends QueryName>(name: N, params: Queries[N]["params"]): Promise<readonly Queries[N]["row"][]>;
  /**
   * One SELECT of the compiler of queries, `?` for a parameter. Read-only, on a connection of its own and outside the
   * event loop's thread; QueryTimeout when it takes longer, LimitExceeded when it gives more rows.
   */
  inspect(sql: string, params: readonly InspectParam[], limits: InspectLimits): Promise<readonly InspectRow[]>;
  /** Resolves when the session may have new events, or the time is over. It may resolve too often or too late. */
  waitForChange(session: string, timeoutMs: number, signal?: AbortSignal): Promise<void>;
  /** For a reader of a session's log that waits for more of it. All followers of a handle cost as much as one. */
  follow(session: string): LogFollower;
  /** Returns the space of deleted rows to the file, and overwrites their content. */
  reclaim(): Promise<void>;
  /** Writes all that is there anew, so that nothing else is left; takes room for a second copy, and writers wait. */
  rewrite(): Promise<void>;
  /** The engine's own check of its pages, indexes and tables; outside the event loop's thread where the engine is in it. */
  examine(): Promise<EngineReport>;
  /** Bytes the database takes on disk. */
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
  /** Taken before a read: what is written from here on is either read or notified. */
  mark(): LogMark;
  /**
   * Resolves when the log is longer than `after`, or the session or the store is gone, and also after stop(). The mark may be
   * that of another follower of the session whose read this one shares.
   */
  waitForEvents(after: number, mark: LogMark): Promise<void>;
  /** Resolves when the store answers again: for a reader whose read failed. */
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
  /** Places in a text. */
  readonly offset: string;
  /** Follows a text that no column gave, so that it compares bytewise like the columns do. */
  readonly collate: string;
  /** The text that a column of UTF-8 bytes holds; NULL when it holds a NUL character. */
  utf8(bytes: string): string;
  /** Lower-case hexadecimal digits. */
  hex(bytes: string): string;
  /** A number as people write it: 2 and 2.5. */
  numberText(number: string): string;
  /** From 1; 0 when it is not there. */
  position(text: string, part: string): string;
  /** The terms of a recursive query that refer to `name`, as one term: `arms` are given the name to refer to it by. */
  recursive(name: string, arms: readonly ((name: string) => string)[]): string;
  /** Rows of a JSON array of arrays, which is the parameter `?`. */
  jsonRows(columns: readonly ("int" | "real" | "text")[]): string;
  /**
   * The text of a field of a JSON object kept as UTF-8 bytes; NULL when it is not there, and in every field of an object that
   * holds a NUL character.
   */
  jsonField(bytes: string, ...path: readonly string[]): string;
  /** Precedes a statement to get its query plan. */
  readonly explain: string;
}
