// Documents and embeddings for the cases of the vectors contract, and what a search must find.
import type { DocumentInput, DocumentMatch, VectorMetric } from "../../contracts/vectors.ts";

/** Numbers from a seed. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  };
}

/** Embeddings around a few topics, the same ones for the same seed. */
export function embeddings(count: number, dimension: number, seed: number): readonly (readonly number[])[] {
  const next = randomNumbers(seed);
  const centred = () => Math.fround(next() + next() + next() - 1.5);
  const topics = Array.from({ length: 8 }, () => Array.from({ length: dimension }, centred));
  return Array.from({ length: count }, () => {
    const topic = topics[Math.floor(next() * topics.length)] ?? [];
    return topic.map((value) => Math.fround(value + 0.7 * centred()));
  });
}

export function documentsOf(
  vectors: readonly (readonly number[])[],
  more: (n: number) => Partial<DocumentInput<object>> = () => ({}),
): readonly DocumentInput<object>[] {
  return vectors.map((embedding, n) => ({ id: `d${n}`, content: `document ${n}`, embedding, ...more(n) }));
}

function similarity(metric: VectorMetric, a: readonly number[], b: readonly number[]): number {
  const product = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, i) => sum + value * (y[i] ?? 0), 0);
  if (metric === "dot") return product(a, b);
  if (metric === "cosine") return product(a, b) / Math.sqrt(product(a, a) * product(b, b));
  return -Math.sqrt(a.reduce((sum, value, i) => sum + (value - (b[i] ?? 0)) ** 2, 0));
}

/** The ids that comparing with every embedding finds. */
export function nearestIds(
  vectors: readonly (readonly number[])[],
  query: readonly number[],
  count: number,
  metric: VectorMetric = "cosine",
): readonly string[] {
  const scored = vectors.map((vector, n) => ({ id: `d${n}`, n, score: similarity(metric, vector, query) }));
  return scored
    .sort((a, b) => b.score - a.score || a.n - b.n)
    .slice(0, count)
    .map(({ id }) => id);
}

export const idsOf = (matches: readonly DocumentMatch[]) => matches.map(({ id }) => id);

/** The share of the expected ids that were found. */
export function shareFound(found: readonly string[], expected: readonly string[]): number {
  return expected.filter((id) => found.includes(id)).length / Math.max(1, expected.length);
}
