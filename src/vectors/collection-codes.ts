// What one handle has in memory of a generation: the codes of its pages, and the newer embeddings, which are in no page yet and are
// compared exactly. It is brought up to date by the collection's change number, whichever process made the change.

import type { Storage } from "../contracts/storage/storage.ts";
import type { PageRow } from "../contracts/storage/vector-queries.ts";
import { TimeSlice } from "../core/time-slice.ts";
import type { CollectionState, Generation } from "./collections.ts";
import { damagedEmbedding } from "./damage.ts";
import { decodeEmbedding } from "./documents.ts";
import { BestRows } from "./kernel/best-rows.ts";
import { VectorCoder } from "./kernel/code.ts";
import { appendCode, type CodePage, createPage, decodePage, PAGE_SLOTS } from "./kernel/pages.ts";
import { type ExactScore, exactScore } from "./kernel/rescore.ts";
import type { RowBitmap } from "./kernel/row-bitmap.ts";
import { CodeIndex, prepareQuery, type ScanCandidate } from "./kernel/scan.ts";
import { normOf } from "./kernel/vector.ts";

/** Pages and embeddings that are read by one statement: a few megabytes. */
const PAGES_AT_ONCE = 16;
export const ROWS_AT_ONCE = 512;

/** With more newer embeddings than this, the oldest of them become codes in memory. */
const TAIL_ROWS = 2 * PAGE_SLOTS;

/** How long a scan may keep the event loop busy. */
const SCAN_MS = 4;

interface TailRow {
  readonly item: number;
  readonly vector: Float32Array;
}

/** A page in memory. */
interface LoadedPage {
  /** Of the page in the index. */
  readonly number: number;
  /** In use or removed slots, whose item is 0. */
  readonly items: Float64Array;
}

export interface ScanResult {
  /** From pages. */
  readonly candidates: readonly ScanCandidate[];
  /** Of newer embeddings, with their exact scores. */
  readonly exact: readonly ExactScore[];
}

export class CollectionCodes {
  readonly generation: Generation;
  readonly #collection: Pick<CollectionState, "no" | "name">;
  readonly #coder: VectorCoder;
  readonly #index: CodeIndex;
  /** Pages in the store without codes, by their first items. */
  readonly #emptyPages = new Set<number>();
  /** By the first item of the page. */
  readonly #pages = new Map<number, LoadedPage>();
  /** Codes that this handle has made of newer embeddings. */
  #ownPages: LoadedPage[] = [];
  #freeNumbers: number[] = [];
  #pageCount = 0;
  #tail: TailRow[] = [];
  /** Embeddings of later items are not in pages. */
  #packed = 0;
  /** Embeddings of later items are not in memory. */
  #loadedTo = 0;
  #removals: number;
  /** What is in memory is at least what the collection was at this change. */
  #change = -1;
  /** The newest page in memory, in the order in which pages are written. */
  #newestPage: Pick<PageRow, "change" | "first_item"> = { change: -1, first_item: -1 };
  #refreshing: Promise<void> = Promise.resolve();
  /** Grows whenever what is in memory changes: a scan during which it grew may have missed an item. */
  version = 0;

  constructor(collection: CollectionState, generation: Generation) {
    this.#collection = { no: collection.no, name: collection.name };
    this.generation = generation;
    this.#coder = new VectorCoder(generation.seed, generation.dimension);
    this.#index = new CodeIndex(this.#coder.codeBytes);
    this.#removals = generation.removals;
  }

  /** Whether the collection has fewer packed embeddings than are in memory: its pages are made again. */
  isRebuilt({ change, current }: CollectionState): boolean {
    return change > this.#change && current !== null && current.packed < this.#packed;
  }

  /** Whether the store has pages without codes, because an erasure removed them. */
  get hasEmptyPages(): boolean {
    return this.#emptyPages.size > 0;
  }

  /** About how many bytes it has in memory. */
  get bytes(): number {
    const pages = this.#pageCount * PAGE_SLOTS * (this.#coder.codeBytes + 16);
    return pages + this.#tail.length * this.generation.dimension * 4;
  }

  /** Embeddings in memory that are in no page. */
  get unpacked(): number {
    return this.#tail.length + this.#ownPages.reduce((rows, page) => rows + page.items.length, 0);
  }

