// One ranking from the scores of words and of vectors: each is normalised within the query, weighted and added. Ranks are not fused:
// measured, equal ranks of a weak signal cost more than they give (docs/decisions/0031).

export interface HybridWeights {
  readonly text: number;
  readonly vector: number;
}

const HYBRID_WEIGHTS: HybridWeights = { text: 0.6, vector: 0.4 };

/** Where no word of the query is in any text, vectors decide alone. */
export function hybridWeights(hasWords: boolean): HybridWeights {
  return hasWords ? HYBRID_WEIGHTS : { text: 0, vector: 1 };
}

export interface HybridScore<K> {
  readonly key: K;
  /** From 0 to 1. */
  readonly score: number;
  /** Normalised; 0 if the signal does not know the item. */
  readonly text: number;
  readonly vector: number;
}

export interface HybridOptions {
  readonly weights?: HybridWeights;
  /** The score of a vector that says nothing (ScoreSpread); by default that of the worst candidate. */
  readonly floor?: number;
}

/** Best first; equal ones in the order in which the texts, then the vectors, name them. Higher scores are better in both. */
export function rankHybrid<K>(
  text: ReadonlyMap<K, number>,
  vector: ReadonlyMap<K, number>,
  { weights = HYBRID_WEIGHTS, floor = least(vector) }: HybridOptions = {},
): readonly HybridScore<K>[] {
  const ofText = normalise(text, 0);
  // Vectors of the same language are all alike to some degree: what they have in common counts as 0.
  const ofVector = normalise(vector, floor);
  const total = weights.text + weights.vector;
  return [...new Set([...text.keys(), ...vector.keys()])]
    .map((key) => {
      const signals = { text: ofText(key), vector: ofVector(key) };
      return { key, score: (signals.text * weights.text + signals.vector * weights.vector) / total, ...signals };
    })
    .sort((a, b) => b.score - a.score);
}

/** Spreading very many values into a call would overflow the stack. */
function least<K>(scores: ReadonlyMap<K, number>): number {
  let found = Number.POSITIVE_INFINITY;
  for (const score of scores.values()) found = Math.min(found, score);
  return found;
}

function normalise<K>(scores: ReadonlyMap<K, number>, zero: number): (key: K) => number {
  let best = zero;
  for (const score of scores.values()) best = Math.max(best, score);
  const span = best - zero;
  return (key) => {
    const score = scores.get(key);
    if (score === undefined) return 0;
    return span > 0 ? Math.max(0, (score - zero) / span) : 1;
  };
}

/** Standard deviations below the mean at which a score says nothing. */
const FLOOR_DEVIATIONS = 2;

/**
 * How the scores of all vectors are spread. What is far below their mean has nothing to do with the query; unlike the worst of some
 * candidates, that does not depend on how many candidates there are.
 */
export class ScoreSpread {
  #count = 0;
  #mean = 0;
  #squares = 0;

  add(score: number): void {
    this.#count += 1;
    const difference = score - this.#mean;
    this.#mean += difference / this.#count;
    this.#squares += difference * (score - this.#mean);
  }

  get floor(): number {
    return this.#count === 0 ? 0 : this.#mean - FLOOR_DEVIATIONS * Math.sqrt(this.#squares / this.#count);
  }
}
