// How much one term says about one passage, as a byte of a posting. It depends on the passage alone: postings stay as they are
// when others are added, merged or erased, and rankings are equal on all engines.

export const IMPACT_MAX = 255;

/** How soon more occurrences of a term count little (BM25's k1), and how much a passage's length counts (its b). */
const SATURATION = 0.9;
const LENGTH_SHARE = 0.4;
/** BM25 has the mean of the collection here. A constant keeps other passages out of the posting. */
const USUAL_WORDS = 24;

/** From 1 to IMPACT_MAX, for a term that is there `count` times in a passage of so many words. */
export function impactOf(count: number, words: number): number {
  return Math.max(1, Math.round((IMPACT_MAX * count) / (count + halfOf(words))));
}

/**
 * How often, about, the term is in the passage of the impact, in 64ths and at least 1. Whole numbers are the same sum in any order.
 * An impact of IMPACT_MAX counts as the one below it.
 */
export function frequencyOf(impact: number, words: number): number {
  const below = Math.min(impact, IMPACT_MAX - 1);
  return Math.ceil((64 * below * halfOf(words)) / (IMPACT_MAX - below));
}

/** How often a term must be in a passage for half of the highest impact. */
function halfOf(words: number): number {
  return SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * words) / USUAL_WORDS);
}
