// How much each part of a score counts, in whole numbers, so that rankings are equal on every engine and every machine.
import type { IndexKind } from "../index/reader.ts";
import { IMPACT_MAX } from "./impact.ts";

/** A weight of 64 is 1. */
export const ONE = 64;

export interface RankingWeights {
  /** The text of a unit itself, of the units right before and after it, and of those two away. */
  readonly own: number;
  readonly near: number;
  readonly far: number;
  /** The whole group: a session that is about the query, a document. */
  readonly group: number;
  /** Whether terms are rare that are in few groups, instead of in few units. */
  readonly isRareByGroup: boolean;
}

export const WEIGHTS: Readonly<Record<IndexKind, RankingWeights>> = {
  messages: { own: ONE, near: 21, far: 16, group: 24, isRareByGroup: false },
  // The neighbours of a memory are other memories, which say nothing about it.
  memories: { own: ONE, near: 0, far: 0, group: 0, isRareByGroup: false },
  documents: { own: ONE, near: 0, far: 0, group: ONE, isRareByGroup: true },
};

/** The most that a unit or a group has of one term. */
export const TERM_SCORE_MAX = 1023;
/** The sum of weighted impacts at which a unit has half of that. */
const HALF_AT = IMPACT_MAX * ONE;

/** What a unit has of a term, from the weighted sum of its own impact and those of its neighbours. At least 1 of a sum above 0. */
export function termScore(sum: number): number {
  return Math.ceil((TERM_SCORE_MAX * sum) / (sum + HALF_AT));
}

/** Rare terms count more. At least 1; `having` of `count` have the term. */
export function rarityOf(having: number, count: number): number {
  return Math.max(1, Math.round(ONE * Math.log(1 + (count - having + 0.5) / (having + 0.5))));
}
