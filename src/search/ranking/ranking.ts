// What a ranking gets and gives.
import type { PostingList, UnitTable } from "../index/reader.ts";
import type { RankingWeights } from "./weights.ts";

export interface WeightedTerm {
  readonly list: PostingList;
  /** See rarityOf. */
  readonly rarity: number;
}

export interface UnitRanking {
  readonly weights: RankingWeights;
  /** How many of the best units, at least 1. */
  readonly limit: number;
  /** 1 for each unit that may be found; null: all may. Others still count as neighbours, and for their group. */
  readonly allowed: Uint8Array | null;
  readonly factors: UnitFactors;
}

/** By what a unit's score is multiplied, in 64ths. */
export interface UnitFactors {
  readonly max: number;
  factorOf(unit: number): number;
}

export interface RankedUnit {
  readonly unit: number;
  /** (text · 64 + group · the weight of groups) · factor. */
  readonly score: number;
  readonly text: number;
  readonly group: number;
  readonly factor: number;
}

/** The order of units with equal scores: the newer first. It does not depend on how the index is stored. */
export function compareUnits(units: UnitTable, a: number, b: number): number {
  const groupOf = (unit: number) => units.groupNumbers[units.group[unit] ?? 0] ?? 0;
  return (
    (units.minutes[b] ?? 0) - (units.minutes[a] ?? 0) ||
    groupOf(b) - groupOf(a) ||
    (units.item[b] ?? 0) - (units.item[a] ?? 0) ||
    (units.part[a] ?? 0) - (units.part[b] ?? 0)
  );
}
