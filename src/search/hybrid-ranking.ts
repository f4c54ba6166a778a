// Ranks messages by words and by meaning together. Of each, the best are candidates; a candidate has both scores, whichever found it.

import type { TimeSlice } from "../core/time-slice.ts";
import type { ScoredPassages } from "../vectors/passage-vectors.ts";
import type { IndexSnapshot } from "./index/reader.ts";
import { hybridWeights, rankHybrid } from "./ranking/hybrid.ts";
import type { ItemRanking, RankedItem } from "./ranking/rank-items.ts";
import { ONE } from "./ranking/weights.ts";
import { readUnitVectors } from "./unit-vectors.ts";
import type { VectorsBeside } from "./vectors-beside.ts";

/** Candidates of each kind, and for each message that is wanted. */
const CANDIDATES_MIN = 200;
const CANDIDATES = 4;

export interface HybridItem extends RankedItem {
  /** What the signals of words count, and the vector with its weight; undefined in a search by words. */
  readonly hybrid?: { readonly textWeight: number; readonly vector: number; readonly vectorWeight: number };
}

/** `ranking` ranks by words. */
export interface MessageRanking {
  best(limit: number): Promise<readonly HybridItem[]>;
}

export interface HybridMessages extends MessageRanking {
  /** Passages that are found by words only, because they have no vector yet. */
  readonly waiting: number;
}

export async function openHybridRanking(
  { units }: IndexSnapshot,
  ranking: ItemRanking,
  { vector, passages }: { readonly vector: Float32Array; readonly passages: ScoredPassages },
  beside: VectorsBeside,
  slice: TimeSlice,
): Promise<HybridMessages> {
  const vectors = await readUnitVectors(units, passages, vector, beside, slice);
  const nameOf = ({ groupNumber, item }: RankedItem) => `${groupNumber}/${item}`;
  return {
    waiting: vectors.waiting,
    async best(limit) {
      const count = Math.max(CANDIDATES_MIN, CANDIDATES * limit);
      const byWords = await ranking.best(count);
      const nearest = await vectors.nearest(count, await ranking.readAllowed());
      const scored = await ranking.scoresOf(nearest);
      const scores = await vectors.scoresOf([...new Set([...nearest, ...byWords.map(({ unit }) => unit)])]);
      const items = new Map<string, CandidateItem>();
      for (const one of [...byWords, ...scored]) {
        const score = scores.get(one.unit);
        // The role and the speaker count for what a message means as for its words.
        const vector =
          score === undefined ? undefined : vectors.floor + ((score - vectors.floor) * one.factor) / (ONE * ONE);
        addCandidate(items, nameOf(one), one, vector);
      }
      const texts = new Map<string, number>();
      const near = new Map<string, number>();
      for (const [name, { text, vector: score }] of items) {
        if (text.share > 0) texts.set(name, text.share);
        if (score !== undefined) near.set(name, score);
      }
      const best = [...texts.values()].reduce((most, share) => Math.max(most, share), 0);
      const weights = hybridWeights(best > 0);
      const textWeight = best === 0 ? 0 : weights.text / best;
      return rankHybrid(texts, near, { weights, floor: vectors.floor })
        .slice(0, limit)
        .flatMap(({ key, score, text, vector: normalised }) => {
          const found = items.get(key);
          if (found === undefined) return [];
          // The passage that says more.
          const isText = text * weights.text >= normalised * weights.vector;
          const { part } = isText ? found.text : found.nearest;
          const hybrid = { textWeight, vector: normalised, vectorWeight: weights.vector };
          return [{ ...found.text, part, share: score, hybrid }];
        });
    },
  };
}

/** A message with its best passage by words, and its nearest one. */
interface CandidateItem {
  readonly text: RankedItem;
  readonly nearest: RankedItem;
  readonly vector: number | undefined;
}

function addCandidate(
  items: Map<string, CandidateItem>,
  name: string,
  unit: RankedItem,
  vector: number | undefined,
): void {
  const known = items.get(name);
  if (known === undefined) {
    items.set(name, { text: unit, nearest: unit, vector });
    return;
  }
  const text = unit.share > known.text.share ? unit : known.text;
  const isNearer = vector !== undefined && (known.vector === undefined || vector > known.vector);
  items.set(name, isNearer ? { text, nearest: unit, vector } : { ...known, text });
}
