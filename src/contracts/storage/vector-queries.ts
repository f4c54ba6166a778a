// The named reads of vectors, and of the index of metadata; see queries.ts. Lists of numbers and texts are JSON.
import type { NoParams, Read, StoredPayload } from "./rows.ts";

/** A collection with its current generation, whose columns are null while it has none. */
export interface CollectionRow {
  readonly no: number;
  readonly name: string;
  readonly generation: number;
  readonly change: number;
  readonly last_item: number;
  readonly documents: number;
  readonly created_at: number;
  readonly model: string | null;
  readonly dimension: number | null;
  readonly metric: string | null;
  readonly precision: string | null;
  readonly seed: number | null;
  readonly packed: number | null;
  readonly removals: number | null;
  readonly vectors: number | null;
  readonly generation_at: number | null;
}

/** A document; `sha256` and what follows are of the blob with its content, if that is not inline. */
export interface DocumentRow extends StoredPayload {
  readonly id: string;
  readonly item: number;
  readonly words: Uint8Array | null;
}

export interface GenerationRow {
  readonly generation: number;
  readonly model: string;
  readonly dimension: number;
  readonly metric: string;
  readonly precision: string;
  readonly seed: number;
  readonly packed: number;
  readonly removals: number;
  readonly vectors: number;
  readonly created_at: number;
}

export interface PageRow {
  readonly first_item: number;
  readonly change: number;
  readonly codes: Uint8Array;
}

/** A collection, with what is counted of its documents. */
export interface CheckedCollectionRow {
  readonly no: number;
  readonly name: string;
  readonly generation: number;
  readonly change: number;
  readonly last_item: number;
  readonly documents: number;
  readonly counted: number;
  readonly newest: number | null;
}

type OfGeneration = { collection: number; generation: number };

export interface VectorQueries {
  /** The values of a field from (`from`, `after`) on, in the order of value and item. */
  "metadata.items": Read<
    {
      kind: string;
      scope: number;
      path: Uint8Array;
      from: Uint8Array;
      after: number;
      to: Uint8Array;
      limit: number;
    },
    { readonly value: Uint8Array; readonly item: number }
  >;
  "vectors.collection": Read<{ name: string }, CollectionRow>;
  "vectors.collections": Read<{ after: string; limit: number }, { readonly name: string }>;
  "vectors.generations": Read<{ collection: number }, GenerationRow>;
  "documents.byIds": Read<{ collection: number; ids: string }, DocumentRow>;
  "documents.byItems": Read<{ collection: number; items: string }, DocumentRow>;
  "vectors.byItems": Read<OfGeneration & { items: string }, { readonly item: number; readonly embedding: Uint8Array }>;
  "vectors.itemsIn": Read<OfGeneration & { items: string }, { readonly item: number }>;
  /** Embeddings of items after one, in the order of items. */
  "vectors.after": Read<
    OfGeneration & { after: number; limit: number },
    { readonly item: number; readonly embedding: Uint8Array }
  >;
  /** Pages that were written after a change, in the order of (change, first_item), behind (`change`, `after`). */
  "vectors.pages": Read<OfGeneration & { change: number; after: number; limit: number }, PageRow>;
  "vectors.pageStarts": Read<OfGeneration, { readonly first_item: number }>;
  "vectors.pagesAt": Read<OfGeneration & { starts: string }, PageRow>;
  /** Blobs with contents of documents that "documents.drop" does not remove: they have parts, or are outside the database. */
  "documents.discarded": Read<
    { collection: number; items: string },
    { readonly sha256: Uint8Array; readonly store: string; readonly key: string | null }
  >;
  "documents.allDiscarded": Read<
    { collection: number },
    { readonly sha256: Uint8Array; readonly store: string; readonly key: string | null }
  >;
  /** Documents after an item, in the order of items. */
  "documents.after": Read<{ collection: number; after: number; limit: number }, DocumentRow>;
  "check.collections": Read<{ after: number; limit: number }, CheckedCollectionRow>;
  "check.collection": Read<{ no: number }, CheckedCollectionRow>;
  "check.embeddings": Read<OfGeneration, { readonly n: number }>;
  /** Embeddings without a document, or of a generation that does not exist. */
  "check.strayEmbeddings": Read<
    { collection: number; limit: number },
    { readonly generation: number; readonly item: number }
  >;
  /** Tables with rows of a collection that does not exist. */
  "check.strayItems": Read<NoParams, { readonly source: string; readonly collection: number }>;
  "check.documents": Read<
    OfGeneration & { after: number; limit: number },
    {
      readonly id: string;
      readonly item: number;
      readonly pending: number | null;
      readonly blob_missing: number;
      /** null: it has no embedding of that generation. */
      readonly embedded: number | null;
    }
  >;
  "check.documentRows": Read<{ collection: number; from: number; to: number }, DocumentRow>;
  "check.metadata": Read<
    { kind: string; scope: number; from: number; to: number },
    { readonly item: number; readonly path: Uint8Array; readonly value: Uint8Array }
  >;
  "vectors.totals": Read<NoParams, { readonly collections: number }>;
}
