// Turns the patterns of a MATCH into a plan: numbers its nodes and relationships, and says which expressions give the values that the
// plan compares with.

import type { PatternPlan, PlanNode, PlanRelationship, PropertyFilter } from "../plan/pattern-plan.ts";
import type { Expression, NodePattern, PathPattern, RelationshipPattern } from "../syntax/ast.ts";
import { someExpression } from "../syntax/walk.ts";
import { findPushedFilters, type PushedFilter } from "./pushed-filters.ts";
import { hiddenName, type SlotScope } from "./row.ts";

/** A plan with what is needed to make its input rows and to read its matches. */
export interface CompiledPattern {
  /** Where the patterns begin in the query. */
  readonly at: number;
  readonly plan: PatternPlan;
  /** The expressions whose values the filters name by number. */
  readonly values: readonly Expression[];
  /** Slots of bound nodes and relationships, by the numbers of the plan. */
  readonly boundNodes: readonly (number | undefined)[];
  readonly boundRelationships: readonly (number | undefined)[];
  /** Variables of the plan by name, bound ones too. */
  readonly nodeNames: ReadonlyMap<string, number>;
  readonly relationshipNames: ReadonlyMap<string, number>;
  readonly paths: readonly PatternPath[];
  /** Conditions on properties that name variables of the same patterns: they are tested when all is matched. */
  readonly residual: readonly Expression[];
}

export interface PatternPath {
  readonly variable: string;
  /** Numbers of the plan. */
  readonly nodes: readonly number[];
  readonly relationships: readonly number[];
}

interface NodeDraft {
  readonly slot: number | undefined;
  id: number | undefined;
  readonly labels: Set<string>;
  readonly filters: PropertyFilter[];
}

class PatternDraft {
  readonly scope: SlotScope;
  readonly nodes: NodeDraft[] = [];
  readonly relationships: PlanRelationship[] = [];
  readonly relationshipSlots: (number | undefined)[] = [];
  readonly values: Expression[] = [];
  readonly nodeNames = new Map<string, number>();
  readonly relationshipNames = new Map<string, number>();
  readonly paths: PatternPath[] = [];
  readonly residual: Expression[] = [];

  constructor(scope: SlotScope) {
    this.scope = scope;
  }

  addPath(pattern: PathPattern, pushed: readonly PushedFilter[]): void {
    const nodes = pattern.nodes.map((node) => this.#addNode(node, pushed));
    const relationships = pattern.relationships.map((relationship, index) => {
      const [from = 0, to = 0] = [nodes[index], nodes[index + 1]];
      return this.#addRelationship(relationship, from, to, pattern.shortest, pushed);
    });
    if (pattern.variable !== undefined) this.paths.push({ variable: pattern.variable, nodes, relationships });
  }

  #addNode({ variable, labels, properties }: NodePattern, pushed: readonly PushedFilter[]): number {
    const name = variable ?? hiddenName(`node ${this.nodes.length}`);
    const known = this.nodeNames.get(name);
    const number = known ?? this.nodes.length;
    const draft = this.nodes[number] ?? {
      slot: this.scope.slots.get(name),
      id: undefined,
      labels: new Set(),
      filters: [],
    };
    if (known === undefined) {
      this.nodes.push(draft);
      this.nodeNames.set(name, number);
      for (const filter of pushed.filter((one) => one.variable === name)) {
        if (filter.kind === "labels") for (const label of filter.labels) draft.labels.add(label);
        else if (filter.kind === "id") draft.id = this.values.push(filter.value) - 1;
        else draft.filters.push(this.#pushedFilter(filter));
      }
    }
    for (const label of labels) draft.labels.add(label);
    draft.filters.push(...this.#propertyFilters(properties, name));
    return number;
  }

  #addRelationship(
    { variable, types, properties, direction, length }: RelationshipPattern,
    from: number,
    to: number,
    shortest: PathPattern["shortest"],
    pushed: readonly PushedFilter[],
  ): number {
    const number = this.relationships.length;
    const name = variable ?? hiddenName(`relationship ${number}`);
    const slot = this.scope.slots.get(name);
    this.relationshipNames.set(name, number);
    this.relationshipSlots.push(slot);
    const filters = this.#propertyFilters(properties, name);
    const comparisons = pushed.filter((one) => one.variable === name && length === undefined);
    for (const filter of comparisons) if (filter.kind === "compare") filters.push(this.#pushedFilter(filter));
    this.relationships.push({
      isBound: slot !== undefined,
      from,
      to,
      direction: direction === "both" ? "either" : direction,
      types,
      filters,
      length: length === undefined ? undefined : { min: length.min ?? 1, max: length.max },
      shortest,
    });
    return number;
  }

  #pushedFilter({ key, operator, value }: Extract<PushedFilter, { kind: "compare" }>): PropertyFilter {
    return { key, operator, value: this.values.push(value) - 1, isRequired: false };
  }

  #propertyFilters(properties: NodePattern["properties"], name: string): PropertyFilter[] {
    if (properties?.kind !== "map") return [];
    const filters: PropertyFilter[] = [];
    for (const { key, value } of properties.entries) {
      const isKnown = !someExpression(value, (one) => one.kind === "variable" && !this.scope.slots.has(one.name));
      if (isKnown || hasOwnVariables(value)) {
        filters.push({ key, operator: "=", value: this.values.push(value) - 1, isRequired: true });
        continue;
      }
      const { at, end } = value;
      const object: Expression = { kind: "variable", name, at, end };
      const first: Expression = { kind: "property", object, key, at, end };
      this.residual.push({ kind: "comparison", first, rest: [{ operator: "=", operand: value }], at, end });
    }
    return filters;
  }

  finish(at: number, isExistence: boolean): CompiledPattern {
    const nodes = this.nodes.map(
      ({ slot, id, labels, filters }): PlanNode => ({ isBound: slot !== undefined, labels: [...labels], filters, id }),
    );
    return {
      at,
      plan: { nodes, relationships: this.relationships, isExistence },
      values: this.values,
      boundNodes: this.nodes.map(({ slot }) => slot),
      boundRelationships: this.relationshipSlots,
      nodeNames: this.nodeNames,
      relationshipNames: this.relationshipNames,
      paths: this.paths,
      residual: this.residual,
    };
  }
}

/** Comprehensions have variables that the scope does not have. */
function hasOwnVariables(value: Expression): boolean {
  const loops = ["listComprehension", "quantifier", "reduce", "patternComprehension"];
  return someExpression(value, ({ kind }) => loops.includes(kind));
}

export function compilePattern(
  patterns: readonly PathPattern[],
  where: Expression | undefined,
  scope: SlotScope,
  isExistence = false,
): CompiledPattern {
  const draft = new PatternDraft(scope);
  const pushed = where === undefined ? [] : findPushedFilters(where, (name) => scope.slots.has(name));
  for (const pattern of patterns) draft.addPath(pattern, pushed);
  // What is tested after the match may refuse the one match that an engine gives.
  return draft.finish(patterns[0]?.at ?? 0, isExistence && where === undefined && draft.residual.length === 0);
}
