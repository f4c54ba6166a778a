// The named reads of blobs, segments and their collection; see queries.ts.
import type { BlobRow, ChunkRow, FrameRow, NoParams, Read, SegmentRow, StoredPayload } from "./rows.ts";

/** A row that refers to a blob. `named`: the blob it refers to names the requested one. */
export interface ReferrerRow {
  readonly source: string;
  readonly named: number;
  readonly session: string | null;
  readonly seq: number;
  /** The event's type; null if the row is no event. */
  readonly type: string | null;
  /** The key of a value of the state, or the id of a head, a capture or a block. */
  readonly name: string | null;
}

export interface BlobQueries {
  "blob.get": Read<{ sha256: Uint8Array }, BlobRow & { readonly body: Uint8Array | null }>;
  "blob.payload": Read<{ sha256: Uint8Array }, StoredPayload>;
  "blob.head": Read<{ sha256: Uint8Array }, BlobRow>;
  /** All blobs, newest first, also those that are parts of others. */
  "blobs.list": Read<{ last: number; limit: number }, BlobRow>;
  "blobs.list.oldest": Read<{ last: number; limit: number }, BlobRow>;
  /** Blobs that are no part of another, largest first. */
  "blobs.largest": Read<{ size: number; beforeNo: number; limit: number }, BlobRow>;
  /** Rows that refer to the blob, newest first. */
  "blob.referrers": Read<{ sha256: Uint8Array; limit: number }, ReferrerRow>;
  "inline.referrers": Read<{ prefix: Uint8Array; sha256: Uint8Array; limit: number }, ReferrerRow>;
  "inline.referrersUnindexed": Read<{ sha256: Uint8Array; limit: number }, ReferrerRow>;
  "blob.chunks": Read<{ blobNo: number; afterOrd: number; limit: number }, ChunkRow>;
  /** The chunks of a blob, and the blobs that it names. */
  "blob.parts": Read<{ sha256: Uint8Array; limit: number }, BlobRow & { readonly ord: number }>;
  /** A blob whose bytes name this one: the content of a message, because nothing else may name a blob. */
  "blob.named": Read<{ blobNo: number }, { readonly no: number }>;
  "blob.segments": Read<{ blobNo: number }, SegmentRow>;
  /** Stored bytes of chunks and segments that no other blob uses. */
  "blob.ownBytes": Read<{ blobNo: number }, { readonly n: number }>;

  // Segments: `used` is the length of the longest blob in the segment, null when there is none.
  "segment.get": Read<
    { id: string },
    { readonly size: number; readonly sealed: number; readonly sha256: Uint8Array | null; readonly used: number | null }
  >;
  "segment.frames": Read<{ id: string }, FrameRow>;
  "segment.frameHeaders": Read<{ id: string }, Omit<FrameRow, "body">>;
  "segments.unsealed": Read<{ touchedBefore: number; after: string; limit: number }, { readonly id: string }>;
  "segments.overlong": Read<{ after: string; limit: number }, { readonly id: string }>;
  "segments.unused": Read<{ after: string; limit: number }, { readonly id: string; readonly stored: number }>;

  // Garbage collection: reads go page by page, by number or id, so that each is short.
  "gc.epoch": Read<NoParams, { readonly n: number }>;
  "gc.unreferenced": Read<{ after: number; limit: number }, BlobRow>;
  "gc.freeable": Read<
    { now: number; after: number; limit: number },
    Readonly<Record<"no" | "stored" | "chunk" | "free", number>> & { readonly condemned: number | null }
  >;
  "gc.freeableSegments": Read<
    { now: number; after: string; limit: number },
    { readonly id: string; readonly stored: number; readonly free: number }
  >;
  /** Blobs to which links or segments say that they belong, and whether these blobs exist. */
  "gc.parents": Read<{ after: number; limit: number }, { readonly no: number; readonly there: number }>;
  "gc.grown": Read<{ after: number; limit: number }, { readonly no: number; readonly there: number }>;
  /** One row for each row that names the bytes under this key outside the database. */
  "external.key": Read<{ key: string }, { readonly n: number }>;
}
