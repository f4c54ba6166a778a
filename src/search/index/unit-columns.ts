// The units of one part of the index as columns, sorted by group, item and part: a group is one run.
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
