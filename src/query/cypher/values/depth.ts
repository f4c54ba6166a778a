// Bounds how deeply the values of a result nest: a reader of them may recurse.
import type { HoldfastError } from "../../../contracts/errors.ts";
import { CYPHER_LIMITS, exceedsLimit } from "../limits.ts";
import { type CypherValue, isList, isMap } from "./value.ts";

export function tooDeep(): HoldfastError {
  const { cypherValueDepth } = CYPHER_LIMITS;
  return exceedsLimit("cypherValueDepth", cypherValueDepth, cypherValueDepth + 1, "a value is nested too deeply");
}

export function checkResultDepth(value: CypherValue): void {
  let level: readonly CypherValue[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > CYPHER_LIMITS.cypherValueDepth) throw tooDeep();
    level = level.flatMap((one) => (isList(one) ? one : isMap(one) ? [...one.values()] : []));
  }
}
