// The report of the engine's own check of its pages, indexes and tables. The checker cannot find this damage by comparing rows, because it
// reads rows through them.
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
  /** The name of the table or the index; null for the database itself. */
  readonly name: string | null;
  /** The first few messages of the engine. */
  readonly messages: readonly string[];
  readonly count: number;
}
