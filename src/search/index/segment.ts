// A segment is an immutable part of the index: pages of units, and pages of terms. It is made of units in memory, in slices, so that
// the event loop runs meanwhile; merge.ts makes one of other segments.
import { encodeText } from "../../core/bytes.ts";
import type { InterruptibleWork } from "../../core/time-slice.ts";
import { directorySum } from "./directory.ts";
import type { PartPostings } from "./parts.ts";
import { type TermPage, TermPageWriter } from "./term-pages.ts";
import { sortTerms } from "./terms.ts";
import { columnsOf, compareUnits, countItems, type UnitColumns } from "./unit-columns.ts";
import { encodeUnitPages } from "./unit-pages.ts";
import type { UnitRecord } from "./unit-table.ts";

/** Numbers of pages: of terms from 0 on, of units from FIRST_UNIT_PAGE downwards, and one that lists the units that were removed. */
const FIRST_UNIT_PAGE = -1;
export const REMOVED_PAGE = -1_000_000;

interface SegmentPage {
  readonly page: number;
  /** The bytes of the first term; none in pages of units. */
  readonly first: Uint8Array;
  readonly body: Uint8Array;
}

export interface MadeSegment {
  readonly units: number;
  readonly items: number;
  readonly bytes: number;
  /** See directory.ts. */
  readonly directory: number;
  readonly pages: readonly SegmentPage[];
}

const NO_BYTES = new Uint8Array(0);

export function* segmentOf(columns: UnitColumns, terms: readonly TermPage[]): InterruptibleWork<MadeSegment> {
  const pages: SegmentPage[] = terms.map(({ first, body }, page) => ({ page, first, body }));
  let page = FIRST_UNIT_PAGE;
  for (const body of encodeUnitPages(columns)) {
    pages.push({ page: page--, first: NO_BYTES, body });
    yield;
  }
  const bytes = pages.reduce((sum, { first, body }) => sum + first.length + body.length, 0);
  const directory = directorySum(terms.map(({ first }, page) => ({ page, first })));
  return { units: columns.count, items: countItems(columns), bytes, directory, pages };
}

/** Postings between two looks at the clock. */
const BLOCK = 4096;

/** Postings that there is room for at first. */
const FIRST_ROOM = 16_384;

/**
 * Collects units in any order. Their terms are kept as numbers in flat columns: as many maps and lists would keep the garbage
 * collector busy for longer than everything else takes.
 */
export class SegmentBuilder {
  readonly #records: UnitRecord[] = [];
  /** Where the postings of each unit begin. */
  readonly #starts: number[] = [];
  readonly #numbers = new Map<string, number>();
  #terms = new Int32Array(FIRST_ROOM);
  #impacts = new Uint8Array(FIRST_ROOM);
  #count = 0;

  get unitCount(): number {
    return this.#records.length;
  }

  add(record: UnitRecord, terms: ReadonlyMap<string, number>): void {
    this.#records.push(record);
    this.#starts.push(this.#count);
    if (this.#count + terms.size > this.#terms.length) this.#grow(this.#count + terms.size);
    for (const [term, impact] of terms) {
      let number = this.#numbers.get(term);
      if (number === undefined) {
        number = this.#numbers.size;
        this.#numbers.set(term, number);
      }
      this.#terms[this.#count] = number;
      this.#impacts[this.#count] = impact;
      this.#count += 1;
    }
  }

  #grow(least: number): void {
    const room = Math.max(least, 2 * this.#terms.length);
    const terms = new Int32Array(room);
    terms.set(this.#terms);
    this.#terms = terms;
    const impacts = new Uint8Array(room);
    impacts.set(this.#impacts);
    this.#impacts = impacts;
  }

  *build(): InterruptibleWork<MadeSegment> {
    const order = [...this.#records.keys()].sort((a, b) => compareUnits(this.#record(a), this.#record(b)));
    const columns = columnsOf(order.map((unit) => this.#record(unit)));
    yield;
    const postings = yield* this.#sortPostings(order);
    const sorted = sortTerms([...this.#numbers.keys()]);
    yield;
    const writer = new TermPageWriter();
    let steps = 0;
    for (const term of sorted) {
      const number = this.#numbers.get(term) ?? 0;
      const [from, to] = [postings.starts[number] ?? 0, postings.starts[number + 1] ?? 0];
      writer.add(encodeText(term), {
        units: postings.units.subarray(from, to),
        impacts: postings.impacts.subarray(from, to),
      });
      steps += to - from + 16;
      if (steps < BLOCK) continue;
      steps = 0;
      yield;
    }
    return yield* segmentOf(columns, writer.end());
  }

  #record(unit: number): UnitRecord {
    return this.#records[unit] as UnitRecord;
  }

  /** By term, and then by the place of their unit in the order. */
  *#sortPostings(order: readonly number[]): InterruptibleWork<PartPostings & { readonly starts: Int32Array }> {
    const starts = new Int32Array(this.#numbers.size + 1);
    for (let at = 0; at < this.#count; at++)
      starts[(this.#terms[at] ?? 0) + 1] = (starts[(this.#terms[at] ?? 0) + 1] ?? 0) + 1;
    for (let term = 0; term < this.#numbers.size; term++)
      starts[term + 1] = (starts[term + 1] ?? 0) + (starts[term] ?? 0);
    yield;
    const next = starts.slice();
    const units = new Int32Array(this.#count);
    const impacts = new Uint8Array(this.#count);
    for (const [number, unit] of order.entries()) {
      const end = this.#starts[unit + 1] ?? this.#count;
      for (let at = this.#starts[unit] ?? 0; at < end; at++) {
        const term = this.#terms[at] ?? 0;
        const to = next[term] ?? 0;
        next[term] = to + 1;
        units[to] = number;
        impacts[to] = this.#impacts[at] ?? 0;
      }
      if (number % 256 === 255) yield;
    }
    return { units, impacts, starts };
  }
}
