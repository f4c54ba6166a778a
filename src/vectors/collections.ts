// Collections and their generations, as rows and as callers see them. Every change of a collection counts its column `change` up and
// guards it, so that a decision which read the collection also relies on all of its documents.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Guard, Write } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { CollectionRow, GenerationRow } from "../contracts/storage/vector-queries.ts";
import type { Collection, VectorMetric } from "../contracts/vectors.ts";
import { limitExceeded } from "../core/check.ts";
import { decodeRow, oneOf, text, whole } from "../core/decode.ts";
import { STORE_LOCK } from "../core/session-guards.ts";
import type { VectorPrecision } from "./kernel/rescore.ts";

const METRICS: readonly VectorMetric[] = ["cosine", "dot", "euclidean"];
const PRECISIONS: readonly VectorPrecision[] = ["f32", "f16"];

/** The kind of documents in the index of metadata, and in the text index. */
export const DOCUMENTS = "documents";

/** Embeddings of one model: they are compared with one another, and never with those of another generation. */
export interface Generation {
  readonly generation: number;
  /** "": unknown. */
  readonly model: string;
  readonly dimension: number;
  readonly metric: VectorMetric;
  readonly precision: VectorPrecision;
  /** Of the rotation of codes. */
  readonly seed: number;
  /** Embeddings of items up to this one are in pages. */
  readonly packed: number;
  /** How many embeddings of later items were removed. */
  readonly removals: number;
  readonly vectors: number;
  readonly createdAt: number;
}

export interface CollectionState {
  /** Random, and never used again: what a process remembers of a collection is of no other one. */
  readonly no: number;
  readonly name: string;
  readonly change: number;
  readonly lastItem: number;
  readonly documents: number;
  readonly createdAt: number;
  /** null: no embedding was added, and no collection with a dimension created. */
  readonly current: Generation | null;
}

const COLLECTION = {
  no: whole,
  name: text,
  generation: whole,
  change: whole,
  last_item: whole,
  documents: whole,
  created_at: whole,
};

const GENERATION = {
  generation: whole,
  model: text,
  dimension: whole,
  metric: oneOf(METRICS),
  precision: oneOf(PRECISIONS),
  seed: whole,
  packed: whole,
  removals: whole,
  vectors: whole,
  created_at: whole,
};

export async function readCollection(storage: Storage, name: string): Promise<CollectionState | null> {
  const [row] = await storage.query("vectors.collection", { name });
  return row === undefined ? null : collectionOf(row);
}

export function collectionOf(row: CollectionRow): CollectionState {
  const name = { kind: "collection", collection: row.name };
  const { no, generation, change, last_item, documents, created_at } = decodeRow(name, row, COLLECTION);
  const current = generation === 0 ? null : generationOf(row.name, { ...row, created_at: row.generation_at });
  return { no, name: row.name, change, lastItem: last_item, documents, createdAt: created_at, current };
}

export function generationOf(
  collection: string,
  row: { readonly [C in keyof GenerationRow]: GenerationRow[C] | null },
): Generation {
  const name = { kind: "generation", collection, generation: row.generation ?? 0 };
  const { created_at, ...found } = decodeRow(name, row, GENERATION);
  return { ...found, createdAt: created_at };
}

export function shownCollection({ name, change, documents, createdAt, current }: CollectionState): Collection {
  return {
    name,
    generation: current?.generation ?? 0,
    model: current?.model ?? "",
    dimension: current?.dimension ?? null,
    metric: current?.metric ?? "cosine",
    precision: current?.precision ?? "f32",
    documents,
    embedded: current?.vectors ?? 0,
    packed: current?.packed ?? 0,
    change,
    createdAt,
  };
}

export function putCollection(state: CollectionState): Write {
  const { no, name, change, lastItem, documents, createdAt, current } = state;
  return {
    op: "put",
    table: "vector_collections",
    row: {
      no,
      name,
      generation: current?.generation ?? 0,
      change,
      last_item: lastItem,
      documents,
      created_at: createdAt,
    },
  };
}

export function putGeneration(collection: number, { createdAt, ...columns }: Generation): Write {
  return {
    op: "put",
    table: "vector_generations",
    row: { collection_no: collection, ...columns, created_at: createdAt },
  };
}

