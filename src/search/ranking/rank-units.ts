// The best units of a snapshot for weighted terms: exactly the first of all units by score, in whole numbers. Each block of units has a
// bound from the summaries of the terms. The units of the most promising blocks are scored first; of the others only those whose block
// could still have one of the best.
import type { InterruptibleWork } from "../../core/time-slice.ts";
import type { UnitTable } from "../index/reader.ts";
import { BLOCK_UNITS, blockOf, firstUnitOf, groupsOfBlocks } from "./blocks.ts";
import { compareUnits, type RankedUnit, type UnitRanking, type WeightedTerm } from "./ranking.ts";
import { type RankingScratch, releaseScratch, takeScratch } from "./scratch.ts";
import { summarizeTerm, type TermSummary } from "./term-summary.ts";
import { TopUnits } from "./top-units.ts";
import { UnitScorer } from "./unit-scorer.ts";
import { ONE } from "./weights.ts";

/** Blocks between two looks at the clock: of those that are passed over, and of those that are scored. */
const BLOCKS_PASSED = 8192;
const BLOCKS_SCORED = 256;
/** Blocks that are scored first, for each unit wanted. */
const FIRST_BLOCKS = 2;
const FIRST_BLOCKS_MIN = 16;

/** Best first; `compareUnits` orders equal ones. */
export function* rankUnits(
  units: UnitTable,
  terms: readonly WeightedTerm[],
  ranking: UnitRanking,
): InterruptibleWork<readonly RankedUnit[]> {
  const found = terms.filter(({ list }) => list.count > 0);
  if (found.length === 0) return [];
  const scratch = takeScratch(units);
  yield* addSummaries(units, found, ranking, scratch);
  const scorer = new UnitScorer(units, found, ranking, scratch);
  const top = new TopUnits(ranking.limit, (a, b) => compareUnits(units, a, b));
  const bounds = new BlockBounds(units, yield* groupsOfBlocks(units), ranking, scratch);
  const first = yield* firstBlocks(bounds, scratch, ranking.limit);
  let scored = 0;
  for (const block of first) {
    scorer.scoreBlock(block, top);
    if (++scored % BLOCKS_SCORED === 0) yield;
  }
  const done = new Set(first);
  const { items, length } = scratch.boundBlocks;
  for (let at = 0; at < length; at++) {
    if (at % BLOCKS_PASSED === BLOCKS_PASSED - 1) yield;
    const block = items[at] ?? 0;
    if (top.isFull && !bounds.canReach(block, top.threshold)) continue;
    if (done.has(block)) continue;
    scorer.scoreBlock(block, top);
    if (++scored % BLOCKS_SCORED === 0) yield;
  }
  const best = top.sorted().map(({ unit, score }) => scorer.describe(unit, score));
  releaseScratch(units, scratch);
  return best;
}

/** The units of a list that have a score, in no order. */
export function* scoreUnits(
  units: UnitTable,
  terms: readonly WeightedTerm[],
  { weights, factors }: Pick<UnitRanking, "weights" | "factors">,
  wanted: readonly number[],
): InterruptibleWork<readonly RankedUnit[]> {
  const found = terms.filter(({ list }) => list.count > 0);
  if (found.length === 0 || wanted.length === 0) return [];
  const allowed = new Uint8Array(units.count);
  for (const unit of wanted) allowed[unit] = 1;
  const ranking = { weights, factors, allowed, limit: wanted.length };
  const scratch = takeScratch(units);
  yield* addSummaries(units, found, ranking, scratch);
  const scorer = new UnitScorer(units, found, ranking, scratch);
  const top = new TopUnits(ranking.limit, (a, b) => compareUnits(units, a, b));
  let scored = 0;
  for (const block of new Set(wanted.map(blockOf))) {
    if (scratch.bounds[block] === 0) continue;
    scorer.scoreBlock(block, top);
    if (++scored % BLOCKS_SCORED === 0) yield;
  }
  const all = top.sorted().map(({ unit, score }) => scorer.describe(unit, score));
  releaseScratch(units, scratch);
  return all;
}

