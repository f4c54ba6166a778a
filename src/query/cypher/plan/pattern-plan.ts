// The patterns of one MATCH as plain data: what an engine needs to find all matches for many input rows at once, in memory or as
// SQL. Variables are gone: nodes and relationships are numbered, and the rows say which of them are bound.
import type { ComparisonOperator } from "../syntax/ast.ts";
import type { CypherValue } from "../values/value.ts";

/**
 * The property must compare so with a value of the input row: its `value`th. A filter that is not `isRequired` comes from WHERE,
 * which is evaluated again for every match: an engine may leave it out, or let more pass.
 */
export interface PropertyFilter {
  readonly key: string;
  readonly operator: Exclude<ComparisonOperator, "<>"> | "IN";
  readonly value: number;
  readonly isRequired: boolean;
}

export interface PlanNode {
  /** Every input row has the id of this node. */
  readonly isBound: boolean;
  /** It must have all of them. */
  readonly labels: readonly string[];
  readonly filters: readonly PropertyFilter[];
  /**
   * Its id is this value of the input row, or in this list: the number of the value. From WHERE, like filters that are
   * not required.
   */
  readonly id: number | undefined;
}

/** A bound relationship of a variable length is bound to a list of ids, in the order of the pattern. */
export interface PlanRelationship {
  readonly isBound: boolean;
  /** Numbers of nodes, as written from left to right. */
  readonly from: number;
  readonly to: number;
  /** `out`: it points from `from` to `to`. */
  readonly direction: "out" | "in" | "either";
  /** One of them; none: any type. */
  readonly types: readonly string[];
  /** Of a variable length: of every relationship on the way. */
  readonly filters: readonly PropertyFilter[];
  /** undefined: exactly one relationship. Without an upper bound `max` is undefined. */
  readonly length: { readonly min: number; readonly max: number | undefined } | undefined;
  /** One shortest path between each pair of nodes, or all of them. */
  readonly shortest: "one" | "all" | undefined;
}

/** A match assigns all nodes and relationships; no relationship is in it twice, except on shortest paths. */
export interface PatternPlan {
  readonly nodes: readonly PlanNode[];
  readonly relationships: readonly PlanRelationship[];
  /** One match of each input row is enough, whichever it is: only whether there is one is asked. */
  readonly isExistence: boolean;
}

export interface MatchInput {
  /** By the numbers of the plan; of nodes that are not bound, undefined. */
  readonly nodes: readonly (string | undefined)[];
  readonly relationships: readonly (readonly string[] | undefined)[];
  /** What the filters compare with. */
  readonly values: readonly CypherValue[];
}
