// A match in the making, and what its steps have in common.
import { hasLabels, passesFilters } from "../plan/filters.ts";
import type { ExpandRequest, NodeFilter } from "../plan/graph-access.ts";
import type { MatchInput, PatternPlan, PlanNode, PlanRelationship } from "../plan/pattern-plan.ts";
import type { CypherValue } from "../values/value.ts";
import type { NodeEntity, RelationshipEntity } from "./entities.ts";
import type { QueryMeter } from "./meter.ts";

/** What matching reads. */
export interface EntityReader {
  scanNodes(filter: NodeFilter): AsyncIterable<readonly NodeEntity[]>;
  nodes(ids: Iterable<string>): Promise<ReadonlyMap<string, NodeEntity>>;
  relationships(ids: Iterable<string>): Promise<ReadonlyMap<string, RelationshipEntity>>;
  expand(request: ExpandRequest): Promise<ReadonlyMap<string, readonly RelationshipEntity[]>>;
}

/** By the numbers of the plan; undefined is not assigned yet. */
export interface PartialMatch {
  readonly input: number;
  readonly nodes: readonly (NodeEntity | undefined)[];
  readonly relationships: readonly (readonly RelationshipEntity[] | undefined)[];
}

/** What all steps of one match share. */
export interface MatchContext {
  readonly reader: EntityReader;
  readonly meter: QueryMeter;
  readonly plan: PatternPlan;
  readonly inputs: readonly MatchInput[];
  /** Input rows that need no more matches, if only the existence of one is asked. */
  readonly answered: Set<number>;
}

export function valuesOf(context: MatchContext, match: PartialMatch): readonly CypherValue[] {
  return inputOf(context, match).values;
}

export function inputOf(context: MatchContext, match: PartialMatch): MatchInput {
  return numbered(context.inputs, match.input);
}

export function numbered<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new Error(`bug: a plan without its part ${index}`);
  return item;
}

export function isNodeMatch(node: NodeEntity, plan: PlanNode, values: readonly CypherValue[]): boolean {
  return !node.isDeleted && hasLabels(node.labels, plan.labels) && passesFilters(node.properties, plan.filters, values);
}

export function isRelationshipMatch(
  relationship: RelationshipEntity,
  plan: PlanRelationship,
  values: readonly CypherValue[],
): boolean {
  if (relationship.isDeleted || (plan.types.length > 0 && !plan.types.includes(relationship.type))) return false;
  return passesFilters(relationship.properties, plan.filters, values);
}

/** No relationship may be twice in a match. */
export function isUsed(match: PartialMatch, relationship: RelationshipEntity, plan: PatternPlan): boolean {
  return match.relationships.some(
    (used, index) => plan.relationships[index]?.shortest === undefined && used?.includes(relationship) === true,
  );
}

export function otherEnd(relationship: RelationshipEntity, node: string): string {
  return relationship.source === node ? relationship.target : relationship.source;
}

/** Seen from the node where the step begins. */
export function directionFrom(plan: PlanRelationship, isReversed: boolean): "out" | "in" | "either" {
  if (!isReversed || plan.direction === "either") return plan.direction;
  return plan.direction === "out" ? "in" : "out";
}

export function assignRelationship(
  match: PartialMatch,
  relationship: number,
  value: readonly RelationshipEntity[],
  nodes: readonly (readonly [number: number, node: NodeEntity])[],
): PartialMatch {
  const assigned = new Map(nodes);
  return {
    input: match.input,
    nodes: match.nodes.map((node, index) => assigned.get(index) ?? node),
    relationships: match.relationships.map((one, index) => (index === relationship ? value : one)),
  };
}
