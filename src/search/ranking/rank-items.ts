// Ranks the items of a snapshot for a query: the best unit of each, with its score. Messages, memories and documents are ranked
// here alike. Phrases and exclusions are decided by the index as far as it can; who reads the text checks it with `matchesText`.
import { once } from "../../core/memoize.ts";
import { runInSlices, type TimeSlice } from "../../core/time-slice.ts";
import { fieldTerm, type IndexSnapshot, type PostingList, type UnitTable } from "../index/reader.ts";
import type { IndexQuery } from "../text/query.ts";
import { allowUnits, type UnitFilter } from "./allowed-units.ts";
import { readQueryTerms } from "./query-terms.ts";
import { rankUnits, scoreUnits } from "./rank-units.ts";
import type { RankedUnit, UnitFactors, WeightedTerm } from "./ranking.ts";
import { ONE, type RankingWeights, TERM_SCORE_MAX, WEIGHTS } from "./weights.ts";

export interface FieldValues {
  readonly field: string;
  /** One of these; with `isExcluded`, none of these. */
  readonly values: readonly string[];
  readonly isExcluded: boolean;
}

export interface ItemSelection extends UnitFilter {
  readonly fields?: readonly FieldValues[];
}

export interface ItemRankingOptions {
  readonly selection?: ItemSelection;
  /** Multiplies scores; by default nothing does. */
  readonly factors?: UnitFactors;
  readonly weights?: RankingWeights;
}

export interface RankedItem extends RankedUnit {
  /** The number of the item's group, its number in it, and the passage that matches best. */
  readonly groupNumber: number;
  readonly item: number;
  readonly part: number;
  /** From 0 to 1: the share of the highest score that any item could have for the query. */
  readonly share: number;
  /** The same of its text and its neighbours alone, and of its group. */
  readonly textShare: number;
  readonly groupShare: number;
}

type UnitOfItem = Omit<RankedItem, "share" | "textShare" | "groupShare">;

export interface ItemRanking {
  /** That any item could have for the query. */
  readonly highestScore: number;
  /** Exactly the best items, best first. Fewer than `limit`: no other item has a term of the query. */
  best(limit: number): Promise<readonly RankedItem[]>;
  /** 1 for each unit that may be found; null: all may. */
  readAllowed(): Promise<Uint8Array | null>;
  /** The units, in their order, with their scores: 0 for those without a term of the query. */
  scoresOf(units: readonly number[]): Promise<readonly RankedItem[]>;
}

const PLAIN_FACTORS: UnitFactors = { max: ONE, factorOf: () => ONE };

export async function openItemRanking(
  snapshot: IndexSnapshot,
  query: IndexQuery,
  slice: TimeSlice,
  { selection = {}, factors = PLAIN_FACTORS, weights = WEIGHTS[snapshot.kind] }: ItemRankingOptions = {},
): Promise<ItemRanking> {
  const { weighted, phrases } = await readQueryTerms(snapshot, query, weights, slice);
  // A search by words that has none in the index needs no filter.
  const readFilter = once(() => readAllowed(snapshot, query, selection, phrases, slice));
  const highest = highestScores(weighted, weights, factors);
  const share = shareOf(highest);
  return {
    highestScore: highest.all,
    readAllowed: readFilter,
    async scoresOf(wanted) {
      const found = await runInSlices(scoreUnits(snapshot.units, weighted, { weights, factors }, wanted), slice);
      const scored = new Map(found.map((one) => [one.unit, one]));
      return wanted.map((unit) => share(itemOf(snapshot.units, scored.get(unit) ?? unscored(unit, factors))));
    },
    async best(limit) {
      if (weighted.length === 0) return [];
      const allowed = await readFilter();
      for (let units = limit; ; units *= 4) {
        const ranking = { weights, limit: Math.min(units, snapshot.units.count), allowed, factors };
        const ranked = await runInSlices(rankUnits(snapshot.units, weighted, ranking), slice);
        const items = firstOfItems(snapshot.units, ranked).slice(0, limit);
        if (items.length === limit || ranked.length < units) return items.map(share);
      }
    },
  };
}

async function readAllowed(
  snapshot: IndexSnapshot,
  { excluded }: IndexQuery,
  { fields = [], ...columns }: ItemSelection,
  phrases: readonly (readonly PostingList[])[],
  slice: TimeSlice,
): Promise<Uint8Array | null> {
  const words = excluded.phrases.flatMap((terms) => (terms.length === 1 ? terms : []));
  const terms = fields.map(({ field, values }) => values.map((value) => fieldTerm(field, value)));
  const lists = await snapshot.readPostings([...words, ...terms.flat()]);
  let at = words.length;
  const required: (readonly PostingList[])[] = [];
  const excludedUnits: PostingList[] = [];
  for (const [index, { isExcluded }] of fields.entries()) {
    const end = at + (terms[index]?.length ?? 0);
    const found = lists.slice(at, end);
    if (isExcluded) excludedUnits.push(...found);
    else required.push(found);
    at = end;
  }
  const excludedItems = lists.slice(0, words.length);
  return runInSlices(allowUnits(snapshot, columns, { required, phrases, excludedUnits, excludedItems }), slice);
}

function firstOfItems(units: UnitTable, ranked: readonly RankedUnit[]): readonly UnitOfItem[] {
  const seen = new Map<number, Set<number>>();
  return ranked.flatMap((one) => {
    const group = units.group[one.unit] ?? 0;
    const item = units.item[one.unit] ?? 0;
    const items = seen.get(group) ?? new Set();
    if (items.has(item)) return [];
    seen.set(group, items.add(item));
    return [itemOf(units, one)];
  });
}

function itemOf(units: UnitTable, one: RankedUnit): UnitOfItem {
  const { unit } = one;
  const groupNumber = units.groupNumbers[units.group[unit] ?? 0] ?? 0;
  return { ...one, groupNumber, item: units.item[unit] ?? 0, part: units.part[unit] ?? 0 };
}

function unscored(unit: number, factors: UnitFactors): RankedUnit {
  return { unit, score: 0, text: 0, group: 0, factor: factors.factorOf(unit) };
}

interface HighestScores {
  readonly all: number;
  /** Of a text or a group alone. */
  readonly text: number;
}

function highestScores(terms: readonly WeightedTerm[], weights: RankingWeights, factors: UnitFactors): HighestScores {
  const text = terms.reduce((sum, { rarity }) => sum + rarity, 0) * TERM_SCORE_MAX;
  return { text, all: text * (ONE + weights.group) * factors.max };
}

function shareOf(highest: HighestScores): (item: UnitOfItem) => RankedItem {
  return (item) => ({
    ...item,
    share: shareIn(item.score, highest.all),
    textShare: shareIn(item.text, highest.text),
    groupShare: shareIn(item.group, highest.text),
  });
}

/** Without a term nothing has a score. */
function shareIn(score: number, best: number): number {
  return best === 0 ? 0 : score / best;
}
