// What the groups of units have of the terms of a query, counted over the whole group as BM25 counts a document: a session is about
// the query, or a document is.
import type { InterruptibleWork } from "../../core/time-slice.ts";
import type { PostingList, UnitTable } from "../index/reader.ts";
import { frequencyOf } from "./impact.ts";
import type { WeightedTerm } from "./ranking.ts";
import type { RankingScratch } from "./scratch.ts";
import { ONE, TERM_SCORE_MAX } from "./weights.ts";

export interface GroupScores {
  /** By the index of the group; null: groups do not count. */
  readonly scores: Int32Array | null;
  readonly max: number;
}

/** BM25's k1, in 64ths as frequencies are, and its b. */
const SATURATION = 2 * ONE;
const LENGTH_SHARE = 0.75;
const BLOCK = 8192;

export function* groupTermScores(
  units: UnitTable,
  terms: readonly WeightedTerm[],
  weight: number,
  { frequencies }: RankingScratch,
): InterruptibleWork<GroupScores> {
  if (weight === 0) return { scores: null, max: 0 };
  const halves = yield* groupHalves(units);
  const scores = new Int32Array(units.groupNumbers.length);
  let max = 0;
  for (const { list, rarity } of terms) {
    const seen: number[] = [];
    for (let from = 0; from < list.count; from += BLOCK) {
      addFrequencies(units, list, from, Math.min(list.count, from + BLOCK), frequencies, seen);
      yield;
    }
    for (const index of seen) {
      const frequency = frequencies[index] ?? 0;
      const share = Math.ceil((TERM_SCORE_MAX * frequency) / (frequency + (halves[index] ?? 1)));
      const score = (scores[index] ?? 0) + rarity * share;
      scores[index] = score;
      frequencies[index] = 0;
      if (score > max) max = score;
    }
  }
  return { scores, max };
}

function addFrequencies(
  { group, words }: UnitTable,
  { units, impacts }: PostingList,
  from: number,
  to: number,
  frequencies: Float64Array,
  seen: number[],
): void {
  for (let at = from; at < to; at++) {
    const unit = units[at] ?? 0;
    const index = group[unit] ?? 0;
    const before = frequencies[index] ?? 0;
    if (before === 0) seen.push(index);
    frequencies[index] = before + frequencyOf(impacts[at] ?? 0, words[unit] ?? 0);
  }
}

const known = new WeakMap<UnitTable, Float64Array>();

/** How often a term must be in each group for half of the score: more often in a long one. */
function* groupHalves(units: UnitTable): InterruptibleWork<Float64Array> {
  const found = known.get(units);
  if (found !== undefined) return found;
  const lengths = new Float64Array(units.groupNumbers.length);
  for (let unit = 0; unit < units.count; unit++) {
    const index = units.group[unit] ?? 0;
    lengths[index] = (lengths[index] ?? 0) + (units.words[unit] ?? 0);
    if (unit % BLOCK === BLOCK - 1) yield;
  }
  const mean = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
  const halves = lengths.map((length) => SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / Math.max(1, mean)));
  known.set(units, halves);
  return halves;
}
