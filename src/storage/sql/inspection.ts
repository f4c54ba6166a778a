// What both engines say when a query of somebody's takes too long or gives too much.
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";

export function timedOut(timeoutMs: number): HoldfastError {
  return new HoldfastError("QueryTimeout", `the query took longer than ${timeoutMs} ms and was ended`, {
    details: { timeoutMs },
    hint: "Ask for less (constants, an input, :limit does not help here), or give it a longer timeoutMs.",
  });
}

export function tooManyRows(maxRows: number): HoldfastError {
  return new HoldfastError("LimitExceeded", `the query gives more than ${maxRows} rows`, {
    details: { limit: "queryRows", max: maxRows, most: LIMITS.queryRows },
    hint: "Give it a :limit, or aggregate.",
  });
}
