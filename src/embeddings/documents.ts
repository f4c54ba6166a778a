// Documents of collections as the worker embeds them: those without an embedding in collections of the store's embedder, and all of a
// collection whose embeddings are of an embedder that the store has left.
import type { Write } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { decide } from "../core/decide.ts";
import type { CheckedEmbedder } from "../core/embed-texts.ts";
import { addFieldWrites, removeItemsFieldsWrite } from "../core/metadata-index.ts";
import { addItemWrite, removeItemsWrites } from "../search/index/item-source.ts";
import {
  type CollectionState,
  DOCUMENTS,
  type Generation,
  joinGeneration,
  newGeneration,
} from "../vectors/collections.ts";
import { encodeEmbedding, type StoredDocument } from "../vectors/documents.ts";
import {
  changeCommit,
  isUsableVector,
  readCollectionAt,
  readDocuments,
  type SourceContext,
  textItem,
  unusableWrite,
} from "./document-texts.ts";
import { forgetFailuresWrite } from "./failures.ts";
import { type BuildProgress, nextRebuildStep } from "./rebuild.ts";
import type { EmbeddingSource, SourceStep, TextItem } from "./source.ts";

export function documentSource(context: SourceContext): EmbeddingSource {
  const progress: BuildProgress = new Map();
  return {
    kind: "documents",
    next: async (limit) => {
      const step = await nextPendingStep(context, limit);
      return step === "idle" ? nextRebuildStep(context, progress, limit) : step;
    },
  };
}

/**
 * Whether the store computes the embeddings of the collection with this embedder. Those of another model are the caller's, or are
 * embedded again as a whole.
 */
export function isEmbeddedBy(
  { current }: Pick<CollectionState, "current">,
  { id, dimensions }: CheckedEmbedder,
): boolean {
  if (current === null || current.model === id) return true;
  return current.model === "" && current.vectors === 0 && current.dimension === dimensions;
}

async function nextPendingStep(context: SourceContext, limit: number): Promise<SourceStep> {
  const { storage, embedder } = context;
  for (let after = 0; ; ) {
    const [found] = await storage.query("documents.nextPending", { after });
    if (found === undefined) return "idle";
    after = found.collection;
    const state = await readCollectionAt(storage, after);
    if (state === null || !isEmbeddedBy(state, embedder)) continue;
    const now = storage.environment.now();
    const rows = await storage.query("documents.pending", { collection: after, after: 0, now, limit });
    if (rows.length === 0) continue;
    const items = rows.map(({ item }) => item);
    const documents = await readDocuments(context, state, items);
    const texts = documents.map(textItem);
    const empty = texts.filter(({ text }) => text.trim() === "");
    if (empty.length > 0) {
      await skipDocuments(storage, state.no, empty);
      return "done";
    }
    return {
      kind: "documents",
      scope: state.no,
      items: texts,
      apply: (vectors, writes) => applyEmbeddings(context, state.no, vectors, writes),
    };
  }
}

/** Documents without any text get no embedding. */
async function skipDocuments(storage: Storage, collection: number, items: readonly TextItem[]): Promise<void> {
  const numbers = items.map(({ item }) => item);
  await decide<void>(storage, async () => {
    const state = await readCollectionAt(storage, collection);
    if (state === null) return { answer: undefined };
    const params = { collection, items: JSON.stringify(numbers) };
    const writes: Write[] = [{ op: "run", statement: "documents.needNone", params }];
    return { commit: changeCommit(state, writes), answer: () => undefined };
  });
}

/**
 * Gives documents their embeddings, if they are still there. Readers rely on embeddings coming in the order of items: a document before
 * the last embedded one gets a new item, as if it were written again.
 */
async function applyEmbeddings(
  context: SourceContext,
  collection: number,
  vectors: ReadonlyMap<number, Float32Array>,
  extra: readonly Write[],
): Promise<void> {
  const { storage, embedder } = context;
  await decide<void>(storage, async () => {
    const state = await readCollectionAt(storage, collection);
    if (state === null || !isEmbeddedBy(state, embedder)) return { answer: undefined };
    // A process that was slow, and lost the lease meanwhile, may come second.
    const items = await withoutEmbedding(storage, state, [...vectors.keys()]);
    const documents = await readDocuments(context, state, items);
    if (documents.length === 0 && extra.length === 0) return { answer: undefined };
    const generation = generationFor(storage, state, embedder);
    const writes: Write[] = [...extra];
    const done: number[] = [];
    const moved = new Map<number, number>();
    let { lastItem } = state;
    let lastVector = await lastEmbedded(storage, state);
    for (const document of documents) {
      const vector = vectors.get(document.item);
      if (vector === undefined) continue;
      if (!isUsableVector(generation, vector)) {
        writes.push(unusableWrite(storage, collection, document.item));
        continue;
      }
      done.push(document.item);
      const isInOrder = document.item > lastVector;
      const item = isInOrder ? document.item : lastItem + 1;
      lastItem = Math.max(lastItem, item);
      lastVector = item;
      if (!isInOrder) moved.set(document.item, item);
      for (const write of embeddingWrites(state, generation, document, item, vector)) writes.push(write);
    }
    for (const write of moveTextWrites(collection, moved)) writes.push(write);
    writes.push(forgetFailuresWrite("documents", collection, done));
    const current = { ...generation, vectors: generation.vectors + done.length };
    return { commit: changeCommit(state, writes, { ...state, lastItem, current }), answer: () => undefined };
  });
}

/** The text index knows documents by their items. */
function moveTextWrites(group: number, moved: ReadonlyMap<number, number>): readonly Write[] {
  const added = [...moved.values()].map((item) => addItemWrite(DOCUMENTS, { group, item }));
  return [...removeItemsWrites(DOCUMENTS, group, [...moved.keys()]), ...added];
}

async function withoutEmbedding(
  storage: Storage,
  { no: collection, current }: CollectionState,
  items: readonly number[],
): Promise<readonly number[]> {
  if (current === null) return items;
  const of = { collection, generation: current.generation, items: JSON.stringify(items) };
  const embedded = new Set((await storage.query("vectors.itemsIn", of)).map(({ item }) => item));
  return items.filter((item) => !embedded.has(item));
}

function generationFor(storage: Storage, state: CollectionState, { id, dimensions }: CheckedEmbedder): Generation {
  if (state.current === null) {
    return newGeneration(storage, 1, { model: id, dimension: dimensions, metric: "cosine", precision: "f32" });
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
  { no: collection }: CollectionState,
  { generation, precision }: Generation,
  document: StoredDocument,
  item: number,
  vector: Float32Array,
): readonly Write[] {
  const was = document.item;
  const scope = { kind: DOCUMENTS, scope: collection };
  const fields =
    item === was ? [] : [removeItemsFieldsWrite(scope, [was]), ...addFieldWrites(scope, item, document.metadata)];
  const embedding = encodeEmbedding(vector, precision, "embedding");
  return [
    { op: "run", statement: "documents.embed", params: { collection, was, item } },
    { op: "insert", table: "vectors", row: { collection_no: collection, generation, item, embedding } },
    ...fields,
  ];
}
