// The memories of a scope that are nearest to a question. A scope has a collection of embeddings of its own, so that no other scope's
// can be found, whatever the filters are.
import type { Storage } from "../contracts/storage/storage.ts";
import { ScoreSpread } from "../search/ranking/hybrid.ts";
import { type CollectionState, readCollection } from "../vectors/collections.ts";
import { BestRows } from "../vectors/kernel/best-rows.ts";
import type { ScoredPassages } from "../vectors/passage-vectors.ts";
import { memoriesCollection } from "../vectors/reserved.ts";

/** So many of the nearest passages are ranked first, or so many for each memory that is wanted. */
const NEAREST_MIN = 200;
const NEAREST = 4;

export function firstNearest(limit: number): number {
  return Math.max(NEAREST_MIN, NEAREST * limit);
}

export interface NearestMemories {
  /** By the memory's number: the best of its passages. */
  readonly scores: ReadonlyMap<number, number>;
  /** See ScoreSpread. */
  readonly floor: number;
  /** No other passage is allowed. */
  readonly isAll: boolean;
}

export async function findNearest(
  passages: ScoredPassages,
  {
    vector,
    count,
    allows,
  }: {
    readonly vector: Float32Array;
    /** Of the passages. */
    readonly count: number;
    readonly allows: (memory: number) => boolean;
  },
): Promise<NearestMemories> {
  const { map } = passages;
  const spread = new ScoreSpread();
  const best = new BestRows(count);
  await passages.estimateAll(vector, (entry, score) => {
    spread.add(score);
    if (score >= best.worstKey && allows(map.numbers[entry] ?? 0)) best.offer(score, entry);
  });
  const entries = best.sorted().map(({ row }) => row);
  const scores = new Map<number, number>();
  for (const [entry, score] of await passages.exactScores(vector, entries)) {
    const memory = map.numbers[entry] ?? 0;
    scores.set(memory, Math.max(scores.get(memory) ?? Number.NEGATIVE_INFINITY, score));
  }
  return { scores, floor: spread.floor, isAll: entries.length < count };
}

/** Passages of the scope without an embedding of the model; a memory that is not cut into passages yet counts once. */
export async function countWaiting(storage: Storage, scope: number, model: string): Promise<number> {
  const [uncut] = await storage.query("memories.countUncutIn", { group: scope });
  const state = await readCollection(storage, memoriesCollection(scope));
  if (state === null) return uncut?.n ?? 0;
  const [pending] = await storage.query("passages.countPending", { collection: state.no });
  return (uncut?.n ?? 0) + Math.max(pending?.n ?? 0, await countRebuilt(storage, state, model));
}

/** Passages whose embeddings are of another model. */
async function countRebuilt(
  storage: Storage,
  { no, current, documents }: CollectionState,
  model: string,
): Promise<number> {
  if (current === null || current.model === model) return 0;
  const generations = await storage.query("vectors.generations", { collection: no });
  const built = generations.find((one) => one.generation > current.generation && one.model === model);
  return documents - (built?.vectors ?? 0);
}
