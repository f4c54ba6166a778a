// The text index of one kind in one handle: opens snapshots of it, and keeps in memory what several snapshots share.

import { HoldfastError } from "../../contracts/errors.ts";
import { PENDING_MAX } from "../../contracts/storage/index-queries.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import type { TimeSlice } from "../../core/time-slice.ts";
import type { TextLanguage } from "../text/stem.ts";
import { PageCache } from "./page-cache.ts";
import { joinParts, StoredParts } from "./parts.ts";
import { type PendingUnit, pendingPart, unitsOf } from "./pending.ts";
import type { IndexSnapshot } from "./reader.ts";
import { type LoadedSegment, loadSegment, segmentPart } from "./segment-part.ts";
import { searchSlice } from "./slice.ts";
import type { IndexSource, PendingCache, PendingUnits } from "./source.ts";
import { StaleSnapshot } from "./stale.ts";
import { type IndexState, isSameState, type SegmentRecord } from "./state.ts";
import { readState } from "./structure.ts";
import type { IndexItem } from "./units.ts";
import { IndexWriter, type RebuildOptions } from "./writer.ts";

/** How often a snapshot is opened again because segments were changed meanwhile. */
const ATTEMPTS = 100;

export interface IndexReading {
  readonly language: TextLanguage;
  read<T>(work: (snapshot: IndexSnapshot) => Promise<T>): Promise<T>;
}

interface OpenedSnapshot {
  readonly state: IndexState;
  readonly snapshot: IndexSnapshot;
  readonly pending: PendingUnits;
}

export class TextIndex {
  readonly source: IndexSource;
  readonly #storage: Storage;
  readonly #language: TextLanguage;
  readonly writer: IndexWriter;
  readonly #pages = new PageCache();
  readonly #segments = new Map<number, LoadedSegment>();
  #pending: CachedUnits;
  #stored: StoredParts | null = null;
  /** The last snapshot: it is opened again while nothing has changed. */
  #opened: OpenedSnapshot | null = null;
  /** Counts the calls of forget(). */
  #forgotten = 0;

  /** The language is that of the first segments of a store; later it is in the store. */
  constructor(storage: Storage, source: IndexSource, language: TextLanguage) {
    this.source = source;
    this.#storage = storage;
    this.#language = language;
    this.#pending = this.#emptyCache(language);
    this.writer = new IndexWriter(storage, source);
  }

