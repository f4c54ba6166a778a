// Pages of terms with their postings. The terms of a segment are sorted by bytes and spread over pages; a long list of postings
// continues on the next pages under the same term. A page is read without the others.
//
// An entry is: bytes shared with the term before it, length of the rest, the rest, count of postings, length of what follows in
// bytes, the first unit number, differences to the next ones, and an impact byte for each posting, which field terms do not have.

import { ByteReader, ByteWriter, damagedPage } from "./byte-stream.ts";
import type { PartPostings } from "./parts.ts";
import { FIELD_MARK } from "./reader.ts";

const FIELD_BYTE = FIELD_MARK.charCodeAt(0);
/** Two pages of SQLite, with what the row has besides. */
const PAGE_BYTES = 8000;
/** A list is not begun in less space than this, if it has to continue on the next page. */
const LEAST_BYTES = 256;
/** Bytes of one posting, at most. */
const POSTING_BYTES = 6;
/** Bytes of the numbers before the postings of an entry, at most. */
const HEAD_BYTES = 16;

export interface TermPage {
  /** The bytes of its first term. */
  readonly first: Uint8Array;
  readonly body: Uint8Array;
}

const NO_BYTES = new Uint8Array(0);

export class TermPageWriter {
  readonly #page = new ByteWriter();
  readonly #postings = new ByteWriter();
  readonly #done: TermPage[] = [];
  #first: Uint8Array | null = null;
  #last: Uint8Array = NO_BYTES;

  /** Terms in the order of their bytes, units ascending. A page has a term once. */
  add(term: Uint8Array, { units, impacts }: PartPostings): void {
    for (let from = 0; from < units.length; ) {
      const space = PAGE_BYTES - this.#page.length - term.length - HEAD_BYTES;
      const to = endOfFitting(units, from, space);
      if (this.#first !== null && space < (to < units.length ? LEAST_BYTES : POSTING_BYTES)) {
        this.#finish();
        continue;
      }
      this.#addEntry(term, units.subarray(from, to), impacts.subarray(from, to));
      from = to;
      if (from < units.length) this.#finish();
    }
  }

  end(): readonly TermPage[] {
    if (this.#first !== null) this.#finish();
    return this.#done;
  }

  #addEntry(term: Uint8Array, units: Int32Array, impacts: Uint8Array): void {
    this.#first ??= term;
    const shared = sharedLength(this.#last, term);
    const page = this.#page;
    page.writeNumber(shared);
    page.writeNumber(term.length - shared);
    page.writeBytes(term.subarray(shared));
    page.writeNumber(units.length);
    const postings = this.#postings;
    let before = 0;
    for (const unit of units) {
      postings.writeNumber(unit - before);
      before = unit;
    }
    if (term[0] !== FIELD_BYTE) postings.writeBytes(impacts);
    page.writeNumber(postings.length);
    page.writeBytes(postings.written);
    postings.clear();
    this.#last = term;
  }

  #finish(): void {
    this.#done.push({ first: this.#first ?? NO_BYTES, body: this.#page.finish() });
    this.#first = null;
    this.#last = NO_BYTES;
  }
}

/** Where the postings end that fit, from `from` on: at least one does. */
function endOfFitting(units: Int32Array, from: number, space: number): number {
  let used = 0;
  let before = 0;
  let at = from;
  for (; at < units.length; at++) {
    const unit = units[at] ?? 0;
    const difference = unit - before;
    // With its impact.
    used += difference < 128 ? 2 : difference < 16_384 ? 3 : difference < 2_097_152 ? 4 : POSTING_BYTES;
    if (used > space) break;
    before = unit;
  }
  return Math.max(at, from + 1);
}

function sharedLength(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length);
  let at = 0;
  while (at < most && a[at] === b[at]) at++;
  return at;
}

/** The postings of a term on a page; null: the page does not have it. */
export function findPostings(content: Uint8Array, term: Uint8Array): PartPostings | null {
  const reader = new ByteReader(content);
  // So many bytes the entry before has in common with the term, which it comes before.
  let matched = 0;
  while (!reader.isAtEnd) {
    const shared = reader.readNumber();
    const suffix = reader.readBytes(reader.readNumber());
    // The entry before had more in common with the term: this one comes after it.
    if (shared < matched) return null;
    if (shared === matched) {
      let at = 0;
      while (at < suffix.length && matched < term.length && suffix[at] === term[matched]) {
        at++;
        matched++;
      }
      if (matched === term.length) return at === suffix.length ? readPostings(reader, term) : null;
      if (at < suffix.length && (suffix[at] ?? 0) > (term[matched] ?? 0)) return null;
    }
    skipPostings(reader);
  }
  return null;
}

function skipPostings(reader: ByteReader): number {
  const count = reader.readNumber();
  reader.readBytes(reader.readNumber());
  return count;
}

function readPostings(reader: ByteReader, term: Uint8Array): PartPostings {
  const count = reader.readNumber();
  const end = reader.readNumber() + reader.at;
  // Each posting takes a byte at least.
  if (end > reader.bytes.length || count > end - reader.at) throw damagedPage();
  const units = new Int32Array(count);
  let unit = 0;
  for (let at = 0; at < count; at++) {
    unit += reader.readNumber();
    units[at] = unit;
  }
  const impacts = term[0] === FIELD_BYTE ? new Uint8Array(count).fill(1) : reader.readBytes(count);
  if (reader.at !== end) throw damagedPage();
  return { units, impacts };
}

export interface TermEntry {
  readonly term: Uint8Array;
  readonly postings: PartPostings;
}

/** All entries of a page, in their order. */
export function* readEntries(content: Uint8Array): Generator<TermEntry, void, void> {
  const reader = new ByteReader(content);
  let term = NO_BYTES;
  while (!reader.isAtEnd) {
    term = readTerm(reader, term);
    yield { term, postings: readPostings(reader, term) };
  }
}

/** The terms of a page with the counts of their postings on it. */
export function* readTermCounts(
  content: Uint8Array,
): Generator<readonly [term: Uint8Array, count: number], void, void> {
  const reader = new ByteReader(content);
  let term = NO_BYTES;
  while (!reader.isAtEnd) {
    term = readTerm(reader, term);
    yield [term, skipPostings(reader)];
  }
}

/** null: the page has no entry. */
export function readFirstTerm(content: Uint8Array): string | null {
  const reader = new ByteReader(content);
  return reader.isAtEnd ? null : Buffer.from(readTerm(reader, NO_BYTES)).toString("utf8");
}

function readTerm(reader: ByteReader, before: Uint8Array): Uint8Array<ArrayBuffer> {
  const shared = reader.readNumber();
  const suffix = reader.readBytes(reader.readNumber());
  if (shared > before.length) throw damagedPage();
  const term = new Uint8Array(shared + suffix.length);
  term.set(before.subarray(0, shared));
  term.set(suffix, shared);
  return term;
}