function* addSummaries(
  units: UnitTable,
  terms: readonly WeightedTerm[],
  { weights }: UnitRanking,
  scratch: RankingScratch,
): InterruptibleWork<void> {
  for (const { list, rarity } of terms) {
    addSummary(yield* summarizeTerm(units, list, weights, scratch), rarity, scratch);
    yield;
  }
}

function addSummary({ blocks, bounds, groups, shares }: TermSummary, rarity: number, scratch: RankingScratch): void {
  const { bounds: sums, boundBlocks, groupScores, scoredGroups } = scratch;
  for (let at = 0; at < blocks.length; at++) {
    const block = blocks[at] ?? 0;
    const before = sums[block] ?? 0;
    if (before === 0) boundBlocks.push(block);
    sums[block] = before + rarity * (bounds[at] ?? 0);
  }
  for (let at = 0; at < groups.length; at++) {
    const group = groups[at] ?? 0;
    const before = groupScores[group] ?? 0;
    if (before === 0) scoredGroups.push(group);
    groupScores[group] = before + rarity * (shares[at] ?? 0);
  }
}

/** The highest score that a unit of a block can have. */
class BlockBounds {
  readonly #units: UnitTable;
  readonly #groups: Int32Array;
  readonly #ranking: UnitRanking;
  readonly #scratch: RankingScratch;
  readonly #bestGroup: number;

  constructor(units: UnitTable, groups: Int32Array, ranking: UnitRanking, scratch: RankingScratch) {
    this.#units = units;
    this.#groups = groups;
    this.#ranking = ranking;
    this.#scratch = scratch;
    const { groupScores, scoredGroups } = scratch;
    let best = 0;
    for (let at = 0; at < scoredGroups.length; at++) {
      best = Math.max(best, groupScores[scoredGroups.items[at] ?? 0] ?? 0);
    }
    this.#bestGroup = best;
  }

  canReach(block: number, threshold: number): boolean {
    const { weights, factors } = this.#ranking;
    // Mostly this is enough, and the groups of the block are not looked at.
    const text = (this.#scratch.bounds[block] ?? 0) * ONE;
    if ((text + this.#bestGroup * weights.group) * factors.max < threshold) return false;
    return this.of(block) >= threshold;
  }

  of(block: number): number {
    const { weights, factors } = this.#ranking;
    return ((this.#scratch.bounds[block] ?? 0) * ONE + this.#groupOf(block) * weights.group) * factors.max;
  }

  #groupOf(block: number): number {
    const { groupScores } = this.#scratch;
    const group = this.#groups[block] ?? -1;
    if (group !== -1) return groupScores[group] ?? 0;
    const first = firstUnitOf(block);
    const end = Math.min(this.#units.count, first + BLOCK_UNITS);
    let best = 0;
    for (let unit = first; unit < end; unit++) {
      const score = groupScores[this.#units.group[unit] ?? 0] ?? 0;
      if (score > best) best = score;
    }
    return best;
  }
}

/** The blocks with the highest bounds, best first. */
function* firstBlocks(
  bounds: BlockBounds,
  { boundBlocks: { items, length } }: RankingScratch,
  limit: number,
): InterruptibleWork<readonly number[]> {
  const count = Math.min(length, Math.max(FIRST_BLOCKS_MIN, FIRST_BLOCKS * limit));
  const top = new TopUnits(count, (a, b) => a - b);
  for (let at = 0; at < length; at++) {
    if (at % BLOCKS_PASSED === BLOCKS_PASSED - 1) yield;
    const block = items[at] ?? 0;
    if (top.isFull && !bounds.canReach(block, top.threshold)) continue;
    top.add(block, bounds.of(block));
  }
  return top.sorted().map(({ unit }) => unit);
}
