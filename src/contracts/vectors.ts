// VectorStore of the storage contracts: documents found by the similarity of their embeddings. No backend of this
// package implements it yet; agent code can be written against it and any object that satisfies it can be handed to open().
import type { Json, JsonObject } from "./json.ts";
import type { ContentBlock } from "./messages.ts";

export interface VectorDocument {
  readonly id: string;
  readonly content: readonly ContentBlock[];
  /** null: the store computes it. */
  readonly embedding: readonly number[] | null;
  readonly metadata: JsonObject;
}

export interface VectorMatch {
  readonly id: string;
  readonly content: readonly ContentBlock[];
  /** Higher is closer. */
  readonly score: number;
  readonly metadata: JsonObject;
}

export interface InCollection {
  /** "default" when not given. */
  readonly collection?: string;
}

export interface Vectors {
  add(documents: readonly VectorDocument[], options?: InCollection): Promise<readonly string[]>;
  search(
    embedding: readonly number[],
    options?: InCollection & { readonly limit?: number; readonly filter?: Readonly<Record<string, Json>> },
  ): Promise<readonly VectorMatch[]>;
  get(ids: readonly string[], options?: InCollection): Promise<readonly VectorDocument[]>;
  upsert(documents: readonly VectorDocument[], options?: InCollection): Promise<readonly string[]>;
  delete(ids: readonly string[], options?: InCollection): Promise<number>;
  listCollections(): Promise<readonly string[]>;
  deleteCollection(collection: string): Promise<number>;
}
