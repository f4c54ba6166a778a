// The values of Cypher. Integers are bigint and floats are number, so that 1 and 1.0 stay different types and all 64 bits of an
// integer are exact. Maps are Map, because a key may be any text.

export type CypherMap = ReadonlyMap<string, CypherValue>;
export type CypherList = readonly CypherValue[];

/** A node of the graph as the query sees it now: a write of the query changes it in all rows. */
export interface NodeValue {
  readonly kind: "node";
  readonly id: string;
  readonly labels: ReadonlySet<string>;
  readonly properties: CypherMap;
  /** By this query. The node can be returned, but not read. */
  readonly isDeleted: boolean;
}

export interface RelationshipValue {
  readonly kind: "relationship";
  readonly id: string;
  readonly type: string;
  /** Ids of nodes. */
  readonly source: string;
  readonly target: string;
  readonly properties: CypherMap;
  readonly isDeleted: boolean;
}

/** Nodes and relationships in turn, in the order of the path; a relationship may point either way. */
export interface PathValue {
  readonly kind: "path";
  readonly nodes: readonly NodeValue[];
  readonly relationships: readonly RelationshipValue[];
}

export type CypherValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | CypherList
  | CypherMap
  | NodeValue
  | RelationshipValue
  | PathValue;

export type ValueType =
  | "null"
  | "boolean"
  | "integer"
  | "float"
  | "string"
  | "list"
  | "map"
  | "node"
  | "relationship"
  | "path";

export function typeOfValue(value: CypherValue): ValueType {
  if (value === null) return "null";
  switch (typeof value) {
    case "boolean":
      return "boolean";
    case "bigint":
      return "integer";
    case "number":
      return "float";
    case "string":
      return "string";
    default:
      return isList(value) ? "list" : isMap(value) ? "map" : value.kind;
  }
}

export function isList(value: CypherValue): value is CypherList {
  return Array.isArray(value);
}

export function isMap(value: CypherValue): value is CypherMap {
  return value instanceof Map;
}

export function isNumber(value: CypherValue): value is bigint | number {
  return typeof value === "bigint" || typeof value === "number";
}

export function isNode(value: CypherValue): value is NodeValue {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "node";
}

export function isRelationship(value: CypherValue): value is RelationshipValue {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "relationship";
}

export function isPath(value: CypherValue): value is PathValue {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "path";
}

export function isEntity(value: CypherValue): value is NodeValue | RelationshipValue {
  return isNode(value) || isRelationship(value);
}
