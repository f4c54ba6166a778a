// Which passage each item of a collection is, in memory: embeddings get their items in order, so that only new ones are read.
import type { Storage } from "../contracts/storage/storage.ts";
import { TimeSlice } from "../core/time-slice.ts";

const ROWS_AT_ONCE = 5000;
const FIRST_CAPACITY = 1024;

export class PassageMap {
  /** Columns of entries 0 to count - 1, in the order of their items. An entry may be of an item that has gone. */
  count = 0;
  items = new Float64Array(FIRST_CAPACITY);
  groups = new Float64Array(FIRST_CAPACITY);
  numbers = new Float64Array(FIRST_CAPACITY);
  parts = new Uint32Array(FIRST_CAPACITY);
  readonly #storage: Storage;
  readonly #collection: number;
  /** Entries + 1 by item. */
  #entries = new Int32Array(FIRST_CAPACITY);
  #loading: Promise<void> = Promise.resolve();

  constructor(storage: Storage, collection: number) {
    this.#storage = storage;
    this.#collection = collection;
  }

  get bytes(): number {
    return this.items.length * 28 + this.#entries.length * 4;
  }

  /** -1: no such item was there when it was loaded. */
  entryOf(item: number): number {
    return (this.#entries[item] ?? 0) - 1;
  }

  /** Reads the passages that have got an embedding since. */
  async refresh(): Promise<void> {
    const before = this.#loading;
    const loading = before.catch(() => undefined).then(() => this.#load());
    this.#loading = loading;
    await loading;
  }

  async #load(): Promise<void> {
    const slice = new TimeSlice(this.#storage.environment);
    for (;;) {
      const after = this.count === 0 ? 0 : (this.items[this.count - 1] ?? 0);
      const rows = await this.#storage.query("passages.embedded", {
        collection: this.#collection,
        after,
        limit: ROWS_AT_ONCE,
      });
      for (const { item, group_no, number, part } of rows) this.#add(item, group_no, number, part);
      if (rows.length < ROWS_AT_ONCE) return;
      if (slice.isSpent) await slice.pause();
    }
  }

  #add(item: number, group: number, number: number, part: number): void {
    if (this.count === this.items.length) this.#grow();
    if (item >= this.#entries.length) {
      const entries = new Int32Array(Math.max(item + 1, this.#entries.length * 2));
      entries.set(this.#entries);
      this.#entries = entries;
    }
    this.items[this.count] = item;
    this.groups[this.count] = group;
    this.numbers[this.count] = number;
    this.parts[this.count] = part;
    this.count += 1;
    this.#entries[item] = this.count;
  }

  #grow(): void {
    const capacity = this.items.length * 2;
    const grown = (column: Float64Array) => {
      const larger = new Float64Array(capacity);
      larger.set(column);
      return larger;
    };
    this.items = grown(this.items);
    this.groups = grown(this.groups);
    this.numbers = grown(this.numbers);
    const parts = new Uint32Array(capacity);
    parts.set(this.parts);
    this.parts = parts;
  }
}
