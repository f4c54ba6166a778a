// The graph as one query sees it: what the store has, and over it what the query has written so far. Every read goes through it.

import type { ExpandRequest, GraphAccess, NodeFilter, NodeRecord, RelationshipRecord } from "../plan/graph-access.ts";
import type { GraphChanges, MissingMatch } from "../plan/graph-changes.ts";
import { createNodeTest } from "../plan/node-filter.ts";
import type { MatchInput, PatternPlan } from "../plan/pattern-plan.ts";
import type { CypherMap, CypherValue } from "../values/value.ts";
import { type Entity, NodeEntity, RelationshipEntity } from "./entities.ts";
import { type Match, matchStepwise } from "./match-steps.ts";
import type { QueryMeter } from "./meter.ts";
import type { EntityReader } from "./partial-match.ts";

export class QueryGraph implements EntityReader {
  readonly #access: GraphAccess;
  readonly #meter: QueryMeter;
  readonly #newId: () => string;
  readonly #nodes = new Map<string, NodeEntity>();
  readonly #relationships = new Map<string, RelationshipEntity>();
  /** Relationships that the query made, by the ids of both their nodes. */
  readonly #created = new Map<string, RelationshipEntity[]>();
  readonly #missing: MissingMatch[] = [];
  #hasWritten = false;

  constructor(access: GraphAccess, meter: QueryMeter, newId: () => string) {
    this.#access = access;
    this.#meter = meter;
    this.#newId = newId;
  }

