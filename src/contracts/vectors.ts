// Vectors: documents in collections, found by the words of a query, by the nearness of their embeddings to that of a query, or by both.
// Promises: a search sees every document that was added before it began, by whichever process, and none that is gone; all results
// are of one moment. Scores are exact: an approximation only chooses which documents are scored. Embeddings of different models are
// never compared.
import type { JsonableObject, JsonObject } from "./json.ts";
import type { ContentBlock, ContentBlockInput } from "./messages.ts";
import type { MetadataFilter } from "./metadata-filter.ts";
import type { SearchSnippet } from "./search.ts";
import type { TextLanguage } from "./text-index.ts";

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
  /** The language in which the words of its text are stemmed; "none" leaves them as they are. Default: that of the store. */
  readonly language?: TextLanguage | null;
  /** Without one the document is found by its id and by its words; by meaning once it has an embedding. */
  readonly embedding?: Embedding | null;
  /** What filters can find the document by. */
  readonly metadata?: JsonableObject<M>;
}

/** A piece of content to find again. It is not the block of a message with the type "document". */
export interface Document {
  readonly id: string;
  readonly content: readonly ContentBlock[];
  /** null: that of the store. */
  readonly language: TextLanguage | null;
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

/** text: by words only. vector: by embeddings only. hybrid: by both. */
export type TextSearchMode = "text" | "vector" | "hybrid";

/** A part of a score. text: words of the query. vector: a similar meaning. The values, from 0 to 1, are weighted and added; none is 0. */
export interface DocumentSignal {
  readonly name: "text" | "vector";
  readonly value: number;
  readonly weight: number;
}

/** A document that a search by text found. */
export interface TextMatch extends Pick<DocumentMatch, "id" | "content" | "metadata"> {
  /** From 0 to 1, higher is better; it compares matches of one search. */
  readonly score: number;
  /** What the metric says of the embeddings; null: they were not compared, or the document has none. */
  readonly similarity: number | null;
  readonly signals: readonly DocumentSignal[];
  /** The part of the document's text to show. */
  readonly snippet: SearchSnippet;
}

/**
 * Best first. `mode` says how they were found, and `warning` why by words only although the store has an embedder, unless the mode was
 * chosen; null: nothing is wrong. Neither is enumerable.
 */
export type TextMatches = readonly TextMatch[] & { readonly mode: TextSearchMode; readonly warning: string | null };

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
  /**
   * The model of the embeddings. EmbeddingMismatch if the collection has those of another model. Without it, embeddings are added only
   * beside others without a model, and a query is taken as one of the collection's model.
   */
  readonly model?: string;
}

export interface VectorSearchOptions extends AddOptions {
  /** Default 5. */
  readonly limit?: number;
  readonly filter?: MetadataFilter;
  /**
   * For a query that is a text. Default: hybrid if the store's embedder made the collection's embeddings, otherwise text. hybrid and
   * vector are an error where they are not possible.
   */
  readonly mode?: TextSearchMode;
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
   * The documents that have words of a text, best first: more words of the query rank a document higher, "phrases" must be in it,
   * -excluded words not, and prefix* stands for words that begin so. Each document is searched in its own language. If the store's
   * embedder made the collection's embeddings, documents with a near meaning are found too, and both scores are weighted and added.
   * `mode` of the result says which it was. A blank text or a missing collection gives none.
   */
  search(query: string, options?: VectorSearchOptions): Promise<TextMatches>;
  /**
   * The documents whose embeddings are nearest to the query's, nearest first; of equally near ones the older first. A missing
   * collection gives none. EmbeddingMismatch if the query has another dimension or model than the collection.
   */
  search(query: Embedding, options?: VectorSearchOptions): Promise<readonly DocumentMatch[]>;
  search(query: Embedding | string, options?: VectorSearchOptions): Promise<TextMatches | readonly DocumentMatch[]>;
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
