// What bounds a query. The limits of parsing are those of all query languages; these are of execution alone.
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { describePlace } from "./errors.ts";

export const CYPHER_LIMITS = {
  /** UTF-16 units of a query, tokens in it, its nesting, and its clauses. Large data comes as parameters. */
  cypherChars: LIMITS.queryBytes,
  cypherTokens: 25_000,
  cypherDepth: 128,
  cypherClauses: LIMITS.queryClauses,
  /** Nodes and relationships of one MATCH. */
  cypherPatternParts: 200,
  /** Rows of the result. */
  cypherRows: LIMITS.queryRows,
  /** Rows that all clauses of a query produce together. */
  cypherIntermediateRows: 10_000_000,
  /** Values that a query holds at once: cells of collected rows, elements of the lists it makes, characters of its texts / 8. */
  cypherHeldValues: 20_000_000,
  /** Items of one list and characters of one text that a query makes. */
  cypherListItems: 1_048_576,
  cypherTextChars: 1_048_576,
  /** Lists and maps in each other, in a value of the result. */
  cypherValueDepth: LIMITS.jsonDepth,
  /** Milliseconds. */
  cypherMs: LIMITS.queryMsDefault,
} as const;

export type CypherLimitName = keyof typeof CYPHER_LIMITS;

export function exceedsLimit(limit: CypherLimitName, max: number, actual: number, what: string): HoldfastError {
  return new HoldfastError("LimitExceeded", `${what}: more than ${max}, the limit ${limit}`, {
    details: { limit, max, actual },
  });
}

/** The same with the place in the query. */
export function exceedsLimitAt(source: string, offset: number, limit: CypherLimitName, what: string): HoldfastError {
  const max = CYPHER_LIMITS[limit];
  const { line, column } = describePlace(source, offset);
  return new HoldfastError("LimitExceeded", `${what}: more than ${max}, the limit ${limit} (at ${line}:${column})`, {
    details: { limit, max, line, column, offset },
  });
}
