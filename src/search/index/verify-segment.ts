// Compares a stored segment with what it is made of: its row with its pages, its pages with each other, and what they say with the
// texts, which are cut and tokenised again. Postings are compared by a sum for each unit, so that nothing of the texts is kept.
import { crc32 } from "node:zlib";
import { HoldfastError } from "../../contracts/errors.ts";
import type { JsonObject } from "../../contracts/json.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { compareBytes, encodeText } from "../../core/bytes.ts";
import { runInSlices, TimeSlice } from "../../core/time-slice.ts";
import { TEXT_LANGUAGES, type TextLanguage } from "../text/stem.ts";
import { TOKENISER_VERSION } from "../text/tokenise.ts";
import { verifyPage } from "./byte-stream.ts";
import { directorySum } from "./directory.ts";
import { REMOVED_PAGE } from "./segment.ts";
import { readPages } from "./segment-part.ts";
import type { IndexSource, SourceItem } from "./source.ts";
import type { SegmentRecord } from "./state.ts";
import { readEntries, readFirstTerm, type TermEntry } from "./term-pages.ts";
import { countItems, type UnitColumns } from "./unit-columns.ts";
import { decodeUnitPages, withoutRemoved } from "./unit-pages.ts";
import { toMinutes } from "./unit-table.ts";
import { readUnits } from "./units.ts";

export interface SegmentDamage {
  readonly part: "pages" | "row" | "texts";
  readonly details: JsonObject;
}

/** Items of a segment that are named. */
const NAMED_MAX = 20;
const FIRST_PAGE = Number.MIN_SAFE_INTEGER;
const END = Number.MAX_SAFE_INTEGER;

/** Nothing of a segment that is dropped. If pages are damaged, the texts are not compared with them. */
export async function verifySegment(
  storage: Storage,
  source: IndexSource,
  record: SegmentRecord,
): Promise<readonly SegmentDamage[]> {
  const slice = new TimeSlice(storage.environment);
  try {
    const stored = await readStored(storage, source, record, slice);
    const texts = await compareTexts(stored, source, record, slice);
    return [...compareCounts(stored, record), ...texts];
  } catch (error) {
    if (error instanceof DamagedPages) return [{ part: "pages", details: error.details }];
    if (!(error instanceof HoldfastError) || error.code !== "StoreCorrupted") throw error;
    return [{ part: "pages", details: { reason: error.message } }];
  }
}

class DamagedPages extends Error {
  readonly details: JsonObject;

  constructor(details: JsonObject) {
    super("damaged pages");
    this.details = details;
  }
}

interface StoredSegment {
  /** Live units. */
  readonly columns: UnitColumns;
  readonly removed: number;
  readonly bytes: number;
  /** Of each live unit, the sums of its postings. */
  readonly sums: PostingSums;
}

async function readStored(
  storage: Storage,
  { kind }: IndexSource,
  record: SegmentRecord,
  slice: TimeSlice,
): Promise<StoredSegment> {
  const unitPages: Uint8Array[] = [];
  let removed: Uint8Array | null = null;
  let bytes = 0;
  for await (const { page, first, body } of readPages(storage, kind, record, FIRST_PAGE, 0)) {
    if (page !== REMOVED_PAGE) bytes += first.length + body.length;
    const content = verified(page, body);
    if (page === REMOVED_PAGE) removed = content;
    else unitPages.push(content);
    if (slice.isSpent) await slice.pause();
  }
  unitPages.reverse();
  const live = withoutRemoved(await runInSlices(decodeUnitPages(unitPages, record.units), slice), removed);
  const sums = new PostingSums(live.columns.count);
  const reader = new TermPageReader(record.units, live.numbers, sums);
  const names: { readonly page: number; readonly first: Uint8Array }[] = [];
  for await (const { page, first, body } of readPages(storage, kind, record, 0, END)) {
    bytes += first.length + body.length;
    names.push({ page, first });
    reader.read(page, first, verified(page, body));
    if (slice.isSpent) await slice.pause();
  }
  if (directorySum(names) !== record.directory)
    throw new DamagedPages({ reason: "a page is missing or there is one too many" });
  return { columns: live.columns, removed: record.units - live.columns.count, bytes, sums };
}

function verified(page: number, body: Uint8Array): Uint8Array {
  try {
    return verifyPage(body);
  } catch {
    throw new DamagedPages({ page, reason: "its checksum is wrong" });
  }
}

/** Two sums of 32 bits for each unit. */
class PostingSums {
  readonly #a: Int32Array;
  readonly #b: Int32Array;

  constructor(units: number) {
    this.#a = new Int32Array(units);
    this.#b = new Int32Array(units);
  }

  add(unit: number, term: TermHash, impact: number): void {
    this.#a[unit] = ((this.#a[unit] ?? 0) + mix(term.a, impact)) | 0;
    this.#b[unit] = ((this.#b[unit] ?? 0) + mix(term.b, impact + 256)) | 0;
  }

  isSame(unit: number, other: PostingSums, at: number): boolean {
    return this.#a[unit] === other.#a[at] && this.#b[unit] === other.#b[at];
  }
}

interface TermHash {
  readonly a: number;
  readonly b: number;
}

function hashTerm(term: Uint8Array): TermHash {
  return { a: crc32(term) | 0, b: crc32(term, 0x5bd1e995) | 0 };
}

function mix(hash: number, impact: number): number {
  let value = hash ^ Math.imul(impact + 1, 0x9e3779b1);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return value ^ (value >>> 16);
}

/** Reads the pages of terms in their order, and that they are in it. */
class TermPageReader {
  readonly #units: number;
  readonly #numbers: Int32Array | null;
  readonly #sums: PostingSums;
  #page = 0;
  #last: TermEntry | null = null;

