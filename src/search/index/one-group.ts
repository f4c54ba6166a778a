// One group of a snapshot as a snapshot of its own: each of its items is a group, and all counts are of these items. So a search in a
// collection of documents ranks them as if no other collection were there.
import type { IndexSnapshot, PostingList, UnitTable } from "./reader.ts";
import { PREFIX_TERMS_READ_MAX } from "./reader.ts";
import { compareTerms } from "./terms.ts";

/** Units of the snapshot that follow one another, and the number that the first of them has here. */
interface UnitRun {
  readonly from: number;
  readonly to: number;
  readonly first: number;
}

interface GroupTable {
  readonly units: UnitTable;
  readonly runs: readonly UnitRun[];
  /** By the snapshot's own lists, as long as those are kept: rankings keep what they know of a list with it. */
  readonly lists: WeakMap<PostingList, PostingList>;
}

/** Searches of an index that has not changed share the tables. */
const tables = new WeakMap<UnitTable, Map<number, GroupTable | null>>();

/** null: nothing of the group is indexed. */
export function oneGroup(snapshot: IndexSnapshot, groupNumber: number): IndexSnapshot | null {
  const known = tables.get(snapshot.units) ?? new Map<number, GroupTable | null>();
  tables.set(snapshot.units, known);
  const found = known.get(groupNumber);
  const table = found === undefined ? createTable(snapshot.units, groupNumber) : found;
  known.set(groupNumber, table);
  if (table === null) return null;
  const { units } = table;
  const readPostings = async (terms: readonly string[]) =>
    (await snapshot.readPostings(terms)).map((list) => postingsIn(list, table));
  return {
    kind: snapshot.kind,
    units,
    itemCount: units.groupNumbers.length,
    readPostings,
    termsWithPrefix: async (prefix, limit) => {
      const lists = await readPostings(await snapshot.termsWithPrefix(prefix, PREFIX_TERMS_READ_MAX));
      return lists
        .filter(({ count }) => count > 0)
        .sort((a, b) => b.count - a.count || compareTerms(a.term, b.term))
        .slice(0, limit)
        .map(({ term }) => term);
    },
  };
}

function createTable(all: UnitTable, groupNumber: number): GroupTable | null {
  const group = all.groupNumbers.indexOf(groupNumber);
  if (group === -1) return null;
  const runs = findRuns(all, group);
  const last = runs.at(-1);
  const count = last === undefined ? 0 : last.first + last.to - last.from;
  if (count === 0) return null;
  const item = new Uint32Array(count);
  const part = new Uint32Array(count);
  const words = new Uint16Array(count);
  const minutes = new Uint32Array(count);
  const flags = new Uint8Array(count);
  for (const { from, to, first } of runs) {
    item.set(all.item.subarray(from, to), first);
    part.set(all.part.subarray(from, to), first);
    words.set(all.words.subarray(from, to), first);
    minutes.set(all.minutes.subarray(from, to), first);
    flags.set(all.flags.subarray(from, to), first);
  }
  const isFarLinked = new Uint8Array(count);
  return {
    units: { count, item, part, words, minutes, flags, isFarLinked, ...groupByItem(item, words) },
    runs,
    lists: new WeakMap(),
  };
}

function findRuns({ count, group: groups }: UnitTable, group: number): readonly UnitRun[] {
  const runs: UnitRun[] = [];
  let first = 0;
  for (let from = groups.indexOf(group); from !== -1 && from < count; ) {
    let to = from + 1;
    while (to < count && groups[to] === group) to++;
    runs.push({ from, to, first });
    first += to - from;
    from = groups.indexOf(group, to);
  }
  return runs;
}

/** An item is in one segment, or pending: its units follow one another. */
function groupByItem(
  item: Uint32Array,
  words: Uint16Array,
): Pick<UnitTable, "group" | "groupNumbers" | "groupWords" | "previous" | "next"> {
  const count = item.length;
  const group = new Int32Array(count);
  const previous = new Int32Array(count).fill(-1);
  const next = new Int32Array(count).fill(-1);
  const numbers: number[] = [];
  const wordsOf: number[] = [];
  for (let unit = 0; unit < count; unit++) {
    if (unit > 0 && item[unit] === item[unit - 1]) {
      previous[unit] = unit - 1;
      next[unit - 1] = unit;
    } else {
      numbers.push(item[unit] ?? 0);
      wordsOf.push(0);
    }
    const index = numbers.length - 1;
    group[unit] = index;
    wordsOf[index] = (wordsOf[index] ?? 0) + (words[unit] ?? 0);
  }
  return { group, groupNumbers: Float64Array.from(numbers), groupWords: Float64Array.from(wordsOf), previous, next };
}

function postingsIn(list: PostingList, { runs, lists }: GroupTable): PostingList {
  const known = lists.get(list);
  if (known !== undefined) return known;
  const { term, count, units, impacts } = list;
  const parts = runs.map(({ from, to, first }) => {
    const start = lowerBound(units, count, from);
    return { start, end: lowerBound(units, count, to), shift: first - from };
  });
  const total = parts.reduce((sum, { start, end }) => sum + end - start, 0);
  const found = { term, count: total, units: new Int32Array(total), impacts: new Uint8Array(total) };
  let at = 0;
  for (const { start, end, shift } of parts) {
    found.impacts.set(impacts.subarray(start, end), at);
    for (let i = start; i < end; i++) found.units[at++] = (units[i] ?? 0) + shift;
  }
  lists.set(list, found);
  return found;
}

/** The first position of a unit that is not below `unit`. */
function lowerBound(units: Int32Array, count: number, unit: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((units[middle] ?? 0) < unit) low = middle + 1;
    else high = middle;
  }
  return low;
}
