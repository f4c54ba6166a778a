// The scores of units while the terms of a query are added up. It closes when no further unit can reach the best ones; then only
// candidates remain, and a common term is looked up for them instead of being read.
import type { InterruptibleWork } from "../../core/time-slice.ts";
import type { UnitTable } from "../index/reader.ts";
import type { GroupScores } from "./group-scores.ts";
import { compareUnits, type RankedUnit, type UnitRanking } from "./ranking.ts";
import type { RankingScratch } from "./scratch.ts";
import { TopUnits } from "./top-units.ts";
import { ONE, termScore } from "./weights.ts";

const BLOCK = 8192;
/** A posting counts for its unit and four neighbours. */
const SPREAD = 5;

export class Scoreboard {
  /** Of the units that can still be among the best, once it is closed. */
  candidates: Int32Array | null = null;
  readonly #units: UnitTable;
  readonly #ranking: UnitRanking;
  readonly #groups: GroupScores;
  readonly #scratch: RankingScratch;
  /** The highest text score so far. */
  #bestText = 0;

  constructor(units: UnitTable, ranking: UnitRanking, groups: GroupScores, scratch: RankingScratch) {
    this.#units = units;
    this.#ranking = ranking;
    this.#groups = groups;
    this.#scratch = scratch;
  }

  /** Adds what the sums of a term give to the scores of their units, and leaves the sums at 0. */
  *addSums(rarity: number): InterruptibleWork<void> {
    const { sums, texts, summed, scored } = this.#scratch;
    const { allowed } = this.#ranking;
    const isClosed = this.candidates !== null;
    let best = this.#bestText;
    for (let from = 0; from < summed.length; from += BLOCK) {
      const to = Math.min(summed.length, from + BLOCK);
      for (let at = from; at < to; at++) {
        const unit = summed.items[at] ?? 0;
        const sum = sums[unit] ?? 0;
        sums[unit] = 0;
        const text = texts[unit] ?? 0;
        if (text === 0) {
          if (isClosed || (allowed !== null && allowed[unit] !== 1)) continue;
          scored.push(unit);
        }
        const score = text + rarity * termScore(sum);
        texts[unit] = score;
        if (score > best) best = score;
      }
      yield;
    }
    summed.length = 0;
    this.#bestText = best;
  }

  /** Adds to the score of a candidate. */
  addToText(unit: number, score: number): void {
    const { texts } = this.#scratch;
    texts[unit] = (texts[unit] ?? 0) + score;
  }

  /**
   * Leaves out the units that cannot be among the best, if further terms add at most `left` to any unit. They have so many
   * postings: if these are few, to look for such units would take longer than to add them up.
   */
  *close(left: number, postings: number): InterruptibleWork<void> {
    const { limit, factors, weights } = this.#ranking;
    const scored = this.#scored;
    if (scored.length <= limit || postings * SPREAD < scored.length) return;
    const newest = (left * ONE + this.#groups.max * weights.group) * factors.max;
    const isOpen = this.candidates === null;
    if (isOpen && newest >= (this.#bestText * ONE + this.#groups.max * weights.group) * factors.max) return;
    const { isFull, threshold } = yield* this.#top(scored);
    if (!isFull || (isOpen && newest >= threshold)) return;
    const kept: number[] = [];
    for (let at = 0; at < scored.length; at++) {
      if (at % BLOCK === BLOCK - 1) yield;
      const unit = scored[at] ?? 0;
      if (this.#scoreOf(unit) + left * ONE * factors.factorOf(unit) >= threshold) kept.push(unit);
    }
    this.candidates = Int32Array.from(kept);
  }

  *best(): InterruptibleWork<readonly RankedUnit[]> {
    const top = yield* this.#top(this.#scored);
    return top.sorted().map(({ unit, score }) => ({
      unit,
      score,
      text: this.#scratch.texts[unit] ?? 0,
      group: this.#groupScore(unit),
      factor: this.#ranking.factors.factorOf(unit),
    }));
  }

  get #scored(): Int32Array {
    const { items, length } = this.#scratch.scored;
    return this.candidates ?? items.subarray(0, length);
  }

  *#top(scored: Int32Array): InterruptibleWork<TopUnits> {
    const top = new TopUnits(this.#ranking.limit, (a, b) => compareUnits(this.#units, a, b));
    for (let from = 0; from < scored.length; from += BLOCK) {
      const to = Math.min(scored.length, from + BLOCK);
      this.#addTo(top, scored, from, to);
      yield;
    }
    return top;
  }

  /** Most units are left out by a bound that needs no factor. */
  #addTo(top: TopUnits, scored: Int32Array, from: number, to: number): void {
    const { texts } = this.#scratch;
    const { scores } = this.#groups;
    const { group } = this.#units;
    const { weights, factors } = this.#ranking;
    const weight = weights.group;
    let least = top.isFull ? top.threshold / factors.max : 0;
    for (let at = from; at < to; at++) {
      const unit = scored[at] ?? 0;
      const ofGroup = scores === null ? 0 : (scores[group[unit] ?? 0] ?? 0);
      const sum = (texts[unit] ?? 0) * ONE + ofGroup * weight;
      if (sum < least) continue;
      top.add(unit, sum * factors.factorOf(unit));
      if (top.isFull) least = top.threshold / factors.max;
    }
  }

  #scoreOf(unit: number): number {
    const { weights, factors } = this.#ranking;
    return ((this.#scratch.texts[unit] ?? 0) * ONE + this.#groupScore(unit) * weights.group) * factors.factorOf(unit);
  }

  #groupScore(unit: number): number {
    const { scores } = this.#groups;
    return scores === null ? 0 : (scores[this.#units.group[unit] ?? 0] ?? 0);
  }
}
