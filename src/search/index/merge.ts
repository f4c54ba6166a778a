// Merges segments into one: the units are sorted together, and the postings of each term get their new numbers. Units that were
// removed from a segment are left out.
import { compareBytes } from "../../core/bytes.ts";
import type { InterruptibleWork } from "../../core/time-slice.ts";
import type { PartPostings } from "./parts.ts";
import { type MadeSegment, segmentOf } from "./segment.ts";
import { readEntries, type TermEntry, TermPageWriter } from "./term-pages.ts";
import { allocateColumns, COLUMN_NAMES, type UnitColumns } from "./unit-columns.ts";

/** A segment in memory: its units without removed ones, and the contents of its pages of terms in their order. */
export interface MergeSource {
  readonly columns: UnitColumns;
  /** The number of each stored unit in `columns`; null: they are the same. */
  readonly numbers: Int32Array | null;
  readonly pages: readonly Uint8Array[];
}

/** Steps between two looks at the clock. */
const BLOCK = 4096;

export function* mergeSegments(sources: readonly MergeSource[]): InterruptibleWork<MadeSegment> {
  const { columns, numbers } = yield* mergeUnits(sources);
  const cursors = sources.map(({ pages, numbers: stored }, at) => new EntryCursor(pages, stored, numbers[at] ?? NONE));
  const writer = new TermPageWriter();
  let steps = 0;
  for (;;) {
    const least = leastTerm(cursors);
    if (least === null) break;
    const lists: PartPostings[] = [];
    for (const cursor of cursors) while (cursor.isAt(least)) lists.push(cursor.takePostings());
    const merged = mergePostings(lists);
    writer.add(least, merged);
    steps += merged.units.length + 16;
    if (steps < BLOCK) continue;
    steps = 0;
    yield;
  }
  return yield* segmentOf(columns, writer.end());
}

const NONE = new Int32Array(0);

function leastTerm(cursors: readonly EntryCursor[]): Uint8Array | null {
  let least: Uint8Array | null = null;
  for (const { entry } of cursors) {
    if (entry !== null && (least === null || compareBytes(entry.term, least) < 0)) least = entry.term;
  }
  return least;
}

class EntryCursor {
  readonly #entries: Generator<TermEntry, void, void>;
  readonly #stored: Int32Array | null;
  readonly #numbers: Int32Array;
  entry: TermEntry | null = null;

  constructor(pages: readonly Uint8Array[], stored: Int32Array | null, numbers: Int32Array) {
    this.#entries = entriesOf(pages);
    this.#stored = stored;
    this.#numbers = numbers;
    this.#advance();
  }

  isAt(term: Uint8Array): boolean {
    return this.entry !== null && compareBytes(this.entry.term, term) === 0;
  }

  /** The postings of the entry under their new numbers. */
  takePostings(): PartPostings {
    if (this.entry === null) throw new Error("bug: no entry is left");
    const { units, impacts } = this.entry.postings;
    for (let at = 0; at < units.length; at++) {
      const stored = units[at] ?? 0;
      const unit = this.#stored === null ? stored : (this.#stored[stored] ?? 0);
      units[at] = this.#numbers[unit] ?? 0;
    }
    this.#advance();
    return { units, impacts };
  }

  #advance(): void {
    const next = this.#entries.next();
    this.entry = next.done === true ? null : next.value;
  }
}

function* entriesOf(pages: readonly Uint8Array[]): Generator<TermEntry, void, void> {
  for (const page of pages) yield* readEntries(page);
}

/** Each list is ascending. Most follow one another. */
function mergePostings(lists: readonly PartPostings[]): PartPostings {
  const [only] = lists;
  if (only !== undefined && lists.length === 1) return only;
  const count = lists.reduce((sum, { units }) => sum + units.length, 0);
  const units = new Int32Array(count);
  const impacts = new Uint8Array(count);
  let at = 0;
  let isSorted = true;
  for (const list of lists) {
    if (at > 0 && (list.units[0] ?? 0) < (units[at - 1] ?? 0)) isSorted = false;
    units.set(list.units, at);
    impacts.set(list.impacts, at);
    at += list.units.length;
  }
  if (isSorted) return { units, impacts };
  // A number and its impact in one: both together are below 2^53.
  const pairs = Float64Array.from(units, (unit, i) => unit * 256 + (impacts[i] ?? 0)).sort();
  for (const [i, pair] of pairs.entries()) {
    units[i] = Math.floor(pair / 256);
    impacts[i] = pair % 256;
  }
  return { units, impacts };
}

interface MergedUnits {
  readonly columns: UnitColumns;
  /** For each source, the new number of each of its units. */
  readonly numbers: readonly Int32Array[];
}

interface GroupRun {
  readonly source: number;
  readonly from: number;
  readonly to: number;
}

function* mergeUnits(sources: readonly MergeSource[]): InterruptibleWork<MergedUnits> {
  const runs = new Map<number, GroupRun[]>();
  for (const [source, { columns }] of sources.entries()) {
    for (let at = 0; at < columns.groups.length; at++) {
      const group = columns.groups[at] ?? 0;
      const run = { source, from: columns.starts[at] ?? 0, to: columns.starts[at + 1] ?? 0 };
      const known = runs.get(group);
      if (known === undefined) runs.set(group, [run]);
      else known.push(run);
    }
    yield;
  }
  const count = sources.reduce((sum, { columns }) => sum + columns.count, 0);
  const merged = allocateColumns(count);
  const numbers = sources.map(({ columns }) => new Int32Array(columns.count));
  const groups = Float64Array.from(runs.keys()).sort();
  const starts = new Int32Array(groups.length + 1).fill(count);
  let unit = 0;
  let looked = 0;
  for (const [at, group] of groups.entries()) {
    starts[at] = unit;
    for (const { source, old } of inOrder(sources, runs.get(group) ?? [])) {
      const { columns } = sources[source] as MergeSource;
      for (const name of COLUMN_NAMES) merged[name][unit] = columns[name][old] ?? 0;
      (numbers[source] as Int32Array)[old] = unit;
      unit += 1;
    }
    if (unit - looked < BLOCK) continue;
    looked = unit;
    yield;
  }
  return { columns: { ...merged, count, groups, starts }, numbers };
}

interface SourceUnit {
  readonly source: number;
  readonly old: number;
}

/** The units of one group, by item and part. Its runs mostly follow one another. */
function inOrder(sources: readonly MergeSource[], runs: readonly GroupRun[]): readonly SourceUnit[] {
  const units: SourceUnit[] = [];
  for (const { source, from, to } of runs) for (let old = from; old < to; old++) units.push({ source, old });
  const key = ({ source, old }: SourceUnit, name: "item" | "part") => sources[source]?.columns[name][old] ?? 0;
  const compare = (a: SourceUnit, b: SourceUnit) => key(a, "item") - key(b, "item") || key(a, "part") - key(b, "part");
  if (units.some((one, at) => at > 0 && compare(units[at - 1] as SourceUnit, one) > 0)) units.sort(compare);
  return units;
}
