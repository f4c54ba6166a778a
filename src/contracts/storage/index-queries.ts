// The named reads of the text index; see queries.ts.
import type { Read, StoredPayload } from "./rows.ts";

/** Of more items that are in no segment, the state of the index does not count the rest. */
export const PENDING_MAX = 2048;

/** A live message, as the index reads it. */
export interface IndexedMessageRow extends StoredPayload {
  /** The number of its event. */
  readonly no: number;
  readonly session_no: number;
  readonly session: string;
  readonly agent: string;
  readonly seq: number;
  readonly role: string;
  readonly at: number;
}

/** A segment, beside what is the same in all rows; without segments there is one row, with null in their columns. */
export interface IndexStateRow {
  readonly epoch: number;
  readonly indexed: number;
  readonly settled: number;
  readonly newest: number;
  readonly pending: number;
  readonly language: string | null;
  readonly segment: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly version: number | null;
  readonly dropped: number | null;
  readonly marked: number | null;
  readonly units: number | null;
  readonly items: number | null;
  readonly removed: number | null;
  readonly bytes: number | null;
  readonly directory: number | null;
  readonly segment_language: string | null;
  readonly segment_tokeniser: number | null;
}

/** A version of a segment: reads of another version find nothing. */
type SegmentVersion = { kind: string; segment: number; version: number };

export interface IndexQueries {
  /** Live messages of all sessions, in the order of the numbers of their events. */
  "index.messages": Read<{ after: number; upTo: number; limit: number }, IndexedMessageRow>;
  /** The same, only what tells them apart. */
  "index.keys": Read<
    { after: number; upTo: number; limit: number },
    { readonly no: number; readonly salt: Uint8Array | null }
  >;
  "index.state": Read<{ kind: string }, IndexStateRow>;
  /** Live units and items of segments, and how many messages are in none. */
  "index.stats": Read<
    { kind: string },
    {
      readonly language: string | null;
      readonly segments: number;
      readonly items: number;
      readonly units: number;
      readonly bytes: number;
      readonly pending: number;
    }
  >;
  "index.version": Read<{ kind: string; segment: number }, { readonly version: number }>;
  /** Pages of terms with the first term of each. */
  "index.directory": Read<SegmentVersion, { readonly page: number; readonly first: Uint8Array }>;
  "index.page": Read<SegmentVersion & { page: number }, { readonly body: Uint8Array }>;
  /** Pages by number: from `from`, before `before`. */
  "index.pages": Read<
    SegmentVersion & { from: number; before: number; limit: number },
    { readonly page: number; readonly first: Uint8Array; readonly body: Uint8Array }
  >;
  /** Items of a kind that are in a segment, or in none (0), in the order of group and item. */
  "index.items": Read<
    { kind: string; segment: number; afterGroup: number; afterItem: number; limit: number },
    { readonly group_no: number; readonly item: number }
  >;
  /** With the epoch of that moment; if there are none, one row without an item. */
  "index.pendingItems": Read<
    { kind: string; afterGroup: number; afterItem: number; limit: number },
    { readonly epoch: number; readonly group_no: number | null; readonly item: number | null }
  >;
  /** The numbers of all segments that pages, or items, name; they need not exist. */
  "index.segmentsOfPages": Read<{ kind: string }, { readonly segment: number }>;
  "index.segmentsOfItems": Read<{ kind: string }, { readonly segment: number }>;
  /** Whether the item's segment exists, and whether the item does. */
  "check.indexItems": Read<
    { afterKind: string; afterGroup: number; afterItem: number; limit: number },
    {
      readonly kind: string;
      readonly group_no: number;
      readonly item: number;
      readonly placed: number;
      readonly there: number;
    }
  >;
  /** Memories, and documents, that the index does not know. */
  "check.unindexedMemories": Read<{ after: number; limit: number }, { readonly no: number; readonly id: string }>;
  "check.unindexedDocuments": Read<
    { afterCollection: number; afterItem: number; limit: number },
    { readonly collection: number; readonly item: number; readonly id: string }
  >;
  /** Kinds that rows of the index name, and that there are not. */
  "index.strayKinds": Read<Record<never, never>, { readonly kind: string }>;
  /** How many items name a segment. */
  "index.itemCount": Read<{ kind: string; segment: number }, { readonly items: number }>;
  /** The segment of an item; null: the item is pending. */
  "index.segmentOf": Read<{ kind: string; group: number; item: number }, { readonly segment: number | null }>;
}
