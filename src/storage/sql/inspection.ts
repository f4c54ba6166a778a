// The errors of both engines when a caller's query takes too long, returns too much or is too large.
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

/** Holdfast's own limits are checked before; this handles limits that only the engine reaches. */
export function tooMuch(engine: string, cause: unknown): HoldfastError {
  const said = cause instanceof Error ? cause.message : String(cause);
  return new HoldfastError("InvalidQuery", `the query is too much for ${engine}: ${said}`, {
    details: {},
    hint: "Ask for less at once: fewer clauses, less nesting, shorter texts.",
    cause,
  });
}

export function outOfRange(cause: unknown): HoldfastError {
  return new HoldfastError("InvalidQuery", "a number became larger than a double can be", { details: {}, cause });
}
