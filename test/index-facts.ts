// What a snapshot of the text index says, without numbers of units: two snapshots of the same items say the same.
import type { IndexSnapshot } from "../src/search/index/reader.ts";

export interface IndexFacts {
  readonly itemCount: number;
  readonly units: readonly object[];
  readonly postings: readonly object[];
  readonly prefixes: readonly (readonly string[])[];
}

/** Of the terms, which may be any. */
export async function indexFacts(snapshot: IndexSnapshot, terms: readonly string[]): Promise<IndexFacts> {
  const { units, itemCount } = snapshot;
  const name = (unit: number | undefined) => {
    if (unit === undefined || unit === -1) return "-";
    return `${units.groupNumbers[units.group[unit] ?? -1]}/${units.item[unit]}/${units.part[unit]}`;
  };
  const rows = Array.from({ length: units.count }, (_, unit) => ({
    unit: name(unit),
    previous: name(units.previous[unit]),
    next: name(units.next[unit]),
    words: units.words[unit],
    minutes: units.minutes[unit],
    flags: units.flags[unit],
  }));
  const lists = await snapshot.readPostings(terms);
  const prefixes = [
    ...new Set(["", ...terms.map((term) => term.slice(0, 1)), ...terms.map((term) => term.slice(0, 3))]),
  ];
  return {
    itemCount,
    units: rows.sort((a, b) => (a.unit < b.unit ? -1 : 1)),
    postings: lists.map(({ term, count, units: list, impacts }) => ({
      term,
      count,
      isAscending: list.subarray(0, count).every((unit, at) => at === 0 || unit > (list[at - 1] ?? -1)),
      found: Array.from({ length: count }, (_, at) => `${name(list[at])}:${impacts[at]}`).sort(),
    })),
    prefixes: await Promise.all(prefixes.map((prefix) => snapshot.termsWithPrefix(prefix, 7))),
  };
}
