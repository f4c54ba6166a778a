// Writes segments: of items that are in none, of segments that were dropped or are outdated, and of several small ones one larger.
// Every change is one commit, guarded by the epoch in which all that it was made of was read. Whatever changed the index meanwhile,
// also in another process, refuses the commit, and the work begins again. Readers never wait for it.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Guard, Write } from "../../contracts/storage/commit.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import type { InterruptibleWork, TimeSlice } from "../../core/time-slice.ts";
import type { TextLanguage } from "../text/stem.ts";
import { TOKENISER_VERSION } from "../text/tokenise.ts";
import { verifyPage } from "./byte-stream.ts";
import { chooseMerge, LEVELS } from "./levels.ts";
import { type MergeSource, mergeSegments } from "./merge.ts";
import { repairStructure } from "./repair.ts";
import { type MadeSegment, SegmentBuilder } from "./segment.ts";
import { loadSegment, readPages } from "./segment-part.ts";
import { searchSlice } from "./slice.ts";
import type { IndexSource, SourceItem } from "./source.ts";
import { StaleSnapshot } from "./stale.ts";
import { type IndexState, isOutdated, type SegmentRecord } from "./state.ts";
import { readState } from "./structure.ts";
import { toMinutes } from "./unit-table.ts";
import { type IndexItem, readUnits } from "./units.ts";

/** How long work in the background rests after a slice; longer while the store is written to. */
const REST_MS = 10;
const BUSY_REST_MS = 40;
/** How often in a row other changes may make a change begin again. */
const ATTEMPTS = 8;

export interface WriteOptions {
  /** Items that are in no segment are left there while they are fewer. */
  readonly least: number;
  /** The language of the index of a new store. */
  readonly language: TextLanguage;
  /** No caller waits for the work: it rests after each slice. */
  readonly background?: BackgroundLoad;
}

/** What the store is doing while the index is written in the background. */
export interface BackgroundLoad {
  /** Whether many messages are being written. */
  isBusy(): boolean;
  /** Whether so many messages are in no segment that the work goes on beside the writers. */
  isUrgent(): boolean;
}

export interface RebuildOptions {
  /** The language from now on. Default: that of the store. */
  readonly language?: TextLanguage | undefined;
  /** The language of the index of a new store. */
  readonly fallback: TextLanguage;
  readonly onProgress?: ((progress: { readonly units: number; readonly total: number }) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A segment for the items behind `low`, up to `high`. */
interface NewSegment {
  readonly made: MadeSegment;
  readonly low: number;
  readonly high: number;
  readonly items: readonly SourceItem[];
}

/** Thrown inside to end early. */
class WriterStop extends Error {}

/** Ranges follow one another without a gap, also where no item is left: a segment that is missing is noticed by that. */
function emptySegment(low: number, high: number): NewSegment {
  return { made: { units: 0, items: 0, bytes: 0, directory: 0, pages: [] }, low, high, items: [] };
}

export class IndexWriter {
  readonly #storage: Storage;
  readonly #source: IndexSource;
  readonly #slice: TimeSlice;
  readonly #stopping = new AbortController();
  #isStopped = false;
  /** null: a caller waits for the work. */
  #background: BackgroundLoad | null = null;
  #running: Promise<void> | null = null;

  constructor(storage: Storage, source: IndexSource) {
    this.#storage = storage;
    this.#source = source;
    this.#slice = searchSlice(storage.environment);
  }

  /** Ends work that is under way, between two of its commits. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopping.abort();
    await this.#running?.catch(() => {});
  }

  /** Does all that is to be done, after work that is under way. */
  run(options: WriteOptions): Promise<void> {
    // A caller that waits for work in the background hurries it.
    if (options.background === undefined) this.#background = null;
    return this.#alone(async () => {
      this.#background = options.background ?? null;
      await this.#rest();
      await this.#runAll(options);
    });
  }

