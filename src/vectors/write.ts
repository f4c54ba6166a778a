// Adds, replaces and deletes documents. Each is one commit that guards the collection's change, so that documents get their items in
// the order of commits, and what a commit removes is what its decision read.
import { HoldfastError } from "../contracts/errors.ts";
import type { Commit, Write } from "../contracts/storage/commit.ts";
import type { Payloads, Prepare } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { DocumentRow } from "../contracts/storage/vector-queries.ts";
import { invalid } from "../core/check.ts";
import { type Decision, decide, type FinalAnswer } from "../core/decide.ts";
import { discardErased } from "../core/erasure.ts";
import { addFieldWrites, removeScopeFieldsWrite } from "../core/metadata-index.ts";
import { newId } from "../core/new-id.ts";
import type { SerialQueue } from "../core/serial-queue.ts";
import { addItemWrite, removeGroupWrites } from "../search/index/item-source.ts";
import {
  type CollectionState,
  collectionGuards,
  DOCUMENTS,
  type Generation,
  joinGeneration,
  newCollection,
  newGeneration,
  putCollection,
  putGeneration,
  readCollection,
} from "./collections.ts";
import { encodeEmbedding, type PreparedContent, prepareContent, type ReadyDocument } from "./documents.ts";
import { checkVector } from "./kernel/vector.ts";
import { removeItems } from "./removal.ts";

export interface VectorContext {
  readonly storage: Storage;
  readonly payloads: Payloads;
  /** Writers of one handle to a collection do not refuse one another's guards. */
  readonly queue: SerialQueue;
}

export interface WriteTarget {
  readonly collection: string;
  readonly model: string | undefined;
  /** false: AlreadyExists if a document is there. */
  readonly replace: boolean;
}

interface IdentifiedDocument {
  readonly id: string;
  readonly ready: ReadyDocument;
}

export async function writeDocuments(
  context: VectorContext,
  ready: readonly ReadyDocument[],
  target: WriteTarget,
): Promise<readonly string[]> {
  if (ready.length === 0) return [];
  const { storage, payloads, queue } = context;
  const documents = ready.map((one) => ({ id: one.id ?? newId(storage.environment, "doc"), ready: one }));
  requireDistinct(documents);
  const ids = documents.map(({ id }) => id);
  return payloads.preparing((prepare) =>
    queue.run(target.collection, () =>
      decide(storage, async () => ({
        commit: await addCommit(storage, documents, target, prepare),
        answer: () => ids,
      })),
    ),
  );
}

function requireDistinct(documents: readonly IdentifiedDocument[]): void {
  const seen = new Set<string>();
  for (const { id, ready } of documents) {
    if (seen.has(id)) {
      const hint = "Add the documents one after the other if the later one is to replace the earlier one.";
      throw invalid(`${ready.what}.id`, "another one than those of the documents before it", id, hint);
    }
    seen.add(id);
  }
}

async function addCommit(
  storage: Storage,
  documents: readonly IdentifiedDocument[],
  target: WriteTarget,
  prepare: Prepare,
): Promise<Commit> {
  const found = await readCollection(storage, target.collection);
  const state = found ?? (await newCollection(storage, target.collection));
  const replaced = found === null ? [] : await findReplaced(storage, state, documents, target);
  const generation = checkEmbeddings(storage, state, documents, target);
  const { writes, current } = await removeItems(
    storage,
    { ...state, current: generation },
    replaced.map(({ item }) => item),
    null,
  );
  const contents: PreparedContent[] = [];
  for (const { ready } of documents) contents.push(await prepareContent(ready, prepare));
  const added = documents.flatMap((document, i) =>
    documentWrites(state, current, document, state.lastItem + 1 + i, contents[i] as PreparedContent),
  );
  const embedded = documents.filter(({ ready }) => ready.embedding !== null).length;
  const next: CollectionState = {
    ...state,
    change: state.change + 1,
    lastItem: state.lastItem + documents.length,
    documents: state.documents + documents.length - replaced.length,
    current: current === null ? null : { ...current, vectors: current.vectors + embedded },
  };
  return {
    guards: collectionGuards(state, found === null),
    blobs: contents.flatMap((one) => one.blobs),
    uses: contents.flatMap((one) => one.uses),
    writes: [...contents.flatMap((one) => one.writes), ...writes, ...added, ...stateWrites(next)],
  };
}

export function stateWrites(state: CollectionState): readonly Write[] {
  return [putCollection(state), ...(state.current === null ? [] : [putGeneration(state.no, state.current)])];
}

