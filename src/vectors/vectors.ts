// Vectors: documents with embeddings in collections. See contracts/vectors.ts for what they promise.
import { HoldfastError } from "../contracts/errors.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { Collection, CollectionInput, Document, Vectors } from "../contracts/vectors.ts";
import { VECTOR_VERBS } from "../contracts/verbs/vectors.ts";
import { invalid } from "../core/check.ts";
import { decide } from "../core/decide.ts";
import type { LazyPart } from "../core/lifetime.ts";
import { parseFilter } from "../core/metadata-filter.ts";
import { SerialQueue } from "../core/serial-queue.ts";
import { bindVerbs } from "../core/verbs.ts";
import { CodesCache } from "./codes-cache.ts";
import { requireFinite } from "./collection-codes.ts";
import {
  type CollectionState,
  collectionGuards,
  newCollection,
  newGeneration,
  readCollection,
  shownCollection,
} from "./collections.ts";
import { readDocument, readyDocument } from "./documents.ts";
import { toVector } from "./embedding.ts";
import { isPackable, Packer } from "./pack.ts";
import { checkQueryModel, type QueryEmbedder } from "./query-text.ts";
import { rebuildCollection } from "./rebuild.ts";
import { checkCollectionName } from "./reserved.ts";
import { type SearchContext, searchDocuments } from "./search.ts";
import type { TextSearch } from "./text-search.ts";
import { deleteCollection, deleteDocuments, stateWrites, type VectorContext, writeDocuments } from "./write.ts";

export interface VectorsPart {
  readonly vectors: Vectors;
  /** Ends work in the background. */
  close(): Promise<void>;
}

/** What a search by text needs; its code is loaded with the first one. */
export interface TextSearchPart {
  readonly embedder: QueryEmbedder | null;
  readonly texts: LazyPart<TextSearch>;
}

export function createVectors(storage: Storage, payloads: Payloads, { embedder, texts }: TextSearchPart): VectorsPart {
  const context: VectorContext & SearchContext = {
    storage,
    payloads,
    queue: new SerialQueue(),
    cache: new CodesCache(storage),
    packer: new Packer(storage),
  };
  const { packer } = context;
  const packIfDue = async (name: string) => {
    const state = await readCollection(storage, name);
    if (state !== null && isPackable(state)) packer.schedule(name);
  };
  const forgetTexts = () => {
    if (texts.isNeeded) texts.loaded?.forget();
  };
  const erase = async (erasing: Promise<number>) => {
    const count = await erasing;
    if (count > 0) forgetTexts();
    return count;
  };
  const put = async (
    documents: readonly unknown[],
    options: { readonly collection: string; readonly model?: string },
    replace: boolean,
  ) => {
    checkCollectionName(options.collection);
    const ready = documents.map((one, i) => readyDocument(one, `documents[${i}]`));
    const { collection, model } = options;
    const ids = await writeDocuments(context, ready, { collection, model, replace });
    if (replace) forgetTexts();
    await packIfDue(collection);
    return ids;
  };
  const vectors = bindVerbs<Vectors, typeof VECTOR_VERBS>(VECTOR_VERBS, null, {
    add: (documents, options) => put(documents, options, false),
    upsert: (documents, options) => put(documents, options, true),
    search: async (query, { collection, model, limit, filter, mode }) => {
      checkCollectionName(collection);
      const parsed = parseFilter(filter);
      if (typeof query === "string") {
        checkQueryModel(model, embedder);
        const search = await texts.load();
        return search.search(context, { text: query, collection, limit, filter: parsed, mode });
      }
      const vector = toVector(query, "query", "a text, or an embedding: an array of numbers or a Float32Array");
      if (mode !== undefined && mode !== "vector")
        throw invalid("mode", 'left out, or "vector", for an embedding', mode);
      return searchDocuments(context, { vector, model, collection, limit, filter: parsed });
    },
    get: async (ids, { collection }) => getDocuments(storage, payloads, checkCollectionName(collection), ids),
    delete: async (ids, { collection }) => erase(deleteDocuments(context, ids, checkCollectionName(collection))),
    createCollection: async (name, input) => createCollection(context, checkCollectionName(name), input),
    getCollection: async (name) => {
      const state = await readCollection(storage, checkCollectionName(name));
      return state === null ? null : shownCollection(state);
    },
    listCollections: () => listCollections(storage),
    rebuild: async (name) => {
      const count = await rebuildCollection(context, checkCollectionName(name));
      await packIfDue(name);
      return count;
    },
    deleteCollection: async (name) => erase(deleteCollection(context, checkCollectionName(name))),
  });
  return { vectors, close: () => packer.close() };
}

async function createCollection(
  { storage, queue }: VectorContext,
  name: string,
  input: Required<CollectionInput>,
): Promise<Collection> {
  return queue.run(name, () =>
    decide<Collection>(storage, async () => {
      if ((await readCollection(storage, name)) !== null) {
        throw new HoldfastError("AlreadyExists", `a collection ${JSON.stringify(name)} exists already`, {
          details: { kind: "collection", id: name },
          hint: "Use it, or delete it first with vectors.deleteCollection().",
        });
      }
      const created = await newCollection(storage, name);
      const state: CollectionState = { ...created, change: 1, current: newGeneration(storage, 1, input) };
      const commit = { guards: collectionGuards(created, true), writes: stateWrites(state) };
      return { commit, answer: () => shownCollection(state) };
    }),
  );
}

async function getDocuments(
  storage: Storage,
  payloads: Payloads,
  collection: string,
  ids: readonly string[],
): Promise<readonly Document[]> {
  const state = ids.length === 0 ? null : await readCollection(storage, collection);
  if (state === null) return [];
  const rows = await storage.query("documents.byIds", { collection: state.no, ids: JSON.stringify(ids) });
  const embeddings = await readEmbeddings(
    storage,
    state,
    rows.map(({ item }) => item),
  );
  const byId = new Map<string, Document>();
  for (const row of rows) {
    const { id, content, language, metadata } = await readDocument(payloads, collection, row);
    byId.set(id, { id, content, language, embedding: embeddings.get(row.item) ?? null, metadata });
  }
  return ids.flatMap((id) => byId.get(id) ?? []);
}

async function readEmbeddings(
  storage: Storage,
  { no: collection, name, current }: CollectionState,
  items: readonly number[],
): Promise<ReadonlyMap<number, readonly number[]>> {
  if (current === null || items.length === 0) return new Map();
  const { generation } = current;
  const rows = await storage.query("vectors.byItems", { collection, generation, items: JSON.stringify(items) });
  return new Map(
    rows.map(({ item, embedding }) => [item, Array.from(requireFinite(embedding, current, name, item))] as const),
  );
}

const NAMES_AT_ONCE = 1000;

async function listCollections(storage: Storage): Promise<readonly string[]> {
  const names: string[] = [];
  for (let after = ""; ; ) {
    const rows = await storage.query("vectors.collections", { after, limit: NAMES_AT_ONCE });
    for (const { name } of rows) names.push(name);
    const last = rows.at(-1);
    if (last === undefined || rows.length < NAMES_AT_ONCE) return names;
    after = last.name;
  }
}