  /** Makes every segment again from the texts. Each stays until the new one takes its place. */
  rebuildAll(options: RebuildOptions): Promise<void> {
    this.#background = null;
    return this.#alone(() => {
      this.#background = null;
      return this.#rebuildAll(options);
    });
  }

  async #alone(work: () => Promise<void>): Promise<void> {
    while (this.#running !== null) await this.#running.catch(() => {});
    const running = work().finally(() => {
      this.#running = null;
    });
    this.#running = running;
    await running;
  }

  async #rebuildAll({ language: wanted, fallback, onProgress, signal }: RebuildOptions): Promise<void> {
    await this.#repair(wanted ?? fallback);
    const before = await this.#changeLanguage(wanted, fallback);
    const language = before.language ?? fallback;
    let done = 0;
    for (let refused = 0; ; ) {
      throwIfAborted(signal);
      const state = await readState(this.#storage, this.#source.kind);
      const old = state.segments.filter(({ version }) => version <= before.epoch);
      const [next] = old;
      const left = old.reduce((sum, { units, removed }) => sum + units - removed, 0);
      onProgress?.({ units: done, total: done + left });
      if (next === undefined) break;
      const outcome = await this.#rebuild(state, next, language);
      if (outcome === "written") done += next.units - next.removed;
      refused = outcome === "written" ? 0 : refused + 1;
      if (refused === ATTEMPTS) throw tooBusy();
    }
    await this.#runAll({ least: 1, language: fallback });
    throwIfAborted(signal);
  }

  async #repair(language: TextLanguage): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (await repairStructure(this.#storage, this.#source, language)) return;
    }
    throw tooBusy();
  }

  /** The state with the language. Segments of another one are outdated from then on. */
  async #changeLanguage(wanted: TextLanguage | undefined, fallback: TextLanguage): Promise<IndexState> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const state = await readState(this.#storage, this.#source.kind);
      const language = wanted ?? state.language ?? fallback;
      const change = { segments: [], removes: [], indexed: state.indexed, language };
      if ((await this.#commit(state, change)) === "written") return readState(this.#storage, this.#source.kind);
    }
    throw tooBusy();
  }

  async #runAll(options: WriteOptions): Promise<void> {
    try {
      for (let refused = 0; refused < ATTEMPTS; ) {
        const done = await this.#step(options);
        if (done === "nothing") return;
        refused = done === "refused" ? refused + 1 : 0;
        if (this.#isStopped) return;
      }
    } catch (error) {
      if (!(error instanceof WriterStop)) throw error;
    }
  }

  async #step({ least, language: fallback }: WriteOptions): Promise<"written" | "refused" | "nothing"> {
    const state = await readState(this.#storage, this.#source.kind);
    const language = state.language ?? fallback;
    try {
      const old = state.segments.find((segment) => segment.isDropped || isOutdated(segment, language));
      if (old !== undefined) return await this.#rebuild(state, old, language);
      if (least > 0 && (await this.#source.countPending(state, least)) >= least) {
        const settled = await this.#source.settle(state);
        return settled === null ? "nothing" : await this.#append(settled, language);
      }
      const sources = chooseMerge(this.#source.kind, state.segments);
      return sources === null ? "nothing" : await this.#merge(state, sources, language);
    } catch (error) {
      if (error instanceof StaleSnapshot) return "refused";
      throw error;
    }
  }

  /** One segment of the items behind all segments. */
  async #append(state: IndexState, language: TextLanguage): Promise<"written" | "refused"> {
    const { indexed, settled } = state;
    const first = await this.#makeNext(this.#source.readTail(state, language), indexed, settled, language);
    return this.#commit(state, {
      segments: first === null ? (indexed < settled ? [emptySegment(indexed, settled)] : []) : [first],
      removes: [],
      indexed: first?.high ?? settled,
      language,
    });
  }

  /** Makes a segment again from its items as they are now. The old one answers until all is made. */
  async #rebuild(state: IndexState, old: SegmentRecord, language: TextLanguage): Promise<"written" | "refused"> {
    const items = this.#source.readSegment(old, language)[Symbol.asyncIterator]();
    const rest: AsyncIterable<SourceItem> = { [Symbol.asyncIterator]: () => ({ next: () => items.next() }) };
    const segments: NewSegment[] = [];
    for (let { low } = old; ; ) {
      const made = await this.#makeNext(rest, low, old.high, language);
      if (made === null) {
        if (low < old.high) segments.push(emptySegment(low, old.high));
        break;
      }
      segments.push(made);
      low = made.high;
    }
    return this.#commit(state, { segments, removes: [old], indexed: state.indexed, language });
  }

  async #merge(
    state: IndexState,
    old: readonly SegmentRecord[],
    language: TextLanguage,
  ): Promise<"written" | "refused"> {
    const sources: MergeSource[] = [];
    for (const segment of old) {
      const { columns, numbers } = await loadSegment(this.#storage, this.#source.kind, segment);
      const pages: Uint8Array[] = [];
      for await (const { body } of readPages(this.#storage, this.#source.kind, segment, 0, Number.MAX_SAFE_INTEGER)) {
        pages.push(verifyPage(body));
        await this.#pause();
      }
      sources.push({ columns, numbers, pages });
    }
    const made = await this.#inSlices(mergeSegments(sources));
    const low = old[0]?.low ?? 0;
    const high = old.at(-1)?.high ?? 0;
    const segments = made.units === 0 && low === high ? [] : [{ made, low, high, items: [] }];
    return this.#commit(state, { segments, removes: old, indexed: state.indexed, language, isMove: true });
  }

  /** Takes as many items as a segment is made of in memory; null: there are none. The last segment ends where the range does. */
  async #makeNext(
    source: AsyncIterable<SourceItem>,
    low: number,
    end: number,
    language: TextLanguage,
  ): Promise<NewSegment | null> {
    const { unitsMade } = LEVELS[this.#source.kind];
    const builder = new SegmentBuilder();
    const items: SourceItem[] = [];
    let high = end;
    for await (const one of source) {
      if (this.#isStopped) throw new WriterStop();
      items.push(one);
      if (one.item !== null) await this.#inSlices(addUnits(builder, one.item, language));
      if (builder.unitCount >= unitsMade) {
        high = one.position;
        break;
      }
      await this.#pause();
    }
    if (items.length === 0) return null;
    return { made: await this.#inSlices(builder.build()), low, high, items };
  }

  async #commit(
    { kind, epoch }: IndexState,
    change: {
      readonly segments: readonly NewSegment[];
      readonly removes: readonly SegmentRecord[];
      readonly indexed: number;
      readonly language: TextLanguage;
      /** The items of the removed segments are those of the new one. */
      readonly isMove?: boolean;
    },
  ): Promise<"written" | "refused"> {
    if (this.#isStopped) throw new WriterStop();
    const { segments, removes, indexed, language } = change;
    const by = Math.max(1, segments.length);
    const guard: Guard = { check: "index.epoch", key: [kind], expect: epoch };
    const numbers = segments.map((_, at) => epoch + 1 + at);
    const writes: Write[] = [
      { op: "run", statement: "index.advance", params: { kind, by, indexed, language } },
      ...removes.flatMap(({ segment }): readonly Write[] => [
        { op: "run", statement: "index.dropPages", params: { kind, segment } },
        { op: "run", statement: "index.dropSegment", params: { kind, segment } },
      ]),
      ...segments.flatMap((made, at) => segmentWrites(kind, numbers[at] ?? 0, epoch + by, made, language)),
      ...segments.flatMap(({ items }, at) => this.#source.coverWrites(numbers[at] ?? 0, items)),
      ...(change.isMove === true ? moveWrites(kind, removes, numbers[0] ?? null) : []),
    ];
    const outcome = await this.#storage.commit({ solo: true, guards: [guard], writes });
    return outcome.ok ? "written" : "refused";
  }

  async #pause(): Promise<void> {
    if (this.#isStopped) throw new WriterStop();
    if (!this.#slice.isSpent) return;
    await this.#rest();
    await this.#slice.pause();
  }

  /** In the background: also while the store is written to, until it is urgent. */
  async #rest(): Promise<void> {
    const { environment } = this.#storage;
    const { signal } = this.#stopping;
    while (this.#background !== null && !this.#isStopped) {
      await environment.sleep(REST_MS, signal);
      if (this.#background?.isBusy() !== true) return;
      await environment.sleep(BUSY_REST_MS - REST_MS, signal);
      if (this.#background?.isUrgent() === true) return;
    }
  }

  async #inSlices<T>(work: InterruptibleWork<T>): Promise<T> {
    for (let next = work.next(); ; next = work.next()) {
      if (next.done === true) return next.value;
      await this.#pause();
    }
  }
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new HoldfastError("Aborted", "the text index is not made anew to its end, because the signal was aborted", {
    hint: "Searches answer as before. Call reindex() again to begin anew.",
  });
}

function tooBusy(): HoldfastError {
  return new HoldfastError("Conflict", "other writers changed the text index again and again", {
    retryable: true,
    hint: "Try again, when fewer texts are erased at the same time.",
  });
}

function* addUnits(builder: SegmentBuilder, item: IndexItem, language: TextLanguage): InterruptibleWork<void> {
  const { group, flags } = item;
  const minutes = toMinutes(item.at);
  for (const { part, words, terms } of readUnits(item, language)) {
    builder.add({ group, item: item.item, part, words, minutes, flags }, terms);
    yield;
  }
}

function segmentWrites(
  kind: string,
  segment: number,
  version: number,
  { made, low, high }: NewSegment,
  language: TextLanguage,
): readonly Write[] {
  const { units, items, bytes, directory, pages } = made;
  const tokeniser = TOKENISER_VERSION;
  const row = {
    kind,
    segment,
    low,
    high,
    version,
    dropped: 0,
    marked: 0,
    units,
    items,
    removed: 0,
    bytes,
    directory,
    language,
    tokeniser,
  };
  return [
    { op: "insert", table: "index_segments", row },
    ...pages.map(
      ({ page, first, body }): Write => ({
        op: "insert",
        table: "index_pages",
        row: { kind, segment, page, first, body },
      }),
    ),
  ];
}

function moveWrites(kind: string, removes: readonly SegmentRecord[], to: number | null): readonly Write[] {
  return removes.map(
    ({ segment: from }): Write => ({ op: "run", statement: "index.moveItems", params: { kind, from, to } }),
  );
}
