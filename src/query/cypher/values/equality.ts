// Equality with three outcomes: true, false, or null if a null decides. Also the keys by which DISTINCT and grouping compare,
// where null equals null.
import {
  type CypherList,
  type CypherMap,
  type CypherValue,
  isList,
  isMap,
  isNode,
  isNumber,
  isPath,
  isRelationship,
} from "./value.ts";

export type Ternary = boolean | null;

export function equalValues(left: CypherValue, right: CypherValue): Ternary {
  if (left === null || right === null) return null;
  if (isNumber(left)) return isNumber(right) && equalNumbers(left, right);
  if (typeof left !== "object") return left === right;
  if (isList(left)) return isList(right) ? equalLists(left, right) : false;
  if (isMap(left)) return isMap(right) ? equalMaps(left, right) : false;
  if (isNode(left)) return isNode(right) && left.id === right.id;
  if (isRelationship(left)) return isRelationship(right) && left.id === right.id;
  return isPath(right) && valueKey(left) === valueKey(right);
}

/** Comparisons of a bigint with a number are exact in JavaScript. */
function equalNumbers(left: bigint | number, right: bigint | number): boolean {
  return left <= right && left >= right;
}

function equalLists(left: CypherList, right: CypherList): Ternary {
  if (left.length !== right.length) return false;
  let result: Ternary = true;
  for (const [index, one] of left.entries()) {
    const equal = equalValues(one, right[index] ?? null);
    if (equal === false) return false;
    if (equal === null) result = null;
  }
  return result;
}

function equalMaps(left: CypherMap, right: CypherMap): Ternary {
  if (left.size !== right.size) return false;
  for (const key of left.keys()) if (!right.has(key)) return false;
  let result: Ternary = true;
  for (const [key, one] of left) {
    const equal = equalValues(one, right.get(key) ?? null);
    if (equal === false) return false;
    if (equal === null) result = null;
  }
  return result;
}

/** Values have the same key if DISTINCT and grouping see no difference: null equals null, NaN equals NaN, 1 equals 1.0. */
export function valueKey(value: CypherValue): string {
  if (value === null) return "_";
  switch (typeof value) {
    case "boolean":
      return value ? "T" : "F";
    case "bigint":
      return `#${value}`;
    case "number":
      return Number.isInteger(value) ? `#${BigInt(value)}` : `#${value}`;
    case "string":
      return `s${value.length}:${value}`;
  }
  if (isList(value)) return `[${value.map(valueKey).join(",")}]`;
  if (isMap(value)) {
    const entries = [...value].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, one]) => `${valueKey(key)}=${valueKey(one)}`).join(",")}}`;
  }
  if (isNode(value)) return `n${valueKey(value.id)}`;
  if (isRelationship(value)) return `r${valueKey(value.id)}`;
  return `p${value.nodes.map(valueKey).join("")}${value.relationships.map(valueKey).join("")}`;
}

export function rowKey(values: readonly CypherValue[]): string {
  return values.map(valueKey).join(";");
}
