// The two orders of Cypher: comparison with < and >, which is null between types, and the order of ORDER BY, min and max,
// which puts any two values in an order.
import type { ComparisonOperator } from "../syntax/ast.ts";
import { equalValues, type Ternary } from "./equality.ts";
import {
  type CypherList,
  type CypherMap,
  type CypherValue,
  isList,
  isMap,
  isNumber,
  isPath,
  typeOfValue,
  type ValueType,
} from "./value.ts";

export function compareValues(operator: ComparisonOperator, left: CypherValue, right: CypherValue): Ternary {
  if (operator === "=") return equalValues(left, right);
  if (operator === "<>") return negate(equalValues(left, right));
  if (isNumber(left) && isNumber(right)) return compareNumbers(operator, left, right);
  const order = partialOrder(left, right);
  return order === null ? null : holds(operator, order);
}

export function negate(value: Ternary): Ternary {
  return value === null ? null : !value;
}

/** With NaN every comparison is false. */
function compareNumbers(operator: ComparisonOperator, left: bigint | number, right: bigint | number): boolean {
  switch (operator) {
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    case ">":
      return left > right;
    default:
      return left >= right;
  }
}

function holds(operator: ComparisonOperator, order: number): boolean {
  switch (operator) {
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    default:
      return order >= 0;
  }
}

/** null: the values cannot be compared. */
function partialOrder(left: CypherValue, right: CypherValue): number | null {
  if (isNumber(left) && isNumber(right)) {
    if (Number.isNaN(left) || Number.isNaN(right)) return null;
    return left < right ? -1 : left > right ? 1 : 0;
  }
  if (typeof left === "string" && typeof right === "string") return compareTexts(left, right);
  if (typeof left === "boolean" && typeof right === "boolean") return Number(left) - Number(right);
  if (isList(left) && isList(right)) {
    for (const [index, one] of left.entries()) {
      const other = right[index];
      if (other === undefined) return 1;
      const order = partialOrder(one, other);
      if (order !== 0) return order;
    }
    return left.length - right.length;
  }
  return null;
}

/** By code points, as both databases compare text; JavaScript's < compares UTF-16 units, which differs beyond U+FFFF. */
function compareTexts(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a === b) continue;
    const isSurrogateA = a >= 0xd800 && a <= 0xdfff;
    const isSurrogateB = b >= 0xd800 && b <= 0xdfff;
    if (isSurrogateA !== isSurrogateB) return isSurrogateA ? 1 : -1;
    return a - b;
  }
  return left.length - right.length;
}

/** Ascending. */
const TYPE_RANKS: Readonly<Record<ValueType, number>> = {
  map: 0,
  node: 1,
  relationship: 2,
  list: 3,
  path: 4,
  string: 5,
  boolean: 6,
  integer: 7,
  float: 7,
  null: 8,
};

/** Negative if `left` is first in ascending order. */
export function orderValues(left: CypherValue, right: CypherValue): number {
  const leftType = typeOfValue(left);
  const rightType = typeOfValue(right);
  const ranks = TYPE_RANKS[leftType] - TYPE_RANKS[rightType];
  if (ranks !== 0 || left === null || right === null) return ranks;
  if (isNumber(left) && isNumber(right)) return orderNumbers(left, right);
  if (typeof left === "string" && typeof right === "string") return compareTexts(left, right);
  if (typeof left === "boolean" && typeof right === "boolean") return Number(left) - Number(right);
  if (isList(left) && isList(right)) return orderLists(left, right);
  if (isMap(left) && isMap(right)) return orderMaps(left, right);
  if (isPath(left) && isPath(right)) return orderLists(pathElements(left), pathElements(right));
  if (typeof left === "object" && "id" in left && typeof right === "object" && "id" in right) {
    return compareTexts(String(left.id), String(right.id));
  }
  return 0;
}

/** NaN is the greatest number. */
function orderNumbers(left: bigint | number, right: bigint | number): number {
  if (Number.isNaN(left) || Number.isNaN(right)) return Number(Number.isNaN(left)) - Number(Number.isNaN(right));
  return left < right ? -1 : left > right ? 1 : 0;
}

function orderLists(left: CypherList, right: CypherList): number {
  for (const [index, one] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const order = orderValues(one, other);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function pathElements(path: Extract<CypherValue, { kind: "path" }>): CypherList {
  return path.nodes.flatMap((node, index) => {
    const relationship = path.relationships[index];
    return relationship === undefined ? [node] : [node, relationship];
  });
}

function orderMaps(left: CypherMap, right: CypherMap): number {
  const entries = (map: CypherMap) => [...map].toSorted(([a], [b]) => compareTexts(a, b)).flat();
  return left.size - right.size || orderLists(entries(left), entries(right));
}