  /** The language of the words that are indexed, and of queries. */
  #languageOf({ language }: IndexState): TextLanguage {
    return language ?? this.#language;
  }

  /** Reads a snapshot, and again if segments were changed before the work had read all it needed. */
  read<T>(work: (snapshot: IndexSnapshot) => Promise<T>): Promise<T> {
    return this.#read(work, null);
  }

  async #read<T>(work: (snapshot: IndexSnapshot) => Promise<T>, first: IndexState | null): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(await this.open(attempt === 1 ? first : null));
      } catch (error) {
        if (!(error instanceof StaleSnapshot)) throw error;
        if (attempt === ATTEMPTS) throw changedAgainAndAgain(this.source.kind);
      }
    }
  }

  /** For a search that has to know the language of its query first. Its first read is of the moment of this call. */
  async startReading(): Promise<IndexReading> {
    const state = await readState(this.#storage, this.source.kind);
    return { language: this.#languageOf(state), read: (work) => this.#read(work, state) };
  }

  /** The language of queries now. */
  async readLanguage(): Promise<TextLanguage> {
    return this.#languageOf(await readState(this.#storage, this.source.kind));
  }

  /** `known` is the state, if the caller has just read it. */
  async open(known: IndexState | null = null): Promise<IndexSnapshot> {
    const forgotten = this.#forgotten;
    let state = known ?? (await readState(this.#storage, this.source.kind));
    if (this.#opened !== null && isSameState(this.#opened.state, state)) return this.#opened.snapshot;
    // More than this number are put into segments first: every process would cut their texts.
    if ((await this.source.countPending(state, PENDING_MAX)) >= PENDING_MAX) {
      await this.#writePending();
      state = await readState(this.#storage, this.source.kind);
    }
    const segments = state.segments.filter(({ isDropped, units }) => !isDropped && units > 0);
    this.#forgetOthers(segments);
    const parts = [];
    for (const record of segments) {
      parts.push(segmentPart(this.#storage, this.source.kind, await this.#load(record), this.#pages));
    }
    const language = this.#languageOf(state);
    if (language !== this.#pending.language) {
      this.#pending = this.#emptyCache(language);
      this.#opened = null;
    }
    const pending = await this.source.readPending(state, this.#pending, this.#opened?.pending ?? null);
    const stored = this.#stored?.has(parts) === true ? this.#stored : new StoredParts(parts);
    const snapshot = joinParts(
      this.source.kind,
      stored,
      pending.units.length === 0 ? null : pendingPart(pending.units),
    );
    if (forgotten === this.#forgotten) {
      this.#stored = stored;
      this.#opened = { state, snapshot, pending };
    }
    return snapshot;
  }

  /** So many texts would be cut again by every process. If they cannot be written, they are cut for this snapshot. */
  async #writePending(): Promise<void> {
    try {
      await this.writer.run({ least: PENDING_MAX, language: this.#language });
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "Closed") throw error;
      this.#storage.environment.log("warn", "search.index.write", { error: String(error) });
    }
  }

  #forgetOthers(segments: readonly SegmentRecord[]): void {
    const versions = new Map(segments.map(({ segment, version }) => [segment, version]));
    let isSame = true;
    for (const [segment, { record }] of this.#segments) {
      if (versions.get(segment) === record.version) continue;
      this.#segments.delete(segment);
      isSame = false;
    }
    if (!isSame) this.#pages.retain(this.source.kind, segments);
  }

  async #load(record: SegmentRecord): Promise<LoadedSegment> {
    const known = this.#segments.get(record.segment);
    if (known?.record.version === record.version) return known;
    const loaded = await loadSegment(this.#storage, this.source.kind, record);
    this.#segments.set(record.segment, loaded);
    return loaded;
  }

  /** Makes all segments anew, and then one of what is pending. */
  reindex(options: Omit<RebuildOptions, "fallback">): Promise<void> {
    this.forget();
    return this.writer.rebuildAll({ ...options, fallback: this.#language });
  }

  /** Called when this handle has erased something: no word of it stays in memory. */
  forget(): void {
    this.#forgotten += 1;
    this.#opened = null;
    this.#stored = null;
    this.#pages.clear();
    this.#segments.clear();
    this.#pending = this.#emptyCache(this.#pending.language);
  }

  #emptyCache(language: TextLanguage): CachedUnits {
    return new CachedUnits(language, searchSlice(this.#storage.environment));
  }
}

function changedAgainAndAgain(kind: string): HoldfastError {
  return new HoldfastError("Conflict", `the text index of ${kind} changed ${ATTEMPTS} times while a search read it`, {
    retryable: true,
    hint: "Search again when fewer texts are erased. If that fails too, a page is missing: run `npx holdfast reindex`.",
  });
}

/** Units of pending items that were cut before, for one language. */
class CachedUnits implements PendingCache {
  readonly language: TextLanguage;
  readonly #units = new Map<string, readonly PendingUnit[]>();
  readonly #slice: TimeSlice;

  constructor(language: TextLanguage, slice: TimeSlice) {
    this.language = language;
    this.#slice = slice;
  }

  get(key: string): readonly PendingUnit[] | undefined {
    return this.#units.get(key);
  }

  async add(key: string, item: IndexItem): Promise<readonly PendingUnit[]> {
    const units = await unitsOf(item, this.language, this.#slice);
    this.#units.set(key, units);
    return units;
  }

  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#units.keys()) if (!keys.has(key)) this.#units.delete(key);
  }
}
