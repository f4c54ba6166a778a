// Builds the table of units of a snapshot from sources, each sorted by group, item and part, and links the units of a group across
// all of them.
import type { UnitTable } from "./reader.ts";

export interface UnitRecord {
  readonly group: number;
  readonly item: number;
  readonly part: number;
  readonly words: number;
  readonly minutes: number;
  readonly flags: number;
}

const MINUTE_MS = 60_000;

/** Times before 1970 and after the year 10135 are moved to these ends. */
export function toMinutes(at: number): number {
  return Math.min(0xff_ff_ff_ff, Math.max(0, Math.floor(at / MINUTE_MS)));
}

export function createUnitTable(records: readonly UnitRecord[]): UnitTable {
  const count = records.length;
  const groups = new Map<number, number>();
  for (const { group } of records) if (!groups.has(group)) groups.set(group, groups.size);
  const table = {
    count,
    group: new Int32Array(count),
    groupNumbers: Float64Array.from(groups.keys()),
    groupWords: new Float64Array(groups.size),
    previous: new Int32Array(count).fill(-1),
    next: new Int32Array(count).fill(-1),
    isFarLinked: new Uint8Array(count),
    item: new Uint32Array(count),
    part: new Uint32Array(count),
    words: new Uint16Array(count),
    minutes: new Uint32Array(count),
    flags: new Uint8Array(count),
  };
  for (const [unit, record] of records.entries()) {
    const index = groups.get(record.group) ?? 0;
    table.group[unit] = index;
    table.groupWords[index] = (table.groupWords[index] ?? 0) + record.words;
    table.item[unit] = record.item;
    table.part[unit] = record.part;
    table.words[unit] = record.words;
    table.minutes[unit] = record.minutes;
    table.flags[unit] = record.flags;
  }
  linkUnits(table);
  return table;
}

/** Links the units of each group in the order of their items and parts. */
function linkUnits({ count, group, item, part, previous, next, isFarLinked }: UnitTable): void {
  const order = Int32Array.from({ length: count }, (_, unit) => unit).sort(
    (a, b) =>
      (group[a] ?? 0) - (group[b] ?? 0) || (item[a] ?? 0) - (item[b] ?? 0) || (part[a] ?? 0) - (part[b] ?? 0) || a - b,
  );
  for (let at = 1; at < count; at++) {
    const before = order[at - 1] ?? 0;
    const unit = order[at] ?? 0;
    if (group[before] !== group[unit]) continue;
    next[before] = unit;
    previous[unit] = before;
  }
  const isFar = (unit: number, links: Int32Array, step: number) => {
    const near = links[unit] ?? -1;
    const far = near === -1 ? -1 : (links[near] ?? -1);
    return (near !== -1 && near !== unit + step) || (far !== -1 && far !== unit + 2 * step);
  };
  for (let unit = 0; unit < count; unit++) {
    if (isFar(unit, previous, -1) || isFar(unit, next, 1)) isFarLinked[unit] = 1;
  }
}
