// Nodes and relationships as one query sees them: one object each, however often it is read, so that a write is seen through
// every row. The state before the first write is kept, and at the end the difference is what changed.
import type { NodeRecord, RelationshipRecord } from "../plan/graph-access.ts";
import type { NodeChanges, PropertyChanges } from "../plan/graph-changes.ts";
import { equalValues } from "../values/equality.ts";
import {
  type CypherMap,
  type CypherValue,
  isList,
  type NodeValue,
  type RelationshipValue,
  typeOfValue,
} from "../values/value.ts";

export class NodeEntity implements NodeValue {
  readonly kind = "node";
  readonly id: string;
  readonly isCreated: boolean;
  isDeleted = false;
  #labels: Set<string> | undefined;
  #properties: Map<string, CypherValue> | undefined;
  /** As it was read; what is written is a copy. */
  readonly #record: NodeRecord;

  constructor(record: NodeRecord, isCreated: boolean) {
    this.id = record.id;
    this.#record = record;
    this.isCreated = isCreated;
  }

  get labels(): ReadonlySet<string> {
    return this.#labels ?? this.#record.labels;
  }

  get properties(): CypherMap {
    return this.#properties ?? this.#record.properties;
  }

  writableLabels(): Set<string> {
    this.#labels ??= new Set(this.#record.labels);
    return this.#labels;
  }

  writableProperties(): Map<string, CypherValue> {
    this.#properties ??= new Map(this.#record.properties);
    return this.#properties;
  }

  get isChanged(): boolean {
    return this.isCreated || this.#labels !== undefined || this.#properties !== undefined;
  }

  toRecord(): NodeRecord {
    return { id: this.id, labels: new Set(this.labels), properties: new Map(this.properties) };
  }

  changes(): NodeChanges | undefined {
    const before = this.#record;
    const addedLabels = [...this.labels].filter((label) => !before.labels.has(label));
    const removedLabels = [...before.labels].filter((label) => !this.labels.has(label));
    const { set, removed } = comparePropertyMaps(before.properties, this.properties);
    if (addedLabels.length + removedLabels.length + set.size + removed.length === 0) return undefined;
    return { id: this.id, addedLabels, removedLabels, set, removed };
  }
}

export class RelationshipEntity implements RelationshipValue {
  readonly kind = "relationship";
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly target: string;
  readonly isCreated: boolean;
  isDeleted = false;
  #properties: Map<string, CypherValue> | undefined;
  readonly #before: CypherMap;

  constructor(record: RelationshipRecord, isCreated: boolean) {
    this.id = record.id;
    this.type = record.type;
    this.source = record.source;
    this.target = record.target;
    this.#before = record.properties;
    this.isCreated = isCreated;
  }

  get properties(): CypherMap {
    return this.#properties ?? this.#before;
  }

  writableProperties(): Map<string, CypherValue> {
    this.#properties ??= new Map(this.#before);
    return this.#properties;
  }

  toRecord(): RelationshipRecord {
    const { id, type, source, target } = this;
    return { id, type, source, target, properties: new Map(this.properties) };
  }

  changes(): PropertyChanges | undefined {
    const { set, removed } = comparePropertyMaps(this.#before, this.properties);
    return set.size + removed.length === 0 ? undefined : { id: this.id, set, removed };
  }
}

export type Entity = NodeEntity | RelationshipEntity;

function comparePropertyMaps(
  before: CypherMap,
  after: CypherMap,
): { readonly set: ReadonlyMap<string, CypherValue>; readonly removed: readonly string[] } {
  if (before === after) return { set: new Map(), removed: [] };
  const set = new Map<string, CypherValue>();
  for (const [key, value] of after) {
    const old = before.get(key);
    if (old === undefined || !isSameProperty(old, value)) set.set(key, value);
  }
  return { set, removed: [...before.keys()].filter((key) => !after.has(key)) };
}

/** 1 and 1.0 are equal, but not the same property. */
function isSameProperty(left: CypherValue, right: CypherValue): boolean {
  if (typeOfValue(left) !== typeOfValue(right)) return false;
  if (typeof left === "number") return Object.is(left, right);
  if (isList(left) && isList(right)) {
    return left.length === right.length && left.every((one, index) => isSameProperty(one, right[index] ?? null));
  }
  return equalValues(left, right) === true;
}
