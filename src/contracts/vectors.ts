// Vectors: documents with embeddings, in collections, found by the nearness of their embeddings to that of a query.
// Promises: a search sees every document that was added before it began, by whichever process, and none that is gone; all results
// are of one moment. Scores are exact: an approximation only chooses which documents are scored. Embeddings of different models are
// never compared.
import type { JsonableObject, JsonObject } from "./json.ts";
import type { ContentBlock, ContentBlockInput } from "./messages.ts";
import type { MetadataFilter } from "./metadata-filter.ts";

/** A vector as a model returns it: finite numbers, at most 4,096 of them. */
export type Embedding = Float32Array | readonly number[];

/**
 * How near two embeddings are. cosine: by their directions, as most models mean it. dot: by their inner product. euclidean: by
 * their distance.
 */
export type VectorMetric = "cosine" | "dot" | "euclidean";

export interface DocumentInput<M extends object = JsonObject> {
  /** Chosen by the caller, or made by the store. */
  readonly id?: string;
  /** A string is short for one text block. */
  readonly content: string | readonly ContentBlockInput[];
  /** Without one the document is stored and found by its id, and by searches once it has an embedding. */
  readonly embedding?: Embedding | null;
  /** What filters can find the document by. */
  readonly metadata?: JsonableObject<M>;
}

/** A piece of content to find again. It is not the block of a message with the type "document". */
export interface Document {
  readonly id: string;
  readonly content: readonly ContentBlock[];
  /** As stored, with the precision of the collection; null if the document has none. */
  readonly embedding: readonly number[] | null;
  readonly metadata: JsonObject;
}

export interface DocumentMatch {
  readonly id: string;
  readonly content: readonly ContentBlock[];
  /**
   * From 0 to 1, higher is nearer: (1 + cosine) / 2; 1 / (1 + distance) for euclidean; 1 / (1 + e^-product) for dot. It compares
   * matches of one collection and is no probability.
   */
  readonly score: number;
  /** What the metric itself says: the cosine, the inner product, or the distance with a minus sign. */
  readonly similarity: number;
  readonly metadata: JsonObject;
}

export interface CollectionInput {
  /** Names the model whose embeddings the collection has; "" (default): its name is unknown. */
  readonly model?: string;
  readonly dimension: number;
  /** Default: cosine. */
  readonly metric?: VectorMetric;
  /**
   * How many bits each number is stored with. f32 (default) stores embeddings as they are given. f16 takes half the space and rounds
   * to 11 significant bits; numbers beyond ±65,504 are refused.
   */
  readonly precision?: "f32" | "f16";
}

export interface Collection {
  readonly name: string;
  /** Counts the models that the collection has had: embeddings of different generations are never compared. 0: none yet. */
  readonly generation: number;
  readonly model: string;
  /** null: no embedding has been added yet; the first one decides. */
  readonly dimension: number | null;
  readonly metric: VectorMetric;
  readonly precision: "f32" | "f16";
  readonly documents: number;
  /** How many of the documents searches by embedding can find. */
  readonly embedded: number;
  /** How many embeddings are scanned by their codes; the others, which are newer, are compared exactly. */
  readonly packed: number;
  /** Grows with every change of the collection. */
  readonly change: number;
  readonly createdAt: number;
}

export interface CollectionOptions {
  /** Default: "default". */
  readonly collection?: string;
}

export interface AddOptions extends CollectionOptions {
  /** The model of the embeddings. If the collection has embeddings of another model, EmbeddingMismatch. */
  readonly model?: string;
}

export interface VectorSearchOptions extends AddOptions {
  /** Default 5. */
  readonly limit?: number;
  readonly filter?: MetadataFilter;
}

export interface Vectors {
  /**
   * Adds documents, all or none, and returns their ids. A missing collection is created by its first document. AlreadyExists if the
   * collection has a document with one of the ids; EmbeddingMismatch if an embedding has another dimension or model than its
   * collection.
   */
  add(documents: readonly DocumentInput<object>[], options?: AddOptions): Promise<readonly string[]>;
  /** The same; a document with an id that the collection has replaces that document. */
  upsert(documents: readonly DocumentInput<object>[], options?: AddOptions): Promise<readonly string[]>;
  /**
   * The documents whose embeddings are nearest to the query's, nearest first; of equally near ones the older first. A missing
   * collection gives none. EmbeddingMismatch if the query has another dimension or model than the collection. A text is embedded by the
   * store's embedder first; a blank one finds nothing.
   */
  search(query: Embedding | string, options?: VectorSearchOptions): Promise<readonly DocumentMatch[]>;
  /** In the order of the ids; one that is not there is left out. */
  get(ids: readonly string[], options?: CollectionOptions): Promise<readonly Document[]>;
  /** Erases documents: content, embeddings and all that was derived from them. Returns how many there were. */
  delete(ids: readonly string[], options?: CollectionOptions): Promise<number>;
  /** Creates an empty collection. AlreadyExists if there is one of that name. */
  createCollection(collection: string, input: CollectionInput): Promise<Collection>;
  /** null if there is no such collection. */
  getCollection(collection: string): Promise<Collection | null>;
  /** The names of all collections, in the order of their UTF-8 bytes. */
  listCollections(): Promise<readonly string[]>;
  /**
   * Makes again what is derived from the documents of a collection: its pages of codes, in the background, and the index of its
   * metadata. Searches go on meanwhile. For a check that found one of them wrong. Returns how many documents there are. NotFound if
   * there is no such collection.
   */
  rebuild(collection: string): Promise<number>;
  /** Erases the collection with its documents. Returns how many documents there were. */
  deleteCollection(collection: string): Promise<number>;
}
