// What one term gives to the units of a snapshot, without scoring each: a bound for each block that it is in or beside, and its exact
// share of each group's score, counted over the whole group as BM25 counts a document: a session is about the query, or a document is.
// The summaries of lists that are kept for later searches are kept with them.
import type { InterruptibleWork } from "../../core/time-slice.ts";
import type { PostingList, UnitTable } from "../index/reader.ts";
import { blockOf, countBlocks } from "./blocks.ts";
import { groupHalves } from "./group-lengths.ts";
import { frequencyOf } from "./impact.ts";
import type { NumberList, RankingScratch } from "./scratch.ts";
import { type RankingWeights, TERM_SCORE_MAX, termScore } from "./weights.ts";

export interface TermSummary {
  readonly weights: RankingWeights;
  readonly blocks: Int32Array;
  /** Of each of these blocks: no unit has a higher score of the term. */
  readonly bounds: Uint16Array;
  readonly groups: Int32Array;
  /** Of each of these groups: its score of the term, before the term's rarity. */
  readonly shares: Uint16Array;
}

const known = new WeakMap<UnitTable, WeakMap<PostingList, TermSummary>>();
const POSTINGS_PER_STEP = 4096;

export function* summarizeTerm(
  units: UnitTable,
  list: PostingList,
  weights: RankingWeights,
  scratch: RankingScratch,
): InterruptibleWork<TermSummary> {
  const ofTable = known.get(units) ?? new WeakMap<PostingList, TermSummary>();
  known.set(units, ofTable);
  const found = ofTable.get(list);
  if (found?.weights === weights) return found;
  const halves = weights.group === 0 ? null : groupHalves(units);
  for (let from = 0; from < list.count; from += POSTINGS_PER_STEP) {
    const to = Math.min(list.count, from + POSTINGS_PER_STEP);
    addToBlocks(units, list, from, to, weights, scratch);
    if (halves !== null) addToGroups(units, list, from, to, scratch);
    yield;
  }
  const summary = {
    weights,
    blocks: scratch.blocks.copy(),
    bounds: takeBounds(weights, scratch),
    groups: scratch.groups.copy(),
    shares: takeShares(halves, scratch),
  };
  ofTable.set(list, summary);
  return summary;
}

/** Each posting counts for the blocks of its unit and of the four units around it. */
function addToBlocks(
  units: UnitTable,
  list: PostingList,
  from: number,
  to: number,
  { near, far }: RankingWeights,
  { highest, sums, blocks }: RankingScratch,
): void {
  const last = countBlocks(units) - 1;
  const add = (block: number, impact: number) => {
    const sum = sums[block] ?? 0;
    if (sum === 0) blocks.push(block);
    sums[block] = sum + impact;
    if (impact > (highest[block] ?? 0)) highest[block] = impact;
  };
  const hasNeighbours = near > 0 || far > 0;
  for (let at = from; at < to; at++) {
    const unit = list.units[at] ?? 0;
    const impact = list.impacts[at] ?? 0;
    const block = blockOf(unit);
    add(block, impact);
    if (!hasNeighbours) continue;
    const before = blockOf(unit - 2);
    const after = blockOf(unit + 2);
    if (before !== block && before >= 0) add(before, impact);
    if (after !== block && after <= last) add(after, impact);
    if (units.isFarLinked[unit] === 0) continue;
    for (const other of unitsAround(units, unit)) {
      const linked = blockOf(other);
      // Once too often makes the bound higher than it has to be, and no less a bound.
      if (other !== -1 && (linked < before || linked > after)) add(linked, impact);
    }
  }
}

/** One and two before and after a unit; -1: there is none. */
export function unitsAround({ previous, next }: UnitTable, unit: number): readonly [number, number, number, number] {
  const before = previous[unit] ?? -1;
  const after = next[unit] ?? -1;
  const farBefore = before === -1 ? -1 : (previous[before] ?? -1);
  const farAfter = after === -1 ? -1 : (next[after] ?? -1);
  return [farBefore, before, after, farAfter];
}

/** The unit with the highest impact cannot have more than that and, beside it, what is left in the block of four units. */
function takeBounds({ own, near, far }: RankingWeights, { highest, sums, blocks }: RankingScratch): Uint16Array {
  const first = Math.max(own, near, far);
  const others = Math.max(near, far);
  const bounds = new Uint16Array(blocks.length);
  for (let at = 0; at < blocks.length; at++) {
    const block = blocks.items[at] ?? 0;
    const impact = highest[block] ?? 0;
    const rest = Math.min((sums[block] ?? 0) - impact, 4 * impact);
    bounds[at] = termScore(first * impact + others * rest);
    highest[block] = 0;
    sums[block] = 0;
  }
  blocks.clear();
  return bounds;
}

function addToGroups(
  { group, words }: UnitTable,
  { units, impacts }: PostingList,
  from: number,
  to: number,
  { frequencies, groups }: RankingScratch,
): void {
  for (let at = from; at < to; at++) {
    const unit = units[at] ?? 0;
    const index = group[unit] ?? 0;
    const before = frequencies[index] ?? 0;
    if (before === 0) groups.push(index);
    frequencies[index] = before + frequencyOf(impacts[at] ?? 0, words[unit] ?? 0);
  }
}

function takeShares(
  halves: Float64Array | null,
  { frequencies, groups }: { readonly frequencies: Float64Array; readonly groups: NumberList },
): Uint16Array {
  const shares = new Uint16Array(groups.length);
  for (let at = 0; at < groups.length; at++) {
    const index = groups.items[at] ?? 0;
    const frequency = frequencies[index] ?? 0;
    shares[at] = Math.ceil((TERM_SCORE_MAX * frequency) / (frequency + (halves?.[index] ?? 1)));
    frequencies[index] = 0;
  }
  groups.clear();
  return shares;
}