/** Holds while the collection is as it was read; `isNew`: while there is no collection of that name. */
export function collectionGuards({ no, name, change }: CollectionState, isNew: boolean): readonly Guard[] {
  if (!isNew) return [{ check: "collection.change", key: [no], expect: change }];
  // Random numbers meet where there are very many: then another one is drawn.
  return [
    STORE_LOCK,
    { check: "collection.no", key: [name], expect: null },
    { check: "collection.change", key: [no], expect: null },
  ];
}

const NUMBER_BYTES = 5;

/** A collection that is about to be created. LimitExceeded if there are as many as there may be. */
export async function newCollection(storage: Storage, name: string): Promise<CollectionState> {
  const count = (await storage.query("vectors.totals", {}))[0]?.collections ?? 0;
  if (count >= LIMITS.vectorCollections)
    throw limitExceeded("vectorCollections", "the store in collections", count + 1);
  return emptyCollection(storage, name);
}

/** The same; the store's own collections are not counted. */
export function emptyCollection({ environment }: Storage, name: string): CollectionState {
  const no = environment.random(NUMBER_BYTES).reduce((number, byte) => number * 256 + byte, 0) + 1;
  return { no, name, change: 0, lastItem: 0, documents: 0, createdAt: environment.now(), current: null };
}

export function newGeneration(
  { environment }: Storage,
  generation: number,
  model: Pick<Generation, "model" | "dimension" | "metric" | "precision">,
): Generation {
  const seed = environment.random(4).reduce((number, byte) => number * 256 + byte, 0);
  const { model: name, dimension, metric, precision } = model;
  const createdAt = environment.now();
  return {
    generation,
    model: name,
    dimension,
    metric,
    precision,
    seed,
    packed: 0,
    removals: 0,
    vectors: 0,
    createdAt,
  };
}

interface GivenEmbeddings {
  /** "": unknown. */
  readonly model: string;
  readonly dimension: number;
}

/**
 * The generation that embeddings of this model may join. Embeddings without a model's name are a generation of their own: the store
 * cannot know whether they are of a model that has one. Without any embedding, a generation without a name takes the name of the first
 * ones.
 */
export function joinGeneration(
  collection: string,
  generation: Generation,
  given: GivenEmbeddings,
  what: string,
): Generation {
  const isUnclaimed = generation.model === "" && generation.vectors === 0;
  const joined = isUnclaimed ? { ...generation, model: given.model } : generation;
  if (given.model === joined.model && given.dimension === joined.dimension) return joined;
  throw mismatch(collection, generation, given, what, addHint(generation, given));
}

/** Refuses a query of another model or dimension than the collection has. Without a model's name it is of the collection's model. */
export function requireSameModel(
  collection: string,
  generation: Generation,
  given: { readonly model: string | undefined; readonly dimension: number },
  what: string,
): void {
  const { model = "", dimension } = given;
  if ((model === "" || model === generation.model) && dimension === generation.dimension) return;
  throw mismatch(
    collection,
    generation,
    { model, dimension },
    what,
    generation.model === "" && model !== "" && dimension === generation.dimension
      ? "Its embeddings have no model name: leave `model` out if you know that the query is of the same one."
      : OTHER_MODEL,
  );
}

const OTHER_MODEL = "Use the collection's model, or put embeddings of the other model into a collection of their own.";

function addHint({ model, dimension }: Generation, given: GivenEmbeddings): string {
  if (dimension !== given.dimension) return OTHER_MODEL;
  if (given.model === "") {
    return `Pass \`model: ${JSON.stringify(model)}\` if these embeddings are of that model, or use a collection of their own.`;
  }
  if (model !== "") return OTHER_MODEL;
  return (
    "Its embeddings have no model name: leave `model` out if these are of the same one, or use a collection of their own, " +
    "where all are added with `model`."
  );
}

function mismatch(
  collection: string,
  { model, dimension, generation }: Generation,
  given: GivenEmbeddings,
  what: string,
  hint: string,
): HoldfastError {
  const named = (name: string, size: number) => `${name === "" ? "a model without a name" : name} (${size} numbers)`;
  const [ours, theirs] = [named(model, dimension), named(given.model, given.dimension)];
  return new HoldfastError(
    "EmbeddingMismatch",
    `${what}: an embedding of ${theirs}; the collection ${JSON.stringify(collection)} has those of ${ours}`,
    { details: { collection, generation, expected: { model, dimension }, actual: { ...given } }, hint },
  );
}
