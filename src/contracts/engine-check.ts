// What the engine's own check says about its pages, its indexes and the tables it has: what no comparison of rows can
// see, because a row is read through them.

export interface EngineReport {
  readonly check: EngineCheckName;
  /** Why the engine's check, or a part of it, could not be run; null when all of it ran. */
  readonly notRun: string | null;
  readonly damages: readonly EngineDamage[];
}

/** SQLite: PRAGMA integrity_check. PostgreSQL: bt_index_check and verify_heapam of the extension amcheck. */
export type EngineCheckName = "integrity_check" | "amcheck";

export interface EngineDamage {
  /**
   * index: an index does not have exactly the rows of its table, which are not affected. page: a table or the file's own
   * lists. schema: a table or an index is missing or is not what the migrations make.
   */
  readonly part: "index" | "page" | "schema";
  /** Of the table or the index; the database itself has none. */
  readonly name: string | null;
  /** The first few messages of the engine. */
  readonly messages: readonly string[];
  readonly count: number;
}
