// Pages of units: the columns of up to 4,096 units each, as runs of groups and differences. Units that were erased are listed on a page
// of their own, because postings name units by number.
import { ByteReader, ByteWriter, damagedPage } from "./byte-stream.ts";
import { allocateColumns, COLUMN_NAMES, type UnitColumns } from "./unit-columns.ts";

const UNITS_PER_PAGE = 4096;

export function* encodeUnitPages(columns: UnitColumns): Generator<Uint8Array, void, void> {
  const { count, groups, starts, item, part, words, minutes, flags } = columns;
  let run = 0;
  for (let from = 0; from < count; from += UNITS_PER_PAGE) {
    const to = Math.min(count, from + UNITS_PER_PAGE);
    const page = new ByteWriter();
    page.writeNumber(to - from);
    let time = 0;
    for (let unit = from; unit < to; ) {
      while ((starts[run + 1] ?? count) <= unit) run++;
      const end = Math.min(to, starts[run + 1] ?? count);
      page.writeNumber(groups[run] ?? 0);
      page.writeNumber(end - unit);
      let last = 0;
      for (; unit < end; unit++) {
        page.writeNumber((item[unit] ?? 0) - last);
        page.writeNumber(part[unit] ?? 0);
        page.writeNumber(words[unit] ?? 0);
        page.writeDifference((minutes[unit] ?? 0) - time);
        page.writeNumber(flags[unit] ?? 0);
        last = item[unit] ?? 0;
        time = minutes[unit] ?? 0;
      }
    }
    yield page.finish();
  }
}

/** The contents of all pages of a segment, in their order, as the columns of its units. */
export function* decodeUnitPages(contents: readonly Uint8Array[], count: number): Generator<void, UnitColumns, void> {
  const columns = allocateColumns(count);
  const groups: number[] = [];
  const starts: number[] = [];
  let unit = 0;
  for (const content of contents) {
    const reader = new ByteReader(content);
    const end = unit + reader.readNumber();
    if (end > count) throw damagedPage();
    let time = 0;
    while (unit < end) {
      const group = reader.readNumber();
      const runEnd = unit + reader.readNumber();
      if (runEnd > end || runEnd === unit) throw damagedPage();
      if (groups.at(-1) !== group) {
        groups.push(group);
        starts.push(unit);
      }
      let last = 0;
      for (; unit < runEnd; unit++) {
        last += reader.readNumber();
        columns.item[unit] = last;
        columns.part[unit] = reader.readNumber();
        columns.words[unit] = reader.readNumber();
        time += reader.readDifference();
        columns.minutes[unit] = time;
        columns.flags[unit] = reader.readNumber();
      }
    }
    if (!reader.isAtEnd) throw damagedPage();
    yield;
  }
  if (unit !== count) throw damagedPage();
  return { ...columns, count, groups: Float64Array.from(groups), starts: Int32Array.from([...starts, count]) };
}

/** Units without those that were removed. */
export interface LiveUnits {
  readonly columns: UnitColumns;
  /** Of each stored unit the number in `columns`, -1 if it was removed; null: no unit was removed. */
  readonly numbers: Int32Array | null;
}

/** Numbers of stored units, ascending. */
export function encodeRemoved(units: readonly number[]): Uint8Array {
  const page = new ByteWriter();
  let before = 0;
  for (const unit of units) {
    page.writeNumber(unit - before);
    before = unit;
  }
  return page.finish();
}

export function withoutRemoved(columns: UnitColumns, removed: Uint8Array | null): LiveUnits {
  if (removed === null) return { columns, numbers: null };
  const numbers = new Int32Array(columns.count);
  const reader = new ByteReader(removed);
  for (let unit = 0; !reader.isAtEnd; ) {
    unit += reader.readNumber();
    if (unit >= columns.count) throw damagedPage();
    numbers[unit] = -1;
  }
  let live = 0;
  for (let unit = 0; unit < columns.count; unit++) if (numbers[unit] !== -1) numbers[unit] = live++;
  const kept = allocateColumns(live);
  const groups: number[] = [];
  const starts: number[] = [];
  for (const [at, group] of columns.groups.entries()) {
    const end = columns.starts[at + 1] ?? columns.count;
    for (let unit = columns.starts[at] ?? 0; unit < end; unit++) {
      const number = numbers[unit] ?? -1;
      if (number === -1) continue;
      if (groups.at(-1) !== group) {
        groups.push(group);
        starts.push(number);
      }
      for (const name of COLUMN_NAMES) kept[name][number] = columns[name][unit] ?? 0;
    }
  }
  const liveColumns = {
    ...kept,
    count: live,
    groups: Float64Array.from(groups),
    starts: Int32Array.from([...starts, live]),
  };
  return { columns: liveColumns, numbers };
}
