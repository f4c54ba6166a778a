// The table of the units of several parts, one part after the other. In a part a group is one run, so that its units are linked without
// sorting, and runs of the same group follow each other.
import type { UnitTable } from "./reader.ts";
import { allocateColumns, COLUMN_NAMES, type UnitColumns } from "./unit-columns.ts";

/** A group in the table: its index, and the last unit of its last run. */
interface GroupEnd {
  readonly index: number;
  readonly last: number;
}

export interface JoinedUnits {
  readonly table: UnitTable;
  readonly ends: ReadonlyMap<number, GroupEnd>;
  /** The indexes of groups of which a run does not come after those before it, such as memories that were saved again. */
  readonly tangled: ReadonlySet<number>;
}

export function joinUnits(parts: readonly UnitColumns[]): JoinedUnits {
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  const builder = new TableBuilder(count, null);
  for (const part of parts) builder.add(part);
  return builder.build();
}

/** The table with the units of one more part. What is there already is copied as it is, which takes a tenth of the time. */
export function appendUnits(joined: JoinedUnits, part: UnitColumns): UnitTable {
  const builder = new TableBuilder(joined.table.count + part.count, joined);
  builder.add(part);
  return builder.build().table;
}

class TableBuilder {
  readonly #table: Omit<UnitTable, "groupNumbers" | "groupWords">;
  readonly #ends: Map<number, GroupEnd>;
  readonly #words: number[];
  readonly #tangled: Set<number>;
  #offset = 0;

  constructor(count: number, joined: JoinedUnits | null) {
    this.#table = {
      ...allocateColumns(count),
      count,
      group: new Int32Array(count),
      previous: new Int32Array(count),
      next: new Int32Array(count),
      isFarLinked: new Uint8Array(count),
    };
    this.#ends = new Map(joined?.ends);
    this.#words = joined === null ? [] : [...joined.table.groupWords];
    this.#tangled = new Set(joined?.tangled);
    if (joined === null) return;
    const { table } = joined;
    for (const name of [...COLUMN_NAMES, ...LINK_NAMES]) this.#table[name].set(table[name]);
    this.#offset = table.count;
  }

  add(part: UnitColumns): void {
    const table = this.#table;
    const offset = this.#offset;
    for (const name of COLUMN_NAMES) table[name].set(part[name], offset);
    for (let at = 0; at < part.groups.length; at++) {
      const from = part.starts[at] ?? 0;
      const to = part.starts[at + 1] ?? 0;
      this.#addRun(part.groups[at] ?? 0, offset + from, offset + to - 1);
    }
    this.#offset += part.count;
  }

  #addRun(group: number, first: number, last: number): void {
    const table = this.#table;
    const known = this.#ends.get(group);
    const index = known?.index ?? this.#ends.size;
    let words = 0;
    for (let unit = first; unit <= last; unit++) {
      table.group[unit] = index;
      table.previous[unit] = unit - 1;
      table.next[unit] = unit + 1;
      words += table.words[unit] ?? 0;
    }
    table.previous[first] = known?.last ?? -1;
    table.next[last] = -1;
    this.#words[index] = (this.#words[index] ?? 0) + words;
    this.#ends.set(group, { index, last });
    if (known === undefined) return;
    table.next[known.last] = first;
    markFarLinks(table, known.last, first);
    if (!isBefore(table, known.last, first)) this.#tangled.add(index);
  }

  build(): JoinedUnits {
    const groupNumbers = Float64Array.from(this.#ends.keys());
    const table: UnitTable = { ...this.#table, groupNumbers, groupWords: Float64Array.from(this.#words) };
    if (this.#tangled.size > 0) sortLinks(table, this.#tangled);
    return { table, ends: this.#ends, tangled: this.#tangled };
  }
}

const LINK_NAMES = ["group", "previous", "next", "isFarLinked"] as const;

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
