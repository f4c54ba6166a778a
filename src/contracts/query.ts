// Queries over everything in the store: Datalog in the syntax of Datomic, as EDN text or JSON (docs/datalog.md).
// Promise: a query reads the rows themselves, so it is never stale; it cannot write, sees only the facts of the
// catalogue, and is ended after its time limit.
import type { Json } from "./json.ts";

export interface Explanation {
  readonly sql: string;
  readonly params: readonly (null | number | string)[];
  /** The engine's plan for the query. */
  readonly plan: readonly string[];
}

export interface Querying {
  /** Runs a Datalog query over everything in the store. `inputs` are the values for the names in :in, without `$`. */
  query(
    query: string | object,
    inputs?: readonly unknown[],
    options?: {
      /** At most this many rows, even if :limit allows more. */
      readonly limit?: number;
      /** QueryTimeout after this time; default 10 seconds. */
      readonly timeoutMs?: number;
      /** LimitExceeded if there are more rows; default and maximum 1,000,000. */
      readonly maxRows?: number;
    },
  ): Promise<Json>;
  /** The SQL of a query, and the engine's plan for it. */
  explain(...query: Parameters<Querying["query"]>): Promise<Explanation>;
  /** Every attribute that a query can name. */
  facts(): Promise<
    readonly {
      readonly name: string;
      /** The kind of entity that has the attribute. */
      readonly of: string;
      /** text, keyword, int, real, boolean, instant, ref, or `→ kind` for another entity. */
      readonly type: string;
      readonly many: boolean;
    }[]
  >;
}
