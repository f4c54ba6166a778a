// Whether the rows of a MERGE can be matched in one request: then no row may match a part of what one row created and a part of what
// another one did, and ON CREATE and ON MATCH may not change what is matched.
import type { Expression, MergeClause } from "../syntax/ast.ts";
import { childExpressions } from "../syntax/walk.ts";

export function canMatchTogether({ pattern, onCreate, onMatch }: MergeClause): boolean {
  if (pattern.relationships.length > 1 || pattern.variable !== undefined) return false;
  // Two rows may name the same nodes the other way round.
  if (pattern.relationships.some(({ direction }) => direction === "either" || direction === "both")) return false;
  const entries = [...pattern.nodes, ...pattern.relationships].flatMap(({ properties }) =>
    properties?.kind === "map" ? properties.entries : [],
  );
  // What the pattern looks for, and what the values that it looks for are read from.
  const read = entries.map(({ value }) => propertyKeys(value));
  const keys = new Set([...entries.map(({ key }) => key), ...read.flatMap((one) => one ?? [])]);
  if (read.includes(undefined) && onCreate.length + onMatch.length > 0) return false;
  return [...onCreate, ...onMatch].every((item) => item.kind === "setProperty" && !keys.has(item.target.key));
}

/** The keys of all properties that an expression reads; undefined: it may read any. */
function propertyKeys(expression: Expression): readonly string[] | undefined {
  const isPlain = ["literal", "parameter", "variable", "property", "arithmetic", "list"].includes(expression.kind);
  if (!isPlain) return undefined;
  const inner = childExpressions(expression).map(propertyKeys);
  if (inner.includes(undefined)) return undefined;
  const own = expression.kind === "property" ? [expression.key] : [];
  return [...own, ...inner.flatMap((keys) => keys ?? [])];
}
