// A graph in memory: plain maps with lists of relationships by node. It is the oracle that engines are compared with.
import type { ExpandRequest, GraphAccess, NodeFilter, NodeRecord, RelationshipRecord } from "./plan/graph-access.ts";
import type { GraphChanges, PropertyChanges } from "./plan/graph-changes.ts";
import { createNodeTest } from "./plan/node-filter.ts";
import type { CypherMap, CypherValue } from "./values/value.ts";

const SCAN_BATCH = 512;

export class MemoryGraph implements GraphAccess {
  readonly #nodes = new Map<string, NodeRecord>();
  readonly #relationships = new Map<string, RelationshipRecord>();
  /** Ids of relationships by the ids of their nodes. */
  readonly #outgoing = new Map<string, Set<string>>();
  readonly #incoming = new Map<string, Set<string>>();

  nodes(): readonly NodeRecord[] {
    return [...this.#nodes.values()];
  }

  allRelationships(): readonly RelationshipRecord[] {
    return [...this.#relationships.values()];
  }

  async *scanNodes(filter: NodeFilter): AsyncGenerator<readonly NodeRecord[]> {
    const isWanted = createNodeTest(filter);
    let batch: NodeRecord[] = [];
    for (const node of this.#nodes.values()) {
      if (!isWanted(node)) continue;
      batch.push(node);
      if (batch.length < SCAN_BATCH) continue;
      yield batch;
      batch = [];
    }
    yield batch;
  }

  readNodes(ids: readonly string[]): Promise<readonly NodeRecord[]> {
    return Promise.resolve(ids.flatMap((id) => this.#nodes.get(id) ?? []));
  }

  readRelationships(ids: readonly string[]): Promise<readonly RelationshipRecord[]> {
    return Promise.resolve(ids.flatMap((id) => this.#relationships.get(id) ?? []));
  }

  async *expand({ nodes, direction, types }: ExpandRequest): AsyncGenerator<readonly RelationshipRecord[]> {
    const seen = new Set<string>();
    let batch: RelationshipRecord[] = [];
    for (const node of nodes) {
      const outgoing = direction === "in" ? [] : (this.#outgoing.get(node) ?? []);
      const incoming = direction === "out" ? [] : (this.#incoming.get(node) ?? []);
      for (const ids of [outgoing, incoming]) {
        for (const id of ids) {
          const relationship = this.#relationships.get(id);
          if (relationship === undefined || seen.has(id)) continue;
          seen.add(id);
          if (types.length > 0 && !types.includes(relationship.type)) continue;
          batch.push(relationship);
          if (batch.length < SCAN_BATCH) continue;
          yield batch;
          batch = [];
        }
      }
    }
    yield batch;
  }

  /** Applies the writes of a query. */
  apply(changes: GraphChanges): void {
    for (const id of changes.deletedRelationships) this.#removeRelationship(id);
    for (const id of changes.deletedNodes) this.#nodes.delete(id);
    for (const node of changes.createdNodes) this.#nodes.set(node.id, node);
    for (const relationship of changes.createdRelationships) this.#addRelationship(relationship);
    for (const change of changes.updatedNodes) {
      const node = this.#nodes.get(change.id);
      if (node === undefined) continue;
      const labels = new Set([...node.labels, ...change.addedLabels]);
      for (const label of change.removedLabels) labels.delete(label);
      this.#nodes.set(node.id, { ...node, labels, properties: changeProperties(node.properties, change) });
    }
    for (const change of changes.updatedRelationships) {
      const old = this.#relationships.get(change.id);
      if (old === undefined) continue;
      this.#relationships.set(old.id, { ...old, properties: changeProperties(old.properties, change) });
    }
  }

  #addRelationship(relationship: RelationshipRecord): void {
    this.#relationships.set(relationship.id, relationship);
    addTo(this.#outgoing, relationship.source, relationship.id);
    addTo(this.#incoming, relationship.target, relationship.id);
  }

  #removeRelationship(id: string): void {
    const relationship = this.#relationships.get(id);
    if (relationship === undefined) return;
    this.#relationships.delete(id);
    this.#outgoing.get(relationship.source)?.delete(id);
    this.#incoming.get(relationship.target)?.delete(id);
  }
}

function addTo(index: Map<string, Set<string>>, key: string, id: string): void {
  const ids = index.get(key);
  if (ids === undefined) index.set(key, new Set([id]));
  else ids.add(id);
}

function changeProperties(properties: CypherMap, { set, removed }: PropertyChanges): CypherMap {
  const changed = new Map<string, CypherValue>([...properties, ...set]);
  for (const key of removed) changed.delete(key);
  return changed;
}
