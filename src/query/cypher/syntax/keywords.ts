// Words that cannot be variables without backticks. They can be labels, types, property keys and column names.
import { once } from "../../../core/memoize.ts";
import type { Token } from "./lexer.ts";

const RESERVED =
  "ALL ASC ASCENDING BY CREATE DELETE DESC DESCENDING DETACH EXISTS LIMIT MATCH MERGE ON OPTIONAL ORDER REMOVE RETURN SET " +
  "SKIP WHERE WITH UNION UNWIND AND AS CONTAINS DISTINCT ENDS IN IS NOT OR STARTS XOR FALSE TRUE NULL CASE WHEN THEN ELSE END";

const reserved = once(() => new Set(RESERVED.split(" ")));

export function isReserved(token: Token): boolean {
  return reserved().has(token.upper);
}
