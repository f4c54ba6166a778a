// All writes of a query as data: the net change of the graph, for one commit. What was made and deleted in the same query is not in it.
import type { CypherValue } from "../values/value.ts";
import type { NodeRecord, RelationshipRecord } from "./graph-access.ts";
import type { MatchInput, PatternPlan } from "./pattern-plan.ts";

export interface PropertyChanges {
  readonly id: string;
  /** New and changed ones. */
  readonly set: ReadonlyMap<string, CypherValue>;
  readonly removed: readonly string[];
}

export interface NodeChanges extends PropertyChanges {
  readonly addedLabels: readonly string[];
  readonly removedLabels: readonly string[];
}

/** MERGE created something because this input row had no match; the commit holds only if that is still so. */
export interface MissingMatch {
  readonly plan: PatternPlan;
  readonly input: MatchInput;
}

export interface GraphChanges {
  readonly createdNodes: readonly NodeRecord[];
  readonly createdRelationships: readonly RelationshipRecord[];
  readonly updatedNodes: readonly NodeChanges[];
  readonly updatedRelationships: readonly PropertyChanges[];
  readonly deletedNodes: readonly string[];
  readonly deletedRelationships: readonly string[];
}
