// Scores the units of a block exactly, from the postings that count for them.
import type { PostingList, UnitTable } from "../index/reader.ts";
import { BLOCK_UNITS, firstUnitOf } from "./blocks.ts";
import type { RankedUnit, UnitRanking, WeightedTerm } from "./ranking.ts";
import type { RankingScratch } from "./scratch.ts";
import { unitsAround } from "./term-summary.ts";
import type { TopUnits } from "./top-units.ts";
import { ONE, termScore } from "./weights.ts";

export class UnitScorer {
  readonly #units: UnitTable;
  readonly #terms: readonly WeightedTerm[];
  readonly #ranking: UnitRanking;
  readonly #scratch: RankingScratch;
  readonly #hasNeighbours: boolean;
  /** Of the units of a block: the weighted impacts of one term, 0 between terms, and the scores of all terms, 0 between blocks. */
  readonly #sums = new Int32Array(BLOCK_UNITS);
  readonly #texts = new Int32Array(BLOCK_UNITS);

  constructor(units: UnitTable, terms: readonly WeightedTerm[], ranking: UnitRanking, scratch: RankingScratch) {
    this.#units = units;
    this.#terms = terms;
    this.#ranking = ranking;
    this.#scratch = scratch;
    this.#hasNeighbours = ranking.weights.near > 0 || ranking.weights.far > 0;
  }

  /** Adds the units of the block that may be found and have something of a term. */
  scoreBlock(block: number, top: TopUnits): void {
    const first = firstUnitOf(block);
    const end = Math.min(this.#units.count, first + BLOCK_UNITS);
    const hasFarLinks = this.#hasNeighbours && this.#hasFarLinks(first, end);
    const sums = this.#sums;
    const texts = this.#texts;
    for (const { list, rarity } of this.#terms) {
      let isFound = this.#addPostings(list, first, end);
      if (hasFarLinks) isFound = this.#addFarPostings(list, first, end) || isFound;
      if (!isFound) continue;
      for (let at = 0; at < BLOCK_UNITS; at++) {
        const sum = sums[at] ?? 0;
        if (sum === 0) continue;
        texts[at] = (texts[at] ?? 0) + rarity * termScore(sum);
        sums[at] = 0;
      }
    }
    const { allowed, factors, weights } = this.#ranking;
    for (let unit = first; unit < end; unit++) {
      const text = texts[unit - first] ?? 0;
      if (text === 0) continue;
      texts[unit - first] = 0;
      if (allowed !== null && allowed[unit] !== 1) continue;
      top.add(unit, (text * ONE + this.#groupScore(unit) * weights.group) * factors.factorOf(unit));
    }
  }

  /** Every step to the score is a multiplication of whole numbers, and can be taken back. */
  describe(unit: number, score: number): RankedUnit {
    const { factors, weights } = this.#ranking;
    const factor = factors.factorOf(unit);
    const group = this.#groupScore(unit);
    return { unit, score, text: (score / factor - group * weights.group) / ONE, group, factor };
  }

  #groupScore(unit: number): number {
    return this.#scratch.groupScores[this.#units.group[unit] ?? 0] ?? 0;
  }

  #hasFarLinks(first: number, end: number): boolean {
    const { isFarLinked } = this.#units;
    for (let unit = first; unit < end; unit++) if (isFarLinked[unit] === 1) return true;
    return false;
  }

  /** The postings of units in the block and of two on each side, each for its unit and those around it. */
  #addPostings({ units, impacts, count }: PostingList, first: number, end: number): boolean {
    const { own, near, far } = this.#ranking.weights;
    const { previous, next } = this.#units;
    const sums = this.#sums;
    const reach = this.#hasNeighbours ? 2 : 0;
    let isFound = false;
    const add = (unit: number, amount: number) => {
      if (unit < first || unit >= end) return;
      sums[unit - first] = (sums[unit - first] ?? 0) + amount;
      isFound = true;
    };
    for (let at = findPosting(units, count, first - reach); at < count; at++) {
      const unit = units[at] ?? 0;
      if (unit >= end + reach) break;
      const impact = impacts[at] ?? 0;
      add(unit, impact * own);
      if (reach === 0) continue;
      const before = previous[unit] ?? -1;
      if (before >= 0) {
        add(before, impact * near);
        add(previous[before] ?? -1, impact * far);
      }
      const after = next[unit] ?? -1;
      if (after >= 0) {
        add(after, impact * near);
        add(next[after] ?? -1, impact * far);
      }
    }
    return isFound;
  }

  /** For each unit of the block, the postings of units around it that are elsewhere in the table. */
  #addFarPostings({ units, impacts, count }: PostingList, first: number, end: number): boolean {
    const { near, far } = this.#ranking.weights;
    const amounts = [far, near, near, far];
    let isFound = false;
    for (let unit = first; unit < end; unit++) {
      if (this.#units.isFarLinked[unit] === 0) continue;
      for (const [which, other] of unitsAround(this.#units, unit).entries()) {
        if (other === -1 || (other >= first - 2 && other < end + 2)) continue;
        const at = findPosting(units, count, other);
        if (at === count || units[at] !== other) continue;
        this.#sums[unit - first] = (this.#sums[unit - first] ?? 0) + (impacts[at] ?? 0) * (amounts[which] ?? 0);
        isFound = true;
      }
    }
    return isFound;
  }
}

/** The first posting of the unit or of a later one. */
function findPosting(units: Int32Array, count: number, unit: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((units[middle] ?? 0) < unit) low = middle + 1;
    else high = middle;
  }
  return low;
}