async function findReplaced(
  storage: Storage,
  { no: collection, name }: CollectionState,
  documents: readonly IdentifiedDocument[],
  { replace }: WriteTarget,
): Promise<readonly DocumentRow[]> {
  const found = await storage.query("documents.byIds", {
    collection,
    ids: JSON.stringify(documents.map(({ id }) => id)),
  });
  const [first] = found;
  if (first !== undefined && !replace) {
    throw new HoldfastError(
      "AlreadyExists",
      `the collection ${JSON.stringify(name)} has a document ${JSON.stringify(first.id)} already`,
      {
        details: { kind: "document", collection: name, id: first.id },
        hint: "Replace documents with vectors.upsert().",
      },
    );
  }
  return found;
}

/** The collection's current generation, or its first one. */
function checkEmbeddings(
  storage: Storage,
  state: CollectionState,
  documents: readonly IdentifiedDocument[],
  { model = "" }: WriteTarget,
): Generation | null {
  let { current } = state;
  for (const { ready } of documents) {
    const { embedding } = ready;
    if (embedding === null) continue;
    current ??= newGeneration(storage, 1, {
      model,
      dimension: embedding.length,
      metric: "cosine",
      precision: "f32",
    });
    const what = `${ready.what}.embedding`;
    current = joinGeneration(state.name, current, { model, dimension: embedding.length }, what);
    checkVector(embedding, current.dimension, current.metric, what);
  }
  return current;
}

function documentWrites(
  { no }: CollectionState,
  generation: Generation | null,
  { id, ready }: IdentifiedDocument,
  item: number,
  { columns }: PreparedContent,
): readonly Write[] {
  const { embedding, metadata, what } = ready;
  const pending = embedding === null ? 1 : null;
  const document: Write = {
    op: "insert",
    table: "documents",
    row: { collection_no: no, id, item, pending, ...columns },
  };
  // The document is found by its words from this commit on.
  const text = addItemWrite(DOCUMENTS, { group: no, item });
  const derived = [text, ...addFieldWrites({ kind: DOCUMENTS, scope: no }, item, metadata)];
  if (embedding === null || generation === null) return [document, ...derived];
  const bytes = encodeEmbedding(embedding, generation.precision, `${what}.embedding`);
  const vector: Write = {
    op: "insert",
    table: "vectors",
    row: { collection_no: no, generation: generation.generation, item, embedding: bytes },
  };
  return [document, vector, ...derived];
}

export async function deleteDocuments(
  { storage, payloads, queue }: VectorContext,
  ids: readonly string[],
  collection: string,
): Promise<number> {
  let later: readonly DiscardedBlob[] = [];
  const count = await queue.run(collection, () =>
    decide<number>(storage, async () => {
      const state = ids.length === 0 ? null : await readCollection(storage, collection);
      if (state === null) return { answer: 0 };
      const rows = await storage.query("documents.byIds", { collection: state.no, ids: JSON.stringify(ids) });
      if (rows.length === 0) return { answer: 0 };
      const items = rows.map(({ item }) => item);
      later = await storage.query("documents.discarded", { collection: state.no, items: JSON.stringify(items) });
      const { writes, current } = await removeItems(storage, state, items, storage.environment.now());
      const next = { ...state, change: state.change + 1, documents: state.documents - rows.length, current };
      const commit: Commit = {
        solo: true,
        guards: collectionGuards(state, false),
        writes: [...writes, ...stateWrites(next)],
      };
      return { commit, answer: () => rows.length };
    }),
  );
  if (count > 0) await discardErased(storage, payloads, later);
  return count;
}

type DiscardedBlob = Parameters<Payloads["discard"]>[0][number];

export async function deleteCollection({ storage, payloads, queue }: VectorContext, name: string): Promise<number> {
  let later: readonly DiscardedBlob[] = [];
  const count = await queue.run(name, () =>
    decide<number | null>(storage, async (): Promise<Decision<number> | FinalAnswer<null>> => {
      const state = await readCollection(storage, name);
      if (state === null) return { answer: null };
      const { no: collection, documents } = state;
      later = await storage.query("documents.allDiscarded", { collection });
      const params = { collection };
      const commit: Commit = {
        solo: true,
        guards: collectionGuards(state, false),
        writes: [
          { op: "run", statement: "documents.releaseAll", params },
          { op: "run", statement: "documents.dropAll", params: { collection, now: storage.environment.now() } },
          { op: "run", statement: "documents.removeAll", params },
          removeScopeFieldsWrite({ kind: DOCUMENTS, scope: collection }),
          ...removeGroupWrites(DOCUMENTS, collection),
          { op: "run", statement: "failures.forgetScope", params: { kind: DOCUMENTS, scope: collection } },
          { op: "run", statement: "vectors.removeAll", params },
          { op: "run", statement: "vectors.removePages", params },
          { op: "run", statement: "vectors.removeGenerations", params },
          { op: "remove", table: "vector_collections", row: { no: collection } },
        ],
      };
      return { commit, answer: () => documents };
    }),
  );
  if (count !== null) await discardErased(storage, payloads, later);
  return count ?? 0;
}
