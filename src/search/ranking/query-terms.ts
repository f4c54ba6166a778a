// From a query to weighted terms: the lists of its words, of its prefixes, and of words that belong together.
import { type InterruptibleWork, runInSlices, type TimeSlice } from "../../core/time-slice.ts";
import type { IndexSnapshot, PostingList, UnitTable } from "../index/reader.ts";
import type { IndexQuery } from "../text/query.ts";
import { intersect, unite } from "./conjunction.ts";
import type { WeightedTerm } from "./ranking.ts";
import { type RankingWeights, rarityOf } from "./weights.ts";

/** Of a query of more words, the rarest count: a user may pass a whole text. */
const QUERY_TERMS_MAX = 1024;
/** Terms that a prefix stands for, the most frequent first. */
const PREFIX_TERMS_MAX = 64;

export interface QueryTerms {
  readonly weighted: readonly WeightedTerm[];
  /** The lists of each phrase, in its order. */
  readonly phrases: readonly (readonly PostingList[])[];
}

export async function readQueryTerms(
  snapshot: IndexSnapshot,
  query: IndexQuery,
  { isRareByGroup }: RankingWeights,
  slice: TimeSlice,
): Promise<QueryTerms> {
  const expanded = await Promise.all(query.prefixes.map((prefix) => expandPrefix(snapshot, prefix)));
  const sequences = [...query.phrases, ...query.compounds];
  const words = [...new Set([...query.terms, ...sequences.flat()])];
  const all = [...new Set([...words, ...expanded.flat()])];
  const lists = new Map((await snapshot.readPostings(all)).map((list) => [list.term, list]));
  const listsOf = (terms: readonly string[]) => terms.flatMap((term) => lists.get(term) ?? []);
  const single = listsOf([...new Set([...query.terms, ...query.phrases.flat()])]);
  const joined = await runInSlices(
    joinLists(
      sequences.filter(({ length }) => length > 1).map(listsOf),
      expanded.map((terms, index) => ({ term: `${query.prefixes[index]?.prefix}*`, lists: listsOf(terms) })),
    ),
    slice,
  );
  const found = [...single, ...joined].filter((list) => list.count > 0);
  const rarities = isRareByGroup
    ? await runInSlices(raritiesByGroup(snapshot.units, found), slice)
    : found.map((list) => rarityOf(list.count, snapshot.units.count));
  const weighted = found
    .map((list, index) => ({ list, rarity: rarities[index] ?? 1 }))
    .sort((a, b) => b.rarity - a.rarity || (a.list.term < b.list.term ? -1 : 1))
    .slice(0, QUERY_TERMS_MAX);
  return { weighted, phrases: query.phrases.map(listsOf) };
}

function* raritiesByGroup(units: UnitTable, lists: readonly PostingList[]): InterruptibleWork<readonly number[]> {
  const { length } = units.groupNumbers;
  /** Of each group the last list that it was counted for, from 1. */
  const counted = new Int32Array(length);
  const rarities: number[] = [];
  for (const [index, list] of lists.entries()) {
    let having = 0;
    for (let at = 0; at < list.count; at++) {
      const group = units.group[list.units[at] ?? 0] ?? 0;
      if (counted[group] === index + 1) continue;
      counted[group] = index + 1;
      having += 1;
    }
    rarities.push(rarityOf(having, length));
    yield;
  }
  return rarities;
}

function* joinLists(
  sequences: readonly (readonly PostingList[])[],
  prefixes: readonly { readonly term: string; readonly lists: readonly PostingList[] }[],
): InterruptibleWork<readonly PostingList[]> {
  const found: PostingList[] = [];
  for (const lists of sequences) found.push(yield* intersect(lists));
  for (const { term, lists } of prefixes) found.push(yield* unite(term, lists));
  return found;
}

async function expandPrefix(
  snapshot: IndexSnapshot,
  { prefix, stem }: IndexQuery["prefixes"][number],
): Promise<readonly string[]> {
  return [...new Set([...(await snapshot.termsWithPrefix(prefix, PREFIX_TERMS_MAX)), stem])];
}
