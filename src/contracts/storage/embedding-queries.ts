// The named reads of the background work that embeds texts; see queries.ts. Lists of numbers are JSON.
import type { NoParams, Read } from "./rows.ts";
import type { CollectionRow } from "./vector-queries.ts";

export interface FailureRow {
  readonly scope: number;
  readonly item: number;
  readonly attempts: number;
  /** null: parked. */
  readonly due_at: number | null;
  readonly reason: string;
  readonly at: number;
}

export interface EmbeddingQueries {
  "vectors.collectionAt": Read<{ no: number }, CollectionRow>;
  /** The first collection after one with documents that wait for an embedding. */
  "documents.nextPending": Read<{ after: number }, { readonly collection: number }>;
  /** Documents that wait, in the order of items; not those whose next try is later, or that are parked. */
  "documents.pending": Read<
    { collection: number; after: number; now: number; limit: number },
    { readonly item: number }
  >;
  "documents.countPending": Read<{ collection: number }, { readonly n: number }>;
  /** How many documents wait, by collection, with the embeddings that it has; null: it has none yet. */
  "documents.waiting": Read<
    NoParams,
    {
      readonly model: string | null;
      readonly dimension: number | null;
      readonly vectors: number | null;
      readonly n: number;
    }
  >;
  /** Items of a collection after one, in their order. */
  "documents.items": Read<{ collection: number; after: number; limit: number }, { readonly item: number }>;
  /** 0 if the generation has no embedding. */
  "vectors.lastItem": Read<{ collection: number; generation: number }, { readonly item: number }>;
  /** The first embeddings of a generation. */
  "vectors.firstItems": Read<{ collection: number; generation: number; limit: number }, { readonly item: number }>;
  /** Generations of a model, in all collections. */
  "generations.ofModel": Read<
    { model: string; after: number; limit: number },
    { readonly collection: number; readonly generation: number }
  >;
  "failures.list": Read<{ kind: string; scope: number; item: number; limit: number }, FailureRow>;
  "failures.in": Read<{ kind: string; scope: number; items: string }, FailureRow>;
  /** `next`: when the first failed text is tried again; null if none is. */
  "failures.totals": Read<
    { kind: string },
    { readonly failed: number; readonly parked: number; readonly next: number | null }
  >;
}
