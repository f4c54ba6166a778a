// Memories and documents as items of the index. A row of index_items for each says its segment; it is written in the commit of the item
// itself, without a segment: the item is pending, and found at once.
import type { Write } from "../../contracts/storage/commit.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import type { TextLanguage } from "../text/stem.ts";
import type { PendingUnit } from "./pending.ts";
import type { IndexKind } from "./reader.ts";
import type { IndexSource, PendingCache, PendingUnits, SourceItem } from "./source.ts";
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

export interface ItemReading {
  readonly readItems: ReadItems;
  /** The text of an item never changes under its number, so that it is read once while it is pending. */
  readonly isImmutable?: boolean;
}

export class StoredItemSource implements IndexSource {
  readonly kind: Exclude<IndexKind, "messages">;
  readonly #storage: Storage;
  readonly #readItems: ReadItems;
  /** The last epoch in which every item had a segment that exists. */
  #placedEpoch = -1;
  readonly #isImmutable: boolean;

  constructor(storage: Storage, kind: Exclude<IndexKind, "messages">, { readItems, isImmutable = false }: ItemReading) {
    this.kind = kind;
    this.#storage = storage;
    this.#readItems = readItems;
    this.#isImmutable = isImmutable;
  }

  async countPending(_: IndexState, most: number): Promise<number> {
    let count = 0;
    for await (const page of this.#pendingPages(null)) {
      count += page.length;
      if (count >= most) return most;
    }
    return count;
  }

  /** An item that may have been changed under its number is cut again if its text is another one. */
  async readPending(state: IndexState, cache: PendingCache): Promise<PendingUnits> {
    await this.#requirePlaced(state);
    const units: PendingUnit[] = [];
    const kept = new Set<string>();
    for await (const page of this.#pendingPages(state.epoch)) {
      const unread: ItemRef[] = [];
      for (const ref of page) {
        const known = this.#isImmutable ? cache.get(nameOf(ref)) : undefined;
        if (known === undefined) unread.push(ref);
        else kept.add(nameOf(ref));
        for (const unit of known ?? []) units.push(unit);
      }
      const items = unread.length === 0 ? [] : await this.#readItems(unread, cache.language);
      if (items.length < unread.length) await this.#requireListed(unread, items);
      for (const item of items) {
        const { group, item: number, at, flags, fields, text } = item;
        const key = this.#isImmutable ? nameOf(item) : JSON.stringify([group, number, at, flags, fields, text]);
        kept.add(key);
        for (const unit of cache.get(key) ?? (await cache.add(key, item))) units.push(unit);
      }
    }
    cache.keep(kept);
    return { units, state: null };
  }

  /** What took the place of an item that is gone is not in the list: it is read again. One that cannot be read is left out. */
  async #requireListed(refs: readonly ItemRef[], items: readonly IndexItem[]): Promise<void> {
    const found = new Set(items.map(nameOf));
    for (const { group, item } of refs.filter((ref) => !found.has(nameOf(ref)))) {
      const [row] = await this.#storage.query("index.segmentOf", { kind: this.kind, group, item });
      if (row === undefined) throw new StaleSnapshot();
    }
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
    for await (const page of segment === null ? this.#pendingPages(null) : this.#pages(segment)) {
      const items = await this.#readItems(page, language);
      const found = new Map(items.map((item) => [nameOf(item), item]));
      for (const { group, item: number } of page) {
        const item = found.get(nameOf({ group, item: number })) ?? null;
        yield { position: 0, group, number, item };
      }
    }
  }

  /** The items of a segment. */
  #pages(segment: number): AsyncGenerator<readonly ItemRef[], void, void> {
    return pagesOf(async (range) => {
      const rows = await this.#storage.query("index.items", { kind: this.kind, ...range, segment });
      return rows.map(({ group_no, item }) => ({ group: group_no, item }));
    });
  }

  /** The items of no segment. They fit the segments of that epoch only; null: of any. */
  #pendingPages(expected: number | null): AsyncGenerator<readonly ItemRef[], void, void> {
    return pagesOf(async (range) => {
      const rows = await this.#storage.query("index.pendingItems", { kind: this.kind, ...range });
      const refs: ItemRef[] = [];
      for (const { epoch, group_no, item } of rows) {
        if (expected !== null && epoch !== expected) throw new StaleSnapshot();
        if (group_no !== null && item !== null) refs.push({ group: group_no, item });
      }
      return refs;
    });
  }

  coverWrites(segment: number, items: readonly SourceItem[]): readonly Write[] {
    return items.map(
      ({ group, number }): Write => ({
        op: "run",
        statement: "index.cover",
        params: { kind: this.kind, group, item: number, segment },
      }),
    );
  }

  repairWrites(): readonly Write[] {
    return REPAIRS[this.kind].map((statement) => ({ op: "run", statement, params: {} }));
  }
}

/** Statements that make the rows of a kind those of its items. */
const REPAIRS = {
  memories: ["index.removeStrayMemories", "index.addMissingMemories"],
  documents: ["index.removeStrayDocuments", "index.addMissingDocuments"],
} as const;

function nameOf({ group, item }: ItemRef): string {
  return `${group}/${item}`;
}

interface PageRange {
  readonly afterGroup: number;
  readonly afterItem: number;
  readonly limit: number;
}

async function* pagesOf(
  read: (range: PageRange) => Promise<readonly ItemRef[]>,
): AsyncGenerator<readonly ItemRef[], void, void> {
  for (let last: ItemRef = { group: -1, item: -1 }; ; ) {
    const page = await read({ afterGroup: last.group, afterItem: last.item, limit: ITEMS_PER_READ });
    if (page.length > 0) yield page;
    if (page.length < ITEMS_PER_READ) return;
    last = page.at(-1) ?? last;
  }
}

/** For the commit that writes a new item: it is found from then on. */
export function addItemWrite(kind: Exclude<IndexKind, "messages">, { group, item }: ItemRef): Write {
  return { op: "put", table: "index_items", row: { kind, group_no: group, item, segment: null, cut: null } };
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

/** The same for several items of a group that are removed. */
export function removeItemsWrites(
  kind: Exclude<IndexKind, "messages">,
  group: number,
  numbers: readonly number[],
): readonly Write[] {
  if (numbers.length === 0) return [];
  const params = { kind, group, items: JSON.stringify(numbers) };
  return [
    { op: "run", statement: "index.bump", params: { kind } },
    { op: "run", statement: "index.dropPagesOfItems", params },
    { op: "run", statement: "index.dropSegmentsOfItems", params },
    { op: "run", statement: "index.pendSegmentsOfItems", params },
    { op: "run", statement: "index.removeSomeItems", params },
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
