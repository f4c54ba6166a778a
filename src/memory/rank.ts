// Ranks the memories of one scope by the words of a query. All counts are of the scope's own memories: what other scopes hold
// changes neither what is found nor any score. Scores are whole numbers until the end, and equal on all engines.
import { once } from "../core/memoize.ts";
import { type InterruptibleWork, runInSlices, type TimeSlice } from "../core/time-slice.ts";
import type { IndexSnapshot, PostingList } from "../search/index/reader.ts";
import { PREFIX_TERMS_READ_MAX } from "../search/index/reader.ts";
import { impactOf } from "../search/ranking/impact.ts";
import type { IndexQuery } from "../search/text/query.ts";

export interface RankedMemory {
  /** The memory's number. */
  readonly item: number;
  /** From 0 to 1: 1 if it has all words of the query and few others. */
  readonly text: number;
  /** When it began to hold, in minutes since 1970. */
  readonly minutes: number;
}

/** Steps between two looks at the clock. */
const BLOCK = 1024;

/** Terms of which a memory needs one: those that begin with a prefix, or one term alone. */
type Clue = readonly string[];

/**
 * The memories that have at least one of the query's words and, as far as terms can say, all of its phrases, in no order. `fields`
 * are terms that each must have. That a phrase's words stand together is not checked here.
 */
export async function rankMemories(
  snapshot: IndexSnapshot,
  query: IndexQuery,
  { scope, fields, slice }: ScopeSearch,
): Promise<MemoryRanking> {
  const group = snapshot.units.groupNumbers.indexOf(scope);
  if (group === -1) return { found: [], allows: () => false, minutesOf: () => 0 };
  const prefixes = await readPrefixes(snapshot, query.prefixes);
  const excludedPrefixes = await readPrefixes(snapshot, query.excluded.prefixes);
  const phraseTerms = query.phrases.flat();
  const clues: readonly Clue[] = [
    ...[...new Set([...query.terms, ...phraseTerms])].map((term) => [term]),
    ...prefixes.filter(({ length }) => length > 0),
  ];
  const excluded = [
    ...query.excluded.phrases.flatMap((phrase) => (phrase.length === 1 ? phrase : [])),
    ...excludedPrefixes.flat(),
  ];
  const terms = new Set([...clues.flat(), ...excluded, ...fields.map(({ term }) => term)]);
  const lists = new Map((await snapshot.readPostings([...terms])).map((list) => [list.term, list]));
  const readImpacts = async (all: readonly Clue[]): Promise<readonly ClueImpacts[]> => {
    const impacts: ClueImpacts[] = [];
    for (const clue of all) impacts.push(await runInSlices(impactsOf(snapshot, group, clue, lists), slice));
    return impacts;
  };
  const count = await runInSlices(countItems(snapshot, group), slice);
  const scored = await runInSlices(scoreClues(await readImpacts(clues), count), slice);
  const required = [...phraseTerms.map((term) => [term]), ...fields.filter(isWanted).map(({ term }) => [term])];
  const refused = [
    ...excluded.map((term) => [term]),
    ...fields.filter((one) => !isWanted(one)).map(({ term }) => [term]),
  ];
  const having = (await readImpacts(required)).map(({ impacts }) => impacts);
  const without = (await readImpacts(refused)).map(({ impacts }) => impacts);
  const allows = (item: number) => having.every((one) => one.has(item)) && !without.some((one) => one.has(item));
  const minutes = minutesIn(snapshot, group);
  return {
    found: await runInSlices(keepAllowed(scored, allows), slice),
    // The embeddings may be newer than the index: of a memory that is not in it, nothing is known.
    allows: (item) => minutes().has(item) && allows(item),
    minutesOf: (item) => minutes().get(item) ?? 0,
  };
}

export interface ScopeSearch {
  readonly scope: number;
  readonly fields: readonly FieldClue[];
  readonly slice: TimeSlice;
}

export interface MemoryRanking {
  readonly found: readonly RankedMemory[];
  /**
   * Whether the index has the memory, and this has, as far as terms can say, what the query and the fields demand and nothing that they
   * exclude.
   */
  allows(item: number): boolean;
  /** When a memory of the scope began to hold. */
  minutesOf(item: number): number;
}