  /** All matches of the input rows, in batches. */
  async *match(plan: PatternPlan, inputs: readonly MatchInput[]): AsyncGenerator<readonly Match[]> {
    if (this.#hasWritten || this.#access.match === undefined) {
      yield* matchStepwise(this, this.#meter, plan, inputs);
      return;
    }
    for await (const { matches, nodes, relationships } of this.#access.match(plan, inputs)) {
      for (const record of nodes) this.#adoptNode(record);
      for (const record of relationships) this.#adoptRelationship(record);
      const allNodes = await this.nodes(matches.flatMap((one) => one.nodes));
      const allRelationships = await this.relationships(matches.flatMap((one) => one.relationships.flat()));
      yield matches.map((one) => ({
        input: one.input,
        nodes: one.nodes.map((id) => found(allNodes.get(id), id)),
        relationships: one.relationships.map((ids) => ids.map((id) => found(allRelationships.get(id), id))),
      }));
      await this.#meter.pause();
    }
  }

  async *scanNodes(filter: NodeFilter): AsyncGenerator<readonly NodeEntity[]> {
    for await (const records of this.#access.scanNodes(filter)) {
      // A node that the query changed may pass no longer; it is looked at below.
      yield records.map((record) => this.#adoptNode(record)).filter((node) => !node.isChanged && !node.isDeleted);
    }
    if (!this.#hasWritten) return;
    const isWanted = createNodeTest(filter);
    yield [...this.#nodes.values()].filter((node) => node.isChanged && !node.isDeleted && isWanted(node));
  }

  async nodes(ids: Iterable<string>): Promise<ReadonlyMap<string, NodeEntity>> {
    for (const missing of chunks(ids, (id) => !this.#nodes.has(id))) {
      for (const record of await this.#access.readNodes(missing)) this.#adoptNode(record);
      if (this.#meter.isSliceSpent) await this.#meter.pause();
    }
    return this.#nodes;
  }

  async relationships(ids: Iterable<string>): Promise<ReadonlyMap<string, RelationshipEntity>> {
    for (const missing of chunks(ids, (id) => !this.#relationships.has(id))) {
      for (const record of await this.#access.readRelationships(missing)) this.#adoptRelationship(record);
      if (this.#meter.isSliceSpent) await this.#meter.pause();
    }
    return this.#relationships;
  }

  /** The relationships of each node, by its id; a loop is there once. */
  async expand(request: ExpandRequest): Promise<ReadonlyMap<string, readonly RelationshipEntity[]>> {
    const { nodes, direction, types } = request;
    const found = new Map<string, RelationshipEntity[]>(nodes.map((id) => [id, []]));
    const stored = nodes.filter((id) => this.#nodes.get(id)?.isCreated !== true);
    const add = (id: string, relationship: RelationshipEntity) => found.get(id)?.push(relationship);
    const addEnds = (relationship: RelationshipEntity) => {
      if (relationship.isDeleted) return;
      const { source, target } = relationship;
      if (direction !== "in") add(source, relationship);
      if (direction === "in" || (direction === "either" && source !== target)) add(target, relationship);
    };
    if (stored.length > 0) {
      for await (const records of this.#access.expand({ nodes: stored, direction, types })) {
        for (const record of records) addEnds(this.#adoptRelationship(record));
        if (this.#meter.isSliceSpent) await this.#meter.pause();
      }
    }
    const created = new Set(nodes.flatMap((id) => this.#created.get(id) ?? []));
    for (const relationship of created) {
      if (types.length === 0 || types.includes(relationship.type)) addEnds(relationship);
    }
    return found;
  }

  /** MERGE creates something because there is no such match. What involves nodes of this query cannot be there anyway. */
  addMissingMatch(missing: MissingMatch): void {
    if (missing.input.nodes.some((id) => id !== undefined && this.#nodes.get(id)?.isCreated === true)) return;
    this.#missing.push(missing);
    this.#meter.hold(1 + missing.input.values.length);
  }

  get missingMatches(): readonly MissingMatch[] {
    return this.#missing;
  }

  createNode(labels: Iterable<string>, properties: CypherMap): NodeEntity {
    this.#hasWritten = true;
    const node = new NodeEntity({ id: this.#newId(), labels: new Set(labels), properties }, true);
    this.#nodes.set(node.id, node);
    this.#meter.hold(2 + properties.size);
    return node;
  }

  createRelationship(type: string, source: string, target: string, properties: CypherMap): RelationshipEntity {
    this.#hasWritten = true;
    const relationship = new RelationshipEntity({ id: this.#newId(), type, source, target, properties }, true);
    this.#relationships.set(relationship.id, relationship);
    for (const end of new Set([source, target])) {
      const others = this.#created.get(end);
      if (others === undefined) this.#created.set(end, [relationship]);
      else others.push(relationship);
    }
    this.#meter.hold(2 + properties.size);
    return relationship;
  }

  /** null removes the property. */
  setProperty(entity: Entity, key: string, value: CypherValue): void {
    this.#hasWritten = true;
    const properties = entity.writableProperties();
    if (value === null) properties.delete(key);
    else properties.set(key, value);
    this.#meter.hold(1);
  }

  addLabels(node: NodeEntity, labels: readonly string[]): void {
    this.#hasWritten = true;
    for (const label of labels) node.writableLabels().add(label);
  }

  removeLabels(node: NodeEntity, labels: readonly string[]): void {
    this.#hasWritten = true;
    for (const label of labels) node.writableLabels().delete(label);
  }

  delete(entity: Entity): void {
    this.#hasWritten = true;
    entity.isDeleted = true;
  }

  /** Deleted nodes that still have relationships. */
  async danglingNodes(): Promise<readonly NodeEntity[]> {
    const deleted = [...this.#nodes.values()].filter(({ isDeleted }) => isDeleted);
    if (deleted.length === 0) return [];
    const touching = await this.expand({ nodes: deleted.map(({ id }) => id), direction: "either", types: [] });
    return deleted.filter(({ id }) => (touching.get(id)?.length ?? 0) > 0);
  }

  changes(): GraphChanges {
    const nodes = [...this.#nodes.values()];
    const relationships = [...this.#relationships.values()];
    const isCreated = (one: Entity) => one.isCreated && !one.isDeleted;
    const isUpdated = (one: Entity) => !one.isCreated && !one.isDeleted;
    const isDeleted = (one: Entity) => !one.isCreated && one.isDeleted;
    return {
      createdNodes: nodes.filter(isCreated).map((one) => one.toRecord()),
      createdRelationships: relationships.filter(isCreated).map((one) => one.toRecord()),
      updatedNodes: nodes.filter(isUpdated).flatMap((one) => one.changes() ?? []),
      updatedRelationships: relationships.filter(isUpdated).flatMap((one) => one.changes() ?? []),
      deletedNodes: nodes.filter(isDeleted).map(({ id }) => id),
      deletedRelationships: relationships.filter(isDeleted).map(({ id }) => id),
    };
  }

  #adoptNode(record: NodeRecord): NodeEntity {
    const known = this.#nodes.get(record.id);
    if (known !== undefined) return known;
    const node = new NodeEntity(record, false);
    this.#nodes.set(node.id, node);
    this.#meter.hold(2 + record.properties.size);
    return node;
  }

  #adoptRelationship(record: RelationshipRecord): RelationshipEntity {
    const known = this.#relationships.get(record.id);
    if (known !== undefined) return known;
    const relationship = new RelationshipEntity(record, false);
    this.#relationships.set(relationship.id, relationship);
    this.#meter.hold(2 + record.properties.size);
    return relationship;
  }
}

/** Ids that are read in one request. */
const READ_BATCH = 1000;

/** The wanted ids, each once, in lists of the size of one request. */
function* chunks(ids: Iterable<string>, isWanted: (id: string) => boolean): Generator<readonly string[]> {
  let chunk = new Set<string>();
  for (const id of ids) {
    if (!isWanted(id)) continue;
    chunk.add(id);
    if (chunk.size < READ_BATCH) continue;
    yield [...chunk];
    chunk = new Set();
  }
  if (chunk.size > 0) yield [...chunk];
}

function found<T>(entity: T | undefined, id: string): T {
  if (entity === undefined) throw new Error(`bug: the graph matched ${id} and does not have it`);
  return entity;
}
