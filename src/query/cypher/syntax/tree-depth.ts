// Bounds the height of a query's tree. Chains such as a.b.c nest without the parser nesting, but evaluation would.
import { CYPHER_LIMITS, exceedsLimitAt } from "../limits.ts";

/** A level of the parser makes a few levels of the tree, each with an array between. */
const LEVELS_PER_DEPTH = 6;

export function checkTreeDepth(source: string, tree: object): void {
  const max = CYPHER_LIMITS.cypherDepth * LEVELS_PER_DEPTH;
  let level: readonly object[] = [tree];
  for (let depth = 0; level.length > 0; depth++) {
    const [first] = level;
    if (depth > max && first !== undefined) {
      const at = "at" in first && typeof first.at === "number" ? first.at : 0;
      throw exceedsLimitAt(source, at, "cypherDepth", "the query is nested too deeply");
    }
    level = level.flatMap((node) => Object.values(node).filter((value) => typeof value === "object" && value !== null));
  }
}