  /** Brings it to the change of a state that was just read, or to a later one. Concurrent calls share the work. */
  async refresh(storage: Storage, { change, current }: CollectionState): Promise<void> {
    while (this.#change < change) {
      const before = this.#refreshing;
      await before.catch(() => undefined);
      if (this.#refreshing !== before) continue;
      if (this.#change >= change) return;
      this.#refreshing = this.#load(storage, change, current ?? this.generation);
      await this.#refreshing;
    }
  }

  async #load(storage: Storage, change: number, state: Generation): Promise<void> {
    const pages = await this.#readPages(storage);
    const isRemoved = state.removals !== this.#removals;
    const packed = Math.max(this.#packed, state.packed, ...pages.map(({ page }) => maxItem(page)));
    // Codes of its own are of embeddings that are in pages now, or of some that were removed: they are read again.
    const isStale = this.#ownPages.length > 0 && (isRemoved || packed > this.#packed);
    const restarts = isRemoved || isStale;
    const from = restarts ? packed : Math.max(packed, this.#loadedTo);
    const tail = await this.#readTail(storage, from);
    // From here on nothing is awaited: a scan sees all of the change, or nothing.
    this.version++;
    for (const { row, page } of pages) this.#setPage(row, page);
    if (restarts) for (const own of this.#ownPages.splice(0)) this.#freePage(own.number);
    const kept = restarts ? [] : this.#tail.filter(({ item }) => item > packed);
    this.#tail = [...kept, ...tail.rows];
    for (const page of tail.pages) this.#addOwnPage(page);
    this.#packed = packed;
    this.#loadedTo = Math.max(from, tail.last);
    this.#removals = state.removals;
    this.#change = change;
  }

  async #readPages(storage: Storage): Promise<readonly { readonly row: PageRow; readonly page: CodePage }[]> {
    const { no: collection, name } = this.#collection;
    const { generation } = this.generation;
    const slice = new TimeSlice(storage.environment, SCAN_MS);
    const pages: { row: PageRow; page: CodePage }[] = [];
    let { change, first_item: after } = this.#newestPage;
    for (;;) {
      const rows = await storage.query("vectors.pages", {
        collection,
        generation,
        change,
        after,
        limit: PAGES_AT_ONCE,
      });
      for (const row of rows) {
        const what = `page ${row.first_item} of ${JSON.stringify(name)}`;
        const page =
          row.codes.length === 0
            ? await this.#remakePage(storage, row.first_item, slice)
            : decodePage(row.codes, this.#coder.codeBytes, what);
        pages.push({ row, page });
        if (slice.isSpent) await slice.pause();
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGES_AT_ONCE) return pages;
      change = last.change;
      after = last.first_item;
    }
  }

  /** Of a page whose codes an erasure has removed. */
  async #remakePage(storage: Storage, first: number, slice: TimeSlice): Promise<CodePage> {
    const { no: collection } = this.#collection;
    const rows = await readPageRows(storage, collection, this.generation, this.#collection.name, first);
    return makePage(this.#coder, rows, slice);
  }

  /** Embeddings of items after one. If they are many, codes are made of the older ones. */
  async #readTail(
    storage: Storage,
    from: number,
  ): Promise<{ readonly rows: readonly TailRow[]; readonly pages: readonly CodePage[]; readonly last: number }> {
    const { no: collection } = this.#collection;
    const { generation } = this.generation;
    const slice = new TimeSlice(storage.environment, SCAN_MS);
    let rows: TailRow[] = [];
    const pages: CodePage[] = [];
    for (let last = from; ; ) {
      const read = await storage.query("vectors.after", { collection, generation, after: last, limit: ROWS_AT_ONCE });
      for (const { item, embedding } of read) {
        rows.push({ item, vector: this.#decode(item, embedding) });
        last = item;
      }
      if (rows.length >= TAIL_ROWS) {
        pages.push(await makePage(this.#coder, rows.slice(0, PAGE_SLOTS), slice));
        rows = rows.slice(PAGE_SLOTS);
      }
      if (read.length < ROWS_AT_ONCE) return { rows, pages, last };
      if (slice.isSpent) await slice.pause();
    }
  }

  #decode(item: number, bytes: Uint8Array): Float32Array {
    const { dimension, precision } = this.generation;
    return requireFinite(bytes, { dimension, precision }, this.#collection.name, item);
  }

  #setPage(row: PageRow, page: CodePage): void {
    if (row.codes.length === 0) this.#emptyPages.add(row.first_item);
    else this.#emptyPages.delete(row.first_item);
    const number = this.#pages.get(row.first_item)?.number ?? this.#newNumber();
    this.#index.setPage(number, page);
    this.#pages.set(row.first_item, { number, items: page.rows.slice(0, page.usedSlots) });
    this.#newestPage = row;
  }

  #addOwnPage(page: CodePage): void {
    const number = this.#newNumber();
    this.#index.setPage(number, page);
    this.#ownPages.push({ number, items: page.rows.slice(0, page.usedSlots) });
  }

  #newNumber(): number {
    return this.#freeNumbers.pop() ?? this.#pageCount++;
  }

  #freePage(number: number): void {
    this.#index.setPage(number, createPage(this.#coder.codeBytes));
    this.#freeNumbers.push(number);
  }

  /** All items that it knows, sorted. */
  items(): readonly number[] {
    const items: number[] = [];
    for (const page of [...this.#pages.values(), ...this.#ownPages])
      for (const item of page.items) if (item > 0) items.push(item);
    for (const { item } of this.#tail) items.push(item);
    return items.sort((a, b) => a - b);
  }

  /** A score for each item: an estimate of those in pages, and the exact one of newer embeddings. */
  async estimateAll(
    storage: Storage,
    query: Float32Array,
    onScore: (item: number, score: number) => void,
  ): Promise<void> {
    const { metric } = this.generation;
    const slice = new TimeSlice(storage.environment, SCAN_MS);
    const onPage = (items: Float64Array, estimates: Float32Array, count: number) => {
      for (let slot = 0; slot < count; slot++) {
        const item = items[slot] ?? 0;
        if (item > 0) onScore(item, estimates[slot] ?? 0);
      }
    };
    await this.#index.estimateAll(prepareQuery(this.#coder, query, metric), onPage, slice);
    const norm = normOf(query);
    for (const { item, vector } of this.#tail) {
      if (slice.isSpent) await slice.pause();
      onScore(item, exactScore(metric, query, norm, vector));
    }
  }

  /** `count` candidates from pages, and the `limit` nearest of the newer embeddings. */
  async scan(
    storage: Storage,
    query: Float32Array,
    { count, limit, filter }: { readonly count: number; readonly limit: number; readonly filter: RowBitmap | null },
  ): Promise<ScanResult> {
    const { metric } = this.generation;
    const slice = new TimeSlice(storage.environment, SCAN_MS);
    const prepared = prepareQuery(this.#coder, query, metric);
    const candidates = await this.#index.scan(prepared, count, filter === null ? { slice } : { slice, filter });
    const best = new BestRows(limit);
    const norm = normOf(query);
    for (const { item, vector } of this.#tail) {
      if (filter === null || filter.has(item)) best.offer(exactScore(metric, query, norm, vector), item);
    }
    return { candidates, exact: best.sorted().map(({ row, key }) => ({ row, score: key })) };
  }
}

function maxItem({ rows, usedSlots }: CodePage): number {
  return usedSlots === 0 ? 0 : (rows[usedSlots - 1] as number);
}

/** The embeddings that a page is of: those of its items that are left. */
export async function readPageRows(
  storage: Storage,
  collection: number,
  generation: Generation,
  name: string,
  first: number,
): Promise<readonly TailRow[]> {
  const rows: TailRow[] = [];
  const page = { collection, generation: generation.generation, first, limit: ROWS_AT_ONCE };
  for (let after = first - 1; ; ) {
    const read = await storage.query("vectors.inPage", { ...page, after });
    for (const { item, embedding } of read) {
      rows.push({ item, vector: requireFinite(embedding, generation, name, item) });
      after = item;
    }
    if (read.length < ROWS_AT_ONCE) return rows;
  }
}

/** A page of the codes of rows, in their order. */
export async function makePage(coder: VectorCoder, rows: readonly TailRow[], slice: TimeSlice): Promise<CodePage> {
  const page = createPage(coder.codeBytes);
  for (const { item, vector } of rows) {
    if (slice.isSpent) await slice.pause();
    if (appendCode(page, item, coder.encode(vector)) === null) throw new Error("bug: a page has more rows than slots");
  }
  return page;
}

/** The stored embedding of an item. StoreCorrupted if its bytes are none. */
export function requireFinite(
  bytes: Uint8Array,
  { dimension, precision }: Pick<Generation, "dimension" | "precision">,
  collection: string,
  item: number,
): Float32Array {
  const expected = dimension * (precision === "f32" ? 4 : 2);
  if (bytes.byteLength !== expected) {
    throw damagedEmbedding(collection, item, `it has ${bytes.byteLength} bytes instead of ${expected}`);
  }
  const vector = decodeEmbedding(bytes, precision, new Float32Array(dimension));
  if (!Number.isFinite(normOf(vector))) throw damagedEmbedding(collection, item, "a number of it is not finite");
  return vector;
}
