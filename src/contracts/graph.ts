// GraphStore of the storage contracts: entities, relationships and their neighbourhoods; Cypher is a capability of its
// own. No backend of this package implements it yet; any object that satisfies it can be handed to open().
import type { Json, JsonObject } from "./json.ts";

export interface Entity {
  readonly id: string;
  readonly label: string;
  readonly properties: JsonObject;
}

export interface Relationship {
  readonly id: string;
  readonly sourceId: string;
  readonly targetId: string;
  readonly type: string;
  readonly properties: JsonObject;
}

export interface SubGraph {
  readonly entities: readonly Entity[];
  readonly relationships: readonly Relationship[];
}

export interface Graph {
  addEntities(entities: readonly Entity[]): Promise<readonly string[]>;
  addRelationships(relationships: readonly Relationship[]): Promise<readonly string[]>;
  getNeighbors(
    entityId: string,
    options?: { readonly depth?: number; readonly relationshipTypes?: readonly string[] },
  ): Promise<SubGraph>;
  deleteEntity(entityId: string): Promise<boolean>;
  deleteRelationship(relationshipId: string): Promise<boolean>;
}

/** Checked at run time before Cypher is used: `"queryCypher" in graph`. */
export interface CypherCapable {
  queryCypher(query: string, params?: Readonly<Record<string, Json>>): Promise<readonly JsonObject[]>;
}