function* keepAllowed(
  scored: ReadonlyMap<number, FoundMemory>,
  allows: (item: number) => boolean,
): InterruptibleWork<readonly RankedMemory[]> {
  const found: RankedMemory[] = [];
  let steps = 0;
  for (const [item, { text, minutes }] of scored) {
    if (++steps % BLOCK === 0) yield;
    if (allows(item)) found.push({ item, text, minutes });
  }
  return found;
}

/** By the memories of the scope. Made with the first call: a search by words needs only those of what it found. */
function minutesIn({ units }: IndexSnapshot, group: number): () => ReadonlyMap<number, number> {
  return once(() => {
    const minutes = new Map<number, number>();
    for (let unit = 0; unit < units.count; unit++) {
      if (units.group[unit] === group) minutes.set(units.item[unit] ?? 0, units.minutes[unit] ?? 0);
    }
    return minutes;
  });
}

/** A field term that memories must have, or must not have. */
export interface FieldClue {
  readonly term: string;
  readonly isExcluded: boolean;
}

function isWanted({ isExcluded }: FieldClue): boolean {
  return !isExcluded;
}

function readPrefixes(snapshot: IndexSnapshot, prefixes: IndexQuery["prefixes"]): Promise<readonly Clue[]> {
  return Promise.all(
    prefixes.map(async ({ prefix, stem }) => [
      ...new Set([stem, ...(await snapshot.termsWithPrefix(prefix, PREFIX_TERMS_READ_MAX))]),
    ]),
  );
}

interface ClueImpacts {
  /** By memory: the most that one of its passages says. */
  readonly impacts: ReadonlyMap<number, number>;
  readonly minutes: ReadonlyMap<number, number>;
}

function* impactsOf(
  { units }: IndexSnapshot,
  group: number,
  clue: Clue,
  lists: ReadonlyMap<string, PostingList>,
): InterruptibleWork<ClueImpacts> {
  const impacts = new Map<number, number>();
  const minutes = new Map<number, number>();
  for (const term of clue) {
    const list = lists.get(term);
    if (list === undefined) continue;
    for (let i = 0; i < list.count; i++) {
      if (i % BLOCK === BLOCK - 1) yield;
      const unit = list.units[i] ?? 0;
      if (units.group[unit] !== group) continue;
      const item = units.item[unit] ?? 0;
      impacts.set(item, Math.max(impacts.get(item) ?? 0, list.impacts[i] ?? 0));
      minutes.set(item, units.minutes[unit] ?? 0);
    }
  }
  return { impacts, minutes };
}

/** Each memory has one first passage. */
function* countItems({ units }: IndexSnapshot, group: number): InterruptibleWork<number> {
  let count = 0;
  for (let unit = 0; unit < units.count; unit++) {
    if (unit % BLOCK === BLOCK - 1) yield;
    if (units.group[unit] === group && units.part[unit] === 0) count++;
  }
  return count;
}

/** A word once in a memory of one word. More counts as much. */
const FULL_IMPACT = impactOf(1, 1);
const RARITY_UNITS = 64;

/** How much a word says that `count` of `all` memories have: more if it is rare. Never 0. */
function rarityOf(count: number, all: number): number {
  return Math.max(1, Math.round(RARITY_UNITS * Math.log(1 + (all - count + 0.5) / (count + 0.5))));
}

interface FoundMemory {
  sum: number;
  text: number;
  minutes: number;
}

function* scoreClues(clues: readonly ClueImpacts[], all: number): InterruptibleWork<Map<number, FoundMemory>> {
  const found = new Map<number, FoundMemory>();
  let most = 0;
  for (const { impacts, minutes } of clues) {
    const rarity = rarityOf(impacts.size, all);
    most += rarity * FULL_IMPACT;
    let steps = 0;
    for (const [item, impact] of impacts) {
      if (++steps % BLOCK === 0) yield;
      const score = rarity * Math.min(impact, FULL_IMPACT);
      const known = found.get(item);
      if (known === undefined) found.set(item, { sum: score, text: 0, minutes: minutes.get(item) ?? 0 });
      else known.sum += score;
    }
  }
  for (const memory of found.values()) memory.text = memory.sum / most;
  return found;
}
