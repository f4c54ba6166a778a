// Where the items of a kind come from, and how the store keeps which of them are in segments.
import type { Write } from "../../contracts/storage/commit.ts";
import type { TextLanguage } from "../text/stem.ts";
import type { PendingUnit } from "./pending.ts";
import type { IndexKind } from "./reader.ts";
import type { IndexState, SegmentRecord } from "./state.ts";
import type { IndexItem } from "./units.ts";

/** An item and where it is in the order in which items are put into segments. */
export interface SourceItem {
  readonly position: number;
  readonly group: number;
  readonly number: number;
  /** null: it cannot be read, and has no units. */
  readonly item: IndexItem | null;
}

export interface IndexSource {
  readonly kind: IndexKind;
  /** How many items are in no segment, counted up to `most`. */
  countPending(state: IndexState, most: number): Promise<number>;
  /** The units of all items that are in no segment. `before` is what was pending in an earlier state, if it is known. */
  readPending(state: IndexState, cache: PendingCache, before: PendingUnits | null): Promise<PendingUnits>;
  /** Prepares the state for readTail(): null if that is not possible now. */
  settle(state: IndexState): Promise<IndexState | null>;
  /** Items behind all segments, in their order. */
  readTail(state: IndexState, language: TextLanguage): AsyncIterable<SourceItem>;
  /** The items of a segment as they are now, also of a dropped one. */
  readSegment(segment: SegmentRecord, language: TextLanguage): AsyncIterable<SourceItem>;
  /** What the commit of a segment with these items writes besides, so that they are pending no longer. */
  coverWrites(segment: number, items: readonly SourceItem[]): readonly Write[];
  /** Adds rows of index_items that are missing, and removes those that no item has. */
  repairWrites(): readonly Write[];
}

/** The units that were pending in a state. */
export interface PendingUnits {
  readonly units: readonly PendingUnit[];
  /** null: more may be pending than the state says. */
  readonly state: IndexState | null;
}

/** Units of pending items by a key that names one content of one item. */
export interface PendingCache {
  readonly language: TextLanguage;
  get(key: string): readonly PendingUnit[] | undefined;
  /** Cuts the item, and keeps the units. */
  add(key: string, item: IndexItem): Promise<readonly PendingUnit[]>;
  /** Forgets all others. */
  keep(keys: ReadonlySet<string>): void;
}
