// Memories and documents as items of the index. A row of index_items for each says its segment; it is written in the commit of the item
// itself, without a segment: the item is pending, and found at once.
import type { Write } from "../../contracts/storage/commit.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import type { TextLanguage } from "../text/stem.ts";
import type { PendingUnit } from "./pending.ts";
import type { IndexKind } from "./reader.ts";
import type { IndexSource, PendingCache, SourceItem } from "./source.ts";
import { StaleSnapshot } from "./stale.ts";
import type { IndexState, SegmentRecord } from "./state.ts";
import { damagedIndex, readState } from "./structure.ts";
import type { IndexItem } from "./units.ts";

/** An item by its group and its number in it. */
export interface ItemRef {
  readonly group: number;
  readonly item: number;
}

/** Reads items as they are stored now, in any order; one that is not there is left out. */
export type ReadItems = (items: readonly ItemRef[], language: TextLanguage) => Promise<readonly IndexItem[]>;

const ITEMS_PER_READ = 250;

export class StoredItemSource implements IndexSource {
  readonly kind: Exclude<IndexKind, "messages">;
  readonly #storage: Storage;
  readonly #readItems: ReadItems;
  /** The last epoch in which every item had a segment that exists. */
  #placedEpoch = -1;

  constructor(storage: Storage, kind: Exclude<IndexKind, "messages">, readItems: ReadItems) {
    this.kind = kind;
    this.#storage = storage;
    this.#readItems = readItems;
  }

  async countPending(_: IndexState, most: number): Promise<number> {
    let count = 0;
    for await (const page of this.#pages(null)) {
      count += page.length;
      if (count >= most) return most;
    }
    return count;
  }

  /** An item may have been changed under its number: it is cut again if its text is another one. */
  async readPending(state: IndexState, cache: PendingCache): Promise<readonly PendingUnit[]> {
    await this.#requirePlaced(state);
    const units: PendingUnit[] = [];
    const kept = new Set<string>();
    for await (const page of this.#pages(null)) {
      for (const item of await this.#readItems(page, cache.language)) {
        const key = JSON.stringify([item.group, item.item, item.at, item.flags, item.fields, item.text]);
        kept.add(key);
        for (const unit of cache.get(key) ?? (await cache.add(key, item))) units.push(unit);
      }
    }
    cache.keep(kept);
    return units;
  }

  /** Items of a segment that is missing would be neither in a segment nor pending. */
  async #requirePlaced({ kind, epoch, segments }: IndexState): Promise<void> {
    if (this.#placedEpoch === epoch) return;
    const known = new Set(segments.map(({ segment }) => segment));
    const named = await this.#storage.query("index.segmentsOfItems", { kind });
    const missing = named.find(({ segment }) => !known.has(segment));
    if (missing !== undefined) {
      if ((await readState(this.#storage, kind)).epoch !== epoch) throw new StaleSnapshot();
      throw damagedIndex(kind, `segment ${missing.segment} is missing`);
    }
    this.#placedEpoch = epoch;
  }

  async settle(state: IndexState): Promise<IndexState> {
    return state;
  }

  readTail(_: IndexState, language: TextLanguage): AsyncIterable<SourceItem> {
    return this.#read(null, language);
  }

  readSegment({ segment }: SegmentRecord, language: TextLanguage): AsyncIterable<SourceItem> {
    return this.#read(segment, language);
  }

  async *#read(segment: number | null, language: TextLanguage): AsyncGenerator<SourceItem, void, void> {
    for await (const page of this.#pages(segment)) {
      const items = await this.#readItems(page, language);
      const found = new Map(items.map((item) => [nameOf(item), item]));
      for (const { group, item: number } of page) {
        const item = found.get(nameOf({ group, item: number })) ?? null;
        yield { position: 0, group, number, item };
      }
    }
  }

  /** The items of a segment; null: those of none. */
  async *#pages(segment: number | null): AsyncGenerator<readonly ItemRef[], void, void> {
    const { kind } = this;
    let last: ItemRef = { group: -1, item: -1 };
    for (;;) {
      const range = { kind, afterGroup: last.group, afterItem: last.item, limit: ITEMS_PER_READ };
      const rows =
        segment === null
          ? await this.#storage.query("index.pendingItems", range)
          : await this.#storage.query("index.items", { ...range, segment });
      const page = rows.map(({ group_no, item }) => ({ group: group_no, item }));
      if (page.length > 0) yield page;
      if (page.length < ITEMS_PER_READ) return;
      last = page.at(-1) ?? last;
    }
  }

  coverWrites(segment: number, items: readonly SourceItem[]): readonly Write[] {
    return items.map(
      ({ group, number }): Write => ({
        op: "put",
        table: "index_items",
        row: { kind: this.kind, group_no: group, item: number, segment },
      }),
    );
  }

  repairWrites(): readonly Write[] {
    return REPAIRS[this.kind].map((statement) => ({ op: "run", statement, params: {} }));
  }
}

/** Statements that make the rows of a kind those of its items. */
const REPAIRS = { memories: ["index.removeStrayMemories", "index.addMissingMemories"], documents: [] } as const;

function nameOf({ group, item }: ItemRef): string {
  return `${group}/${item}`;
}

/** For the commit that writes a new item: it is found from then on. */
export function addItemWrite(kind: Exclude<IndexKind, "messages">, { group, item }: ItemRef): Write {
  return { op: "put", table: "index_items", row: { kind, group_no: group, item, segment: null } };
}

/**
 * For the commit that changes or removes an item: its words leave the bytes of the index. The other items of its segment are pending
 * until the segment is made again; the item itself too, if it is changed.
 */
export function changeItemWrites(
  kind: Exclude<IndexKind, "messages">,
  { group, item }: ItemRef,
  change: "changed" | "removed",
): readonly Write[] {
  const params = { kind, group, item };
  return [
    { op: "run", statement: "index.bump", params: { kind } },
    { op: "run", statement: "index.dropPagesOfItem", params },
    { op: "run", statement: "index.dropSegmentOfItem", params },
    { op: "run", statement: "index.pendSegmentOfItem", params },
    ...(change === "removed" ? [{ op: "run", statement: "index.removeItem", params } as const] : []),
  ];
}

/** For the commit that removes all items of a group. */
export function removeGroupWrites(kind: Exclude<IndexKind, "messages">, group: number): readonly Write[] {
  const params = { kind, group };
  return [
    { op: "run", statement: "index.bump", params: { kind } },
    { op: "run", statement: "index.dropPagesOfGroup", params },
    { op: "run", statement: "index.dropSegmentsOfGroup", params },
    { op: "run", statement: "index.pendSegmentsOfGroup", params },
    { op: "run", statement: "index.removeGroup", params },
  ];
}
