// Whether a node or relationship passes the labels, types and property filters of a plan, with the exact semantics of Cypher.
import { compareValues } from "../values/compare.ts";
import { equalValues, type Ternary } from "../values/equality.ts";
import { type CypherMap, type CypherValue, isList } from "../values/value.ts";
import type { PropertyFilter } from "./pattern-plan.ts";

export function passesFilters(
  properties: CypherMap,
  filters: readonly PropertyFilter[],
  values: readonly CypherValue[],
): boolean {
  return filters.every(({ key, operator, value }) => {
    const property = properties.get(key) ?? null;
    const other = values[value] ?? null;
    // IN with something else than a list is an error, which WHERE reports.
    if (operator === "IN") return isList(other) ? isInList(property, other) === true : other !== null;
    return compareValues(operator, property, other) === true;
  });
}

export function isInList(value: CypherValue, list: readonly CypherValue[]): Ternary {
  let result: Ternary = false;
  for (const item of list) {
    const equal = equalValues(value, item);
    if (equal === true) return true;
    if (equal === null) result = null;
  }
  return result;
}

export function hasLabels(labels: ReadonlySet<string>, wanted: readonly string[]): boolean {
  return wanted.every((label) => labels.has(label));
}
