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

export class Scoreboard {
  /** Of the units that can still be among the best, once it is closed. */
  candidates: Int32Array | null = null;
  readonly #units: UnitTable;
  readonly #ranking: UnitRanking;
  readonly #groups: GroupScores;
  readonly #scratch: RankingScratch;

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
        texts[unit] = text + rarity * termScore(sum);
      }
      yield;
    }
    summed.length = 0;
  }

  /** Adds to the score of a candidate. */
  addToText(unit: number, score: number): void {
    const { texts } = this.#scratch;
    texts[unit] = (texts[unit] ?? 0) + score;
  }

  /** Leaves out the units that cannot be among the best, if further terms add at most `left` to any unit. */
  *close(left: number): InterruptibleWork<void> {
    const { limit, factors, weights } = this.#ranking;
    const scored = this.candidates ?? this.#scratch.scored.items.subarray(0, this.#scratch.scored.length);
    if (scored.length <= limit) return;
    const newest = (left * ONE + this.#groups.max * weights.group) * factors.max;
    const { isFull, threshold } = yield* this.#top(scored);
    if (!isFull || (this.candidates === null && newest >= threshold)) return;
    const kept: number[] = [];
    for (let at = 0; at < scored.length; at++) {
      if (at % BLOCK === BLOCK - 1) yield;
      const unit = scored[at] ?? 0;
      if (this.#scoreOf(unit) + left * ONE * factors.factorOf(unit) >= threshold) kept.push(unit);
    }
    this.candidates = Int32Array.from(kept);
  }

  *best(): InterruptibleWork<readonly RankedUnit[]> {
    const scored = this.candidates ?? this.#scratch.scored.items.subarray(0, this.#scratch.scored.length);
    const top = yield* this.#top(scored);
    return top.sorted().map(({ unit, score }) => ({
      unit,
      score,
      text: this.#scratch.texts[unit] ?? 0,
      group: this.#groupScore(unit),
      factor: this.#ranking.factors.factorOf(unit),
    }));
  }

  *#top(scored: Int32Array): InterruptibleWork<TopUnits> {
    const top = new TopUnits(this.#ranking.limit, (a, b) => compareUnits(this.#units, a, b));
    for (let from = 0; from < scored.length; from += BLOCK) {
      const to = Math.min(scored.length, from + BLOCK);
      for (let at = from; at < to; at++) {
        const unit = scored[at] ?? 0;
        top.add(unit, this.#scoreOf(unit));
      }
      yield;
    }
    return top;
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
