// What the engine's own check says about its pages, its indexes and the tables it has: what no comparison of rows can
// see, because a row is read through them.
import type { CheckReport } from "../check.ts";

export interface EngineReport extends NonNullable<CheckReport["engine"]> {
  readonly damages: readonly EngineDamage[];
}

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
