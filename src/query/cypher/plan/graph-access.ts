// What the executor needs of a graph. The rows of a query are matched in batches: an engine is asked once for many of them. A
// graph only reads; the writes of a query are collected as data (graph-changes.ts), for one commit.
import type { CypherMap, CypherValue } from "../values/value.ts";
import type { MatchInput, PatternPlan, PropertyFilter } from "./pattern-plan.ts";

export interface NodeRecord {
  readonly id: string;
  readonly labels: ReadonlySet<string>;
  readonly properties: CypherMap;
}

export interface RelationshipRecord {
  readonly id: string;
  readonly type: string;
  /** Ids of nodes. */
  readonly source: string;
  readonly target: string;
  readonly properties: CypherMap;
}

/** Nodes that have all labels, and pass all filters with the values of at least one of the rows. */
export interface NodeFilter {
  readonly labels: readonly string[];
  readonly filters: readonly PropertyFilter[];
  /** Of each row, what the filters compare with. */
  readonly values: readonly (readonly CypherValue[])[];
}

/** The relationships that leave, enter or touch these nodes; no types: all of them. */
export interface ExpandRequest {
  readonly nodes: readonly string[];
  readonly direction: "out" | "in" | "either";
  readonly types: readonly string[];
}

/** A match of one input row: ids by the numbers of the plan. A relationship of a variable length has any number of ids. */
interface MatchedIds {
  /** The index of the input row. */
  readonly input: number;
  readonly nodes: readonly string[];
  readonly relationships: readonly (readonly string[])[];
}

/** One batch of matches, with the records that came with them, so that they need not be read again. */
export interface MatchBatch {
  readonly matches: readonly MatchedIds[];
  readonly nodes: readonly NodeRecord[];
  readonly relationships: readonly RelationshipRecord[];
}

/** Promise: all calls of one query see the same state of the graph. */
export interface GraphAccess {
  /** In batches; each node once. */
  scanNodes(filter: NodeFilter): AsyncIterable<readonly NodeRecord[]>;
  /** Ids without a node are left out. */
  readNodes(ids: readonly string[]): Promise<readonly NodeRecord[]>;
  readRelationships(ids: readonly string[]): Promise<readonly RelationshipRecord[]>;
  /** In batches; each relationship once. */
  expand(request: ExpandRequest): AsyncIterable<readonly RelationshipRecord[]>;
  /**
   * All matches of all input rows, for an engine that compiles plans. Without it, and once the query has written, the
   * executor matches step by step with the other methods.
   */
  match?(plan: PatternPlan, inputs: readonly MatchInput[]): AsyncIterable<MatchBatch>;
}
