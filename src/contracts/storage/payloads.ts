// How the rules commit payloads together with rows, independent of where bytes are stored.

import type { BlobWrite, Commit, Guard, Write } from "./commit.ts";
import type { StoredPayload } from "./rows.ts";

export interface PreparedPayload {
  readonly sha256: Uint8Array;
  /** 16 random bytes that make the commitment unguessable; kept in the row, removed when it is erased. */
  readonly salt: Uint8Array;
  /** What the commit must hold so that the ref is never dangling. The payload's own blob counts one reference. */
  readonly blobs: readonly BlobWrite[];
  readonly writes: readonly Write[];
  /** Blobs that must still be there when the commit happens, because it takes over what they hold. */
  readonly uses: NonNullable<Commit["uses"]>;
  /** The bytes, when they are few and the row has room for them; there is no blob then. */
  readonly inline: Uint8Array | null;
}

export interface PayloadOptions {
  readonly media: string;
  readonly utf8: boolean;
  /** Blobs this payload names inside: they live as long as it does. They must be live when the commit happens. */
  readonly children?: readonly Uint8Array[];
  /** The row has a column for the bytes: if they are few, they are stored inline there. */
  readonly inline?: boolean;
  /** The caller gives up these bytes: they need no copy while they wait for their commit. */
  readonly owned?: boolean;
}

/**
 * A commit that makes a blob of inline content must lock the row's session and name this guard. Otherwise the
 * content could outlive a clear that has just reported it as gone.
 */
export interface InlineContent {
  readonly bytes: Uint8Array;
  readonly session: string;
  readonly guard: Guard;
}

/** A blob as another store knew it. */
export interface ArrivingBlob {
  readonly sha256: Uint8Array;
  readonly media: string;
  readonly utf8: boolean;
  readonly at: number;
}

/** Blobs on their way in before the commit whose rows refer to them. They come in bounded commits, and stay until it. */
export interface BlobStaging {
  /** false when the bytes have another hash: then they are not kept. */
  put(blob: ArrivingBlob, bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<boolean>;
  /**
   * What the commit must also hold, given which blobs each payload names. Rows of the commit count their own references.
   */
  handOver(names: ReadonlyMap<Uint8Array, readonly Uint8Array[]>): Promise<Pick<Commit, "writes" | "uses">>;
  /** Called if there will be no commit: removes the blobs that no other row needs. */
  abandon(): Promise<void>;
}
/** Synchronous unless the bytes are many or go to a backend outside the database. */
export type Prepare = (bytes: Uint8Array, options: PayloadOptions) => PreparedPayload | Promise<PreparedPayload>;

export interface Payloads {
  /**
   * The only way to prepare payloads: `work` prepares them and commits them, or decides not to. When it ends, every
   * prepared payload that no commit used is released, so that a refused commit leaves no bytes behind. If it is unknown
   * whether a commit happened, garbage collection decides later.
   */
  preparing<T>(work: (prepare: Prepare) => Promise<T>): Promise<T>;
  /** Prepares content that is short enough to be inline, without waiting; null when it is longer. */
  prepareInline(bytes: Uint8Array): PreparedPayload | null;
  /**
   * Of the blobs that an erasure released, removes those that no row needs any more, with all their parts, also outside
   * the database.
   */
  discard(
    erased: readonly { readonly sha256: Uint8Array; readonly store: string; readonly key: string | null }[],
  ): Promise<void>;
  /** Inline content, for a commit that makes a blob of it; null when there is none. */
  findInline(sha256: Uint8Array): Promise<InlineContent | null>;
  stageBlobs(): BlobStaging;
  /** Of a blob that is there, in pieces; the hash is verified by the end. */
  stream(sha256: Uint8Array): AsyncIterable<Uint8Array>;
  /** The bytes, verified; BlobCorrupted when they are not what was written. */
  read(stored: StoredPayload): Uint8Array | Promise<Uint8Array>;
}
