// Tests nodes against a filter with the values of many rows: nodes whose property no row asks for are told apart by one lookup.
import { valueKey } from "../values/equality.ts";
import type { CypherMap } from "../values/value.ts";
import { hasLabels, passesFilters } from "./filters.ts";
import type { NodeFilter } from "./graph-access.ts";
import type { PropertyFilter } from "./pattern-plan.ts";

export type NodeTest = (node: { readonly labels: ReadonlySet<string>; readonly properties: CypherMap }) => boolean;

export function createNodeTest({ labels, filters, values }: NodeFilter): NodeTest {
  const equal = equalityOf(filters);
  if (equal === undefined) {
    return (node) =>
      hasLabels(node.labels, labels) &&
      (filters.length === 0 || values.some((one) => passesFilters(node.properties, filters, one)));
  }
  const byKey = Map.groupBy(values, (one) => valueKey(one[equal.value] ?? null));
  return (node) => {
    if (!hasLabels(node.labels, labels)) return false;
    const rows = byKey.get(valueKey(node.properties.get(equal.key) ?? null)) ?? [];
    return rows.some((one) => passesFilters(node.properties, filters, one));
  };
}

/** The filter by which nodes and rows are looked up: equal values have the same key. */
export function equalityOf(filters: readonly PropertyFilter[]): PropertyFilter | undefined {
  return filters.find(({ operator }) => operator === "=");
}
