// Messages as items of the index. Their events are numbered in the order in which they were added, so a segment has the messages of a
// range of numbers, and what is behind all segments is pending: an append writes nothing for the index.

import { HoldfastError } from "../../contracts/errors.ts";
import type { Write } from "../../contracts/storage/commit.ts";
import { PENDING_MAX } from "../../contracts/storage/index-queries.ts";
import { toHex } from "../../core/bytes.ts";
import type { TextLanguage } from "../text/stem.ts";
import { type MessageReader, type NumberedItem, type NumberRange, readMessages } from "./message-rows.ts";
import type { PendingUnit } from "./pending.ts";
import type { IndexSource, PendingCache, PendingUnits, SourceItem } from "./source.ts";
import type { IndexState, SegmentRecord } from "./state.ts";
import { readState } from "./structure.ts";

const END = Number.MAX_SAFE_INTEGER;
const KEYS_PER_PAGE = 5000;

/** A message that is in no segment. */
interface PendingKey {
  readonly no: number;
  readonly key: string;
}

export class MessageSource implements IndexSource {
  readonly kind = "messages";
  readonly #reader: MessageReader;

  constructor(reader: MessageReader) {
    this.#reader = reader;
  }

  async countPending(state: IndexState, most: number): Promise<number> {
    let count = 0;
    for (const range of pendingRanges(state)) {
      if (count >= most) return most;
      // The state has counted what is behind all segments, up to PENDING_MAX.
      const isCounted = range.after === state.indexed && most <= PENDING_MAX;
      count += isCounted ? state.pending : (await this.#readKeys(range, most - count)).length;
    }
    return Math.min(count, most);
  }

  async readPending(state: IndexState, cache: PendingCache, before: PendingUnits | null): Promise<PendingUnits> {
    return (before === null ? null : await this.#readAdded(state, cache, before)) ?? this.#readAll(state, cache);
  }

  /** What was added after an earlier state of the same epoch; null: not only that has changed. */
  async #readAdded(state: IndexState, cache: PendingCache, before: PendingUnits): Promise<PendingUnits | null> {
    const known = before.state;
    if (known === null || known.epoch !== state.epoch || state.pending >= PENDING_MAX) return null;
    const added = await this.#readKeys({ after: known.newest, upTo: END }, PENDING_MAX);
    // An event that became visible late has a number in between.
    if (known.pending + added.length !== state.pending) return null;
    const units = await this.#cutMissing(new Map(added.map(({ no, key }) => [no, key])), cache);
    return { units: [...before.units, ...units], state };
  }

  async #readAll(state: IndexState, cache: PendingCache): Promise<PendingUnits> {
    const units: PendingUnit[] = [];
    let count = 0;
    const kept = new Set<string>();
    for (const range of pendingRanges(state)) {
      const missing = new Map<number, string>();
      const keys = await this.#readKeys(range, END);
      if (range.after === state.indexed) count = keys.length;
      for (const { no, key } of keys) {
        kept.add(key);
        const known = cache.get(key);
        if (known === undefined) missing.set(no, key);
        else for (const unit of known) units.push(unit);
      }
      for (const unit of await this.#cutMissing(missing, cache)) units.push(unit);
    }
    cache.keep(kept);
    return { units, state: count === state.pending ? state : null };
  }

  async #cutMissing(missing: ReadonlyMap<number, string>, cache: PendingCache): Promise<readonly PendingUnit[]> {
    const units: PendingUnit[] = [];
    if (missing.size === 0) return units;
    const numbers = [...missing.keys()];
    const range = { after: (numbers[0] ?? 1) - 1, upTo: numbers.at(-1) ?? 0 };
    for await (const { no, item } of readMessages(this.#reader, range, cache.language)) {
      const key = missing.get(no);
      if (key === undefined || item === null) continue;
      for (const unit of await cache.add(key, item)) units.push(unit);
    }
    return units;
  }

  /** The salt is random: another message that gets the same number has another key. */
  async #readKeys({ after, upTo }: NumberRange, most: number): Promise<readonly PendingKey[]> {
    const keys: PendingKey[] = [];
    for (let last = after; keys.length < most; ) {
      const limit = Math.min(KEYS_PER_PAGE, most - keys.length);
      const rows = await this.#reader.storage.query("index.keys", { after: last, upTo, limit });
      for (const { no, salt } of rows) keys.push({ no, key: `${no}.${salt === null ? "" : toHex(salt)}` });
      last = rows.at(-1)?.no ?? upTo;
      if (rows.length < limit) break;
    }
    return keys;
  }

  /**
   * On PostgreSQL an event may become visible after one with a higher number. The settling commit waits until no such event is under
   * way, and keeps new ones out for a moment.
   */
  async settle(state: IndexState): Promise<IndexState | null> {
    if (state.settled >= state.newest) return state;
    const { storage } = this.#reader;
    try {
      await storage.commit({
        solo: true,
        settled: true,
        writes: [{ op: "run", statement: "index.settle", params: [] }],
      });
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== "StoreBusy") throw error;
      if (state.settled <= state.indexed) return null;
    }
    return readState(storage, this.kind);
  }

  readTail({ indexed, settled }: IndexState, language: TextLanguage): AsyncIterable<SourceItem> {
    return this.#read({ after: indexed, upTo: settled }, language);
  }

  readSegment({ low, high }: SegmentRecord, language: TextLanguage): AsyncIterable<SourceItem> {
    return this.#read({ after: low, upTo: high }, language);
  }

  async *#read(range: NumberRange, language: TextLanguage): AsyncGenerator<SourceItem, void, void> {
    for await (const one of readMessages(this.#reader, range, language)) yield sourceItem(one);
  }

  /** The range of numbers of the segment says it. */
  coverWrites(): readonly Write[] {
    return [];
  }

  repairWrites(): readonly Write[] {
    return [];
  }
}

function sourceItem({ no, item }: NumberedItem): SourceItem {
  return { position: no, group: item?.group ?? 0, number: item?.item ?? 0, item };
}

function pendingRanges({ indexed, segments }: IndexState): readonly NumberRange[] {
  const dropped = segments.filter(({ isDropped }) => isDropped).map(({ low, high }) => ({ after: low, upTo: high }));
  return [...dropped, { after: indexed, upTo: END }];
}
