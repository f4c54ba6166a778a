// Embeds the items that wait: those without an embedding in collections of the store's embedder.
import type { Write } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { decide } from "../core/decide.ts";
import type { CheckedEmbedder } from "../core/embed-texts.ts";
import { type CollectionState, type Generation, joinGeneration, newGeneration } from "../vectors/collections.ts";
import { encodeEmbedding } from "../vectors/documents.ts";
import { failureWrite, forgetFailuresWrite } from "./failures.ts";
import { changeCommit, readCollectionAt, type SourceContext, type StoredItem, usableOutcome } from "./item-table.ts";
import type { EmbeddingOutcome, SourceStep } from "./source.ts";

/** What a collection's embeddings are. */
export type EmbeddedGeneration = Pick<Generation, "model" | "dimension" | "vectors">;

/**
 * Whether the store computes the embeddings of the collection with this embedder. Those of another model are the caller's, or are
 * embedded again as a whole.
 */
export function isEmbeddedBy(
  { current }: { readonly current: EmbeddedGeneration | null },
  { id, dimensions }: CheckedEmbedder,
): boolean {
  if (current === null || current.model === id) return true;
  return current.model === "" && current.vectors === 0 && current.dimension === dimensions;
}

export async function nextPendingStep(context: SourceContext, limit: number): Promise<SourceStep> {
  const { storage, items: source, embedder } = context;
  for (let after = 0; ; ) {
    const [found] = await storage.query(`${source.table}.nextPending`, { after });
    if (found === undefined) return "idle";
    after = found.collection;
    const state = await readCollectionAt(storage, after);
    if (state === null || !source.has(state.name) || !isEmbeddedBy(state, embedder)) continue;
    const now = storage.environment.now();
    const rows = await storage.query(`${source.table}.pending`, { collection: after, after: 0, now, limit });
    if (rows.length === 0) continue;
    const items = rows.map(({ item }) => item);
    const texts = await source.readTexts(state, items);
    const embeddable = texts.filter(({ text }) => text.trim() !== "");
    if (embeddable.length < items.length) {
      const kept = new Set(embeddable.map(({ item }) => item));
      await skipItems(
        context,
        state.no,
        items.filter((item) => !kept.has(item)),
      );
      return "done";
    }
    return {
      kind: source.kind,
      scope: state.no,
      items: texts,
      apply: (outcomes) => applyOutcomes(context, state.no, outcomes),
    };
  }
}

/** The items may have gone meanwhile, or their text: both are nothing to embed. */
async function skipItems(
  { storage, items: source }: SourceContext,
  collection: number,
  items: readonly number[],
): Promise<void> {
  await decide<void>(storage, async () => {
    const state = await readCollectionAt(storage, collection);
    if (state === null) return { answer: undefined };
    return { commit: source.skipCommit(state, items), answer: () => undefined };
  });
}

/**
 * Gives items their embeddings or failures, if they are still there. Readers rely on embeddings coming in the order of items: an item
 * before the last embedded one gets a new number, as if it were written again.
 */
async function applyOutcomes(
  context: SourceContext,
  collection: number,
  outcomes: ReadonlyMap<number, EmbeddingOutcome>,
): Promise<boolean> {
  const { storage, items: source, embedder } = context;
  return decide<boolean>(storage, async () => {
    const state = await readCollectionAt(storage, collection);
    if (state === null || !isEmbeddedBy(state, embedder)) return { answer: false };
    // A process that was slow, and lost the lease meanwhile, may come second.
    const embedded = await readEmbedded(storage, state, [...outcomes.keys()]);
    const items = [...outcomes.keys()].filter((item) => !embedded.has(item));
    const stored = await source.findItems(state, items);
    if (stored.length === 0 && embedded.size === 0) return { answer: false };
    const generation = generationFor(context, state);
    const writes: Write[] = settleWrites(context, state, embedded);
    const done: number[] = [];
    const moved = new Map<number, number>();
    let { lastItem } = state;
    let lastVector = await lastEmbedded(storage, state);
    for (const one of stored) {
      const found = outcomes.get(one.item);
      if (found === undefined) continue;
      const outcome = usableOutcome(generation, found);
      if (!(outcome instanceof Float32Array)) {
        writes.push(await failureWrite(storage, source.kind, collection, one.item, outcome));
        continue;
      }
      done.push(one.item);
      const item = one.item > lastVector ? one.item : lastItem + 1;
      lastItem = Math.max(lastItem, item);
      lastVector = item;
      if (item !== one.item) moved.set(one.item, item);
      for (const write of embeddingWrites(context, state, generation, one, item, outcome)) writes.push(write);
    }
    for (const write of source.indexWrites(state, moved)) writes.push(write);
    writes.push(forgetFailuresWrite(source.kind, collection, done));
    const current = { ...generation, vectors: generation.vectors + done.length };
    return { commit: changeCommit(state, writes, { ...state, lastItem, current }), answer: () => true };
  });
}

/** Items that have an embedding wait for nothing. */
function settleWrites(
  { items: source }: SourceContext,
  { no: collection, current }: CollectionState,
  embedded: ReadonlySet<number>,
): Write[] {
  if (current === null || embedded.size === 0) return [];
  const { generation } = current;
  return [
    { op: "run", statement: `${source.table}.settle`, params: { collection, generation } },
    forgetFailuresWrite(source.kind, collection, [...embedded]),
  ];
}

async function readEmbedded(
  storage: Storage,
  { no: collection, current }: CollectionState,
  items: readonly number[],
): Promise<ReadonlySet<number>> {
  if (current === null) return new Set();
  const of = { collection, generation: current.generation, items: JSON.stringify(items) };
  return new Set((await storage.query("vectors.itemsIn", of)).map(({ item }) => item));
}

function generationFor({ storage, items: source, embedder }: SourceContext, state: CollectionState): Generation {
  const { id, dimensions } = embedder;
  if (state.current === null) {
    const { precision } = source;
    return newGeneration(storage, 1, { model: id, dimension: dimensions, metric: "cosine", precision });
  }
  return joinGeneration(state.name, state.current, { model: id, dimension: dimensions }, "embedding");
}

async function lastEmbedded(storage: Storage, { no: collection, current }: CollectionState): Promise<number> {
  if (current === null) return 0;
  const [row] = await storage.query("vectors.lastItem", { collection, generation: current.generation });
  // Items of pages that were removed since have left nothing to compare with.
  return Math.max(row?.item ?? 0, current.packed);
}

function embeddingWrites(
  { items: source }: SourceContext,
  { no: collection }: CollectionState,
  { generation, precision }: Generation,
  stored: StoredItem,
  item: number,
  vector: Float32Array,
): readonly Write[] {
  const was = stored.item;
  const embedding = encodeEmbedding(vector, precision, "embedding");
  return [
    { op: "run", statement: `${source.table}.embed`, params: { collection, was, item } },
    { op: "insert", table: "vectors", row: { collection_no: collection, generation, item, embedding } },
    ...(item === was ? [] : stored.moveWrites(item)),
  ];
}
