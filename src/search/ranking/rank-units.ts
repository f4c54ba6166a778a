// The best units of a snapshot for weighted terms: exactly the first of all units by score, in whole numbers. The postings of a term
// are spread over the neighbours of their units, and added up term by term, the rarest first. As soon as no further unit can reach
// the best ones, only the units that still can are completed.
import type { InterruptibleWork } from "../../core/time-slice.ts";
import type { PostingList, UnitTable } from "../index/reader.ts";
import { groupTermScores } from "./group-scores.ts";
import type { RankedUnit, UnitRanking, WeightedTerm } from "./ranking.ts";
import { Scoreboard } from "./scoreboard.ts";
import { type RankingScratch, releaseScratch, takeScratch } from "./scratch.ts";
import { type RankingWeights, TERM_SCORE_MAX, termScore } from "./weights.ts";

/** Postings that are read between two looks at the clock. */
const BLOCK = 4096;

/** Best first; `compareUnits` orders equal ones. */
export function* rankUnits(
  units: UnitTable,
  terms: readonly WeightedTerm[],
  ranking: UnitRanking,
): InterruptibleWork<readonly RankedUnit[]> {
  const ordered = terms.filter(({ list }) => list.count > 0).sort((a, b) => b.rarity - a.rarity);
  if (ordered.length === 0) return [];
  const scratch = takeScratch(units);
  const groups = yield* groupTermScores(units, ordered, ranking.weights.group, scratch);
  const board = new Scoreboard(units, ranking, groups, scratch);
  let left = ordered.reduce((sum, { rarity }) => sum + rarity * TERM_SCORE_MAX, 0);
  let postings = ordered.reduce((sum, { list }) => sum + list.count, 0);
  for (const term of ordered) {
    left -= term.rarity * TERM_SCORE_MAX;
    postings -= term.list.count;
    if (board.candidates !== null && isLookupCheaper(board.candidates.length, term.list.count)) {
      yield* lookUpTerm(units, term, ranking.weights, board, board.candidates);
    } else {
      yield* sumTerm(units, term.list, ranking.weights, scratch);
      yield* board.addSums(term.rarity);
    }
    if (left > 0) yield* board.close(left, postings);
  }
  const best = yield* board.best();
  releaseScratch(units, scratch);
  return best;
}

/** A candidate and its four neighbours are looked up by halves. */
function isLookupCheaper(candidates: number, postings: number): boolean {
  return candidates * Math.log2(postings + 1) < postings;
}

function* sumTerm(
  units: UnitTable,
  list: PostingList,
  weights: RankingWeights,
  scratch: RankingScratch,
): InterruptibleWork<void> {
  for (let from = 0; from < list.count; from += BLOCK) {
    const to = Math.min(list.count, from + BLOCK);
    if (weights.near === 0) sumOwn(list, from, to, weights.own, scratch);
    else sumWithNeighbours(units, list, from, to, weights, scratch);
    yield;
  }
}

function sumOwn(
  { units, impacts }: PostingList,
  from: number,
  to: number,
  own: number,
  { sums, summed }: RankingScratch,
): void {
  for (let at = from; at < to; at++) {
    const unit = units[at] ?? 0;
    sums[unit] = (impacts[at] ?? 0) * own;
    summed.push(unit);
  }
}

function sumWithNeighbours(
  { previous, next }: UnitTable,
  { units, impacts }: PostingList,
  from: number,
  to: number,
  { own, near, far }: RankingWeights,
  { sums, summed }: RankingScratch,
): void {
  const add = (unit: number, amount: number) => {
    const sum = sums[unit] ?? 0;
    if (sum === 0) summed.push(unit);
    sums[unit] = sum + amount;
  };
  for (let at = from; at < to; at++) {
    const unit = units[at] ?? 0;
    const impact = impacts[at] ?? 0;
    add(unit, impact * own);
    const before = previous[unit] ?? -1;
    if (before >= 0) {
      add(before, impact * near);
      const farBefore = previous[before] ?? -1;
      if (farBefore >= 0) add(farBefore, impact * far);
    }
    const after = next[unit] ?? -1;
    if (after >= 0) {
      add(after, impact * near);
      const farAfter = next[after] ?? -1;
      if (farAfter >= 0) add(farAfter, impact * far);
    }
  }
}

function* lookUpTerm(
  { previous, next }: UnitTable,
  { list, rarity }: WeightedTerm,
  { own, near, far }: RankingWeights,
  board: Scoreboard,
  candidates: Int32Array,
): InterruptibleWork<void> {
  for (let at = 0; at < candidates.length; at++) {
    if (at % BLOCK === BLOCK - 1) yield;
    const unit = candidates[at] ?? 0;
    let sum = impactAt(list, unit) * own;
    if (near > 0) {
      const before = previous[unit] ?? -1;
      const after = next[unit] ?? -1;
      sum += (impactAt(list, before) + impactAt(list, after)) * near;
      if (before >= 0) sum += impactAt(list, previous[before] ?? -1) * far;
      if (after >= 0) sum += impactAt(list, next[after] ?? -1) * far;
    }
    if (sum > 0) board.addToText(unit, rarity * termScore(sum));
  }
}

/** 0 if the term is not in the unit, or there is no unit. */
function impactAt({ units, impacts, count }: PostingList, unit: number): number {
  if (unit < 0) return 0;
  let low = 0;
  let high = count - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = units[middle] ?? 0;
    if (found === unit) return impacts[middle] ?? 0;
    if (found < unit) low = middle + 1;
    else high = middle - 1;
  }
  return 0;
}