  constructor(units: number, numbers: Int32Array | null, sums: PostingSums) {
    this.#units = units;
    this.#numbers = numbers;
    this.#sums = sums;
  }

  read(page: number, first: Uint8Array, content: Uint8Array): void {
    if (page !== this.#page++) throw new DamagedPages({ page, reason: "the page before it is missing" });
    if (readFirstTerm(content) !== Buffer.from(first).toString("utf8")) {
      throw new DamagedPages({ page, reason: "it does not begin with the term of its row" });
    }
    for (const entry of readEntries(content)) {
      if (this.#last !== null && !isBehind(entry, this.#last))
        throw new DamagedPages({ page, reason: "its terms are out of order" });
      this.#last = entry;
      this.#addEntry(page, entry);
    }
  }

  #addEntry(page: number, { term, postings }: TermEntry): void {
    const hash = hashTerm(term);
    let before = -1;
    for (const [at, unit] of postings.units.entries()) {
      const live = this.#numbers === null ? unit : (this.#numbers[unit] ?? -1);
      if (unit >= this.#units || unit <= before || live === -1) {
        throw new DamagedPages({ page, reason: "a posting names a passage that the segment does not have" });
      }
      before = unit;
      this.#sums.add(live, hash, postings.impacts[at] ?? 0);
    }
  }
}

/** A list that continues on the next page goes on with later units. */
function isBehind(entry: TermEntry, before: TermEntry): boolean {
  const order = compareBytes(entry.term, before.term);
  if (order !== 0) return order > 0;
  return (entry.postings.units[0] ?? 0) > (before.postings.units.at(-1) ?? 0);
}

function compareCounts({ columns, removed, bytes }: StoredSegment, record: SegmentRecord): readonly SegmentDamage[] {
  const counted = { items: countItems(columns), removed, bytes };
  const names = (["items", "removed", "bytes"] as const).filter((name) => counted[name] !== record[name]);
  return names.map((column) => ({
    part: "row",
    details: { column, stored: record[column], counted: counted[column] },
  }));
}

/** What an older tokeniser made is not compared: it is made again soon. */
async function compareTexts(
  stored: StoredSegment,
  source: IndexSource,
  record: SegmentRecord,
  slice: TimeSlice,
): Promise<readonly SegmentDamage[]> {
  const language = TEXT_LANGUAGES.find((one) => one === record.language);
  if (language === undefined) return [{ part: "row", details: { column: "language", stored: record.language } }];
  if (record.tokeniser !== TOKENISER_VERSION) return [];
  const comparison = new TextComparison(stored);
  for await (const one of source.readSegment(record, language)) {
    await runInSlices(comparison.compare(one, language), slice);
    if (slice.isSpent) await slice.pause();
  }
  return comparison.end();
}

class TextComparison {
  readonly #stored: StoredSegment;
  readonly #isSeen: Uint8Array;
  readonly #wrong = new Map<string, JsonObject>();
  #count = 0;

  constructor(stored: StoredSegment) {
    this.#stored = stored;
    this.#isSeen = new Uint8Array(stored.columns.count);
  }

  *compare({ item, group, number }: SourceItem, language: TextLanguage): Generator<void, void, void> {
    if (item === null) return;
    const { columns, sums } = this.#stored;
    const minutes = toMinutes(item.at);
    for (const { part, words, terms } of readUnits(item, language)) {
      yield;
      const unit = findUnit(columns, { group, item: number, part });
      if (unit === -1) {
        this.#note(group, number, "it is not in the index");
        continue;
      }
      this.#isSeen[unit] = 1;
      const own = new PostingSums(1);
      for (const [term, impact] of terms) own.add(0, hashTerm(encodeText(term)), impact);
      const isSame =
        columns.words[unit] === words &&
        columns.minutes[unit] === minutes &&
        columns.flags[unit] === item.flags &&
        sums.isSame(unit, own, 0);
      if (!isSame) this.#note(group, number, "the index has another text of it");
    }
  }

  #note(group: number, item: number, reason: string): void {
    const key = `${group}/${item}`;
    if (this.#wrong.has(key)) return;
    this.#count += 1;
    if (this.#wrong.size < NAMED_MAX) this.#wrong.set(key, { group, item, reason });
  }

  end(): readonly SegmentDamage[] {
    const { columns } = this.#stored;
    for (const [at, group] of columns.groups.entries()) {
      for (let unit = columns.starts[at] ?? 0; unit < (columns.starts[at + 1] ?? 0); unit++) {
        if (this.#isSeen[unit] === 0)
          this.#note(group, columns.item[unit] ?? 0, "the index has it, and there is no such text");
      }
    }
    if (this.#count === 0) return [];
    return [{ part: "texts", details: { wrong: this.#count, items: [...this.#wrong.values()] } }];
  }
}

/** -1: there is none. */
function findUnit(
  { groups, starts, item, part }: UnitColumns,
  wanted: { group: number; item: number; part: number },
): number {
  const at = lowerBound(0, groups.length, (index) => (groups[index] ?? 0) >= wanted.group);
  if (groups[at] !== wanted.group) return -1;
  const end = starts[at + 1] ?? 0;
  const isAtOrBehind = (unit: number) =>
    (item[unit] ?? 0) > wanted.item || (item[unit] === wanted.item && (part[unit] ?? 0) >= wanted.part);
  const unit = lowerBound(starts[at] ?? 0, end, isAtOrBehind);
  return unit < end && item[unit] === wanted.item && part[unit] === wanted.part ? unit : -1;
}

/** The first number of which the condition holds; it holds for all after one. */
function lowerBound(from: number, to: number, holds: (at: number) => boolean): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
