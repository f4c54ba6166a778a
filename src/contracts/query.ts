// Queries over everything the store holds: Datalog in the syntax of Datomic, as EDN text or JSON (docs/datalog.md).
// Promise: a query reads the rows themselves, so that it is never behind them; it cannot write, cannot see anything but
// the facts of the catalogue, and ends when its time is over.
import type { Json } from "./json.ts";

export interface Explanation {
  readonly sql: string;
  readonly params: readonly (null | number | string)[];
  /** What the engine says about how it would run it. */
  readonly plan: readonly string[];
}

export interface Querying {
  /** Datalog over everything the store holds. `inputs` are what :in names, without `$`. */
  query(
    query: string | object,
    inputs?: readonly unknown[],
    options?: {
      /** So many rows at most, whatever :limit says. */
      readonly limit?: number;
      /** QueryTimeout after this; default 10 seconds. */
      readonly timeoutMs?: number;
      /** LimitExceeded when there are more; default and most 1,000,000. */
      readonly maxRows?: number;
    },
  ): Promise<Json>;
  /** The SQL of a query and how the engine would run it. */
  explain(...query: Parameters<Querying["query"]>): Promise<Explanation>;
  /** Every attribute a query can name. */
  facts(): Promise<
    readonly {
      readonly name: string;
      /** The kind of entity it is a fact of. */
      readonly of: string;
      /** text, keyword, int, real, boolean, instant, ref, or `→ kind` for another entity. */
      readonly type: string;
      readonly many: boolean;
    }[]
  >;
}
