// The units of one part of the index as columns, sorted by group, item and part, and the table of units that several parts are
// together. In a part a group is one run, so that its units are linked without sorting, and parts follow each other.
import type { UnitTable } from "./reader.ts";
import type { UnitRecord } from "./unit-table.ts";

export interface UnitColumns {
  readonly count: number;
  /** The numbers of the groups, ascending. */
  readonly groups: Float64Array;
  /** Where the run of each group begins, and at last the count. */
  readonly starts: Int32Array;
  readonly item: Uint32Array;
  readonly part: Uint32Array;
  readonly words: Uint16Array;
  readonly minutes: Uint32Array;
  readonly flags: Uint8Array;
}

export function compareUnits(a: UnitRecord, b: UnitRecord): number {
  return a.group - b.group || a.item - b.item || a.part - b.part;
}

/** Of sorted records. */
export function columnsOf(records: readonly UnitRecord[]): UnitColumns {
  const count = records.length;
  const groups: number[] = [];
  const starts: number[] = [];
  const columns = allocateColumns(count);
  for (const [unit, record] of records.entries()) {
    if (groups.at(-1) !== record.group) {
      groups.push(record.group);
      starts.push(unit);
    }
    columns.item[unit] = record.item;
    columns.part[unit] = record.part;
    columns.words[unit] = record.words;
    columns.minutes[unit] = record.minutes;
    columns.flags[unit] = record.flags;
  }
  return { ...columns, count, groups: Float64Array.from(groups), starts: Int32Array.from([...starts, count]) };
}

export const COLUMN_NAMES = ["item", "part", "words", "minutes", "flags"] as const;

export function allocateColumns(count: number) {
  return {
    item: new Uint32Array(count),
    part: new Uint32Array(count),
    words: new Uint16Array(count),
    minutes: new Uint32Array(count),
    flags: new Uint8Array(count),
  };
}

/** How many items the units are of. */
export function countItems({ groups, starts, item }: UnitColumns): number {
  let count = 0;
  for (let at = 0; at < groups.length; at++) {
    const start = starts[at] ?? 0;
    const end = starts[at + 1] ?? 0;
    for (let unit = start; unit < end; unit++) if (unit === start || item[unit] !== item[unit - 1]) count += 1;
  }
  return count;
}

/** The run of a group in the table, and whether all of it comes after the runs before it. */
interface GroupRuns {
  readonly index: number;
  last: number;
  isSorted: boolean;
}

/** The units of the parts one after the other; those of a group are linked across all of them. */
export function joinUnits(parts: readonly UnitColumns[]): UnitTable {
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  const table = {
    ...allocateColumns(count),
    count,
    group: new Int32Array(count),
    previous: new Int32Array(count),
    next: new Int32Array(count),
    isFarLinked: new Uint8Array(count),
  };
  const runs = new Map<number, GroupRuns>();
  let offset = 0;
  for (const part of parts) {
    for (const name of COLUMN_NAMES) table[name].set(part[name], offset);
    for (let at = 0; at < part.groups.length; at++) {
      const first = offset + (part.starts[at] ?? 0);
      const last = offset + (part.starts[at + 1] ?? 0) - 1;
      const group = part.groups[at] ?? 0;
      const known = runs.get(group);
      const index = known?.index ?? runs.size;
      for (let unit = first; unit <= last; unit++) {
        table.group[unit] = index;
        table.previous[unit] = unit - 1;
        table.next[unit] = unit + 1;
      }
      table.previous[first] = known?.last ?? -1;
      table.next[last] = -1;
      if (known === undefined) {
        runs.set(group, { index, last, isSorted: true });
        continue;
      }
      table.next[known.last] = first;
      markFarLinks(table, known.last, first);
      if (!isBefore(table, known.last, first)) known.isSorted = false;
      known.last = last;
    }
    offset += part.count;
  }
  const made: UnitTable = { ...table, groupNumbers: Float64Array.from(runs.keys()) };
  const tangled = new Set([...runs.values()].filter(({ isSorted }) => !isSorted).map(({ index }) => index));
  if (tangled.size > 0) sortLinks(made, tangled);
  return made;
}

/** Of the two units on each side of a link between parts. */
function markFarLinks(
  { previous, next, isFarLinked }: Pick<UnitTable, "previous" | "next" | "isFarLinked">,
  before: number,
  after: number,
): void {
  for (const unit of [before, previous[before] ?? -1, after, next[after] ?? -1]) if (unit !== -1) isFarLinked[unit] = 1;
}

function isBefore({ item, part }: Pick<UnitTable, "item" | "part">, a: number, b: number): boolean {
  const itemA = item[a] ?? 0;
  const itemB = item[b] ?? 0;
  return itemA < itemB || (itemA === itemB && (part[a] ?? 0) < (part[b] ?? 0));
}

/** Links the units of groups whose runs overlap, such as memories that were saved again. */
function sortLinks(table: UnitTable, groups: ReadonlySet<number>): void {
  const { count, group, item, part, previous, next, isFarLinked } = table;
  const units = new Map<number, number[]>([...groups].map((index) => [index, []]));
  for (let unit = 0; unit < count; unit++) units.get(group[unit] ?? -1)?.push(unit);
  for (const list of units.values()) {
    list.sort((a, b) => (item[a] ?? 0) - (item[b] ?? 0) || (part[a] ?? 0) - (part[b] ?? 0) || a - b);
    for (const [at, unit] of list.entries()) {
      previous[unit] = list[at - 1] ?? -1;
      next[unit] = list[at + 1] ?? -1;
      isFarLinked[unit] = 1;
    }
  }
}
