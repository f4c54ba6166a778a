// How rules commit payloads together with rows, wherever the bytes are stored.
import type { BlobWrite, Commit, Guard, Write } from "./commit.ts";
import type { StoredPayload } from "./rows.ts";

export interface PreparedPayload {
  readonly sha256: Uint8Array;
  /** 16 random bytes that make the commitment unguessable. The row has them until its content is erased. */
  readonly salt: Uint8Array;
  /** The blobs that the commit must contain, so that the ref never dangles. The payload's own blob counts one reference. */
  readonly blobs: readonly BlobWrite[];
  readonly writes: readonly Write[];
  /** Blobs that must still exist when the commit happens, because it takes over their parts. */
  readonly uses: NonNullable<Commit["uses"]>;
  /** The bytes, if they are few and the row has a column for them; then there is no blob. */
  readonly inline: Uint8Array | null;
}

export interface PayloadOptions {
  readonly media: string;
  readonly utf8: boolean;
  /** Blobs that the payload's bytes name. They live as long as the payload, and must be live when the commit happens. */
  readonly children?: readonly Uint8Array[];
  /** The row has a column for the bytes: if they are few, they are stored inline there. */
  readonly inline?: boolean;
  /** The caller promises not to change the bytes, so they are not copied while they wait for their commit. */
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

/** A blob from another store, as it was described there. */
export interface ArrivingBlob {
  readonly sha256: Uint8Array;
  readonly media: string;
  readonly utf8: boolean;
  readonly at: number;
}

/** Stores blobs before the commit with the rows that refer to them, in bounded commits. They are kept until that commit. */
export interface BlobStaging {
  /** Returns false if the bytes have another hash: then they are not kept. */
  put(blob: ArrivingBlob, bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<boolean>;
  /**
   * Returns what the commit must also contain. `names` says which blobs each payload names. Rows of the commit count their own references.
   */
  handOver(names: ReadonlyMap<Uint8Array, readonly Uint8Array[]>): Promise<Pick<Commit, "writes" | "uses">>;
  /** Called if there will be no commit: removes the blobs that no other row needs. */
  abandon(): Promise<void>;
}
/** Prepares a payload: synchronously, unless the bytes are many or go to a backend outside the database. */
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
  /** Finds inline content by its hash, for a commit that makes a blob of it; null if there is none. */
  findInline(sha256: Uint8Array): Promise<InlineContent | null>;
  stageBlobs(): BlobStaging;
  /** Returns the bytes of a stored blob in pieces. The hash is verified at the end. */
  stream(sha256: Uint8Array): AsyncIterable<Uint8Array>;
  /** Returns the bytes after verifying their hash; BlobCorrupted if it differs. */
  read(stored: StoredPayload): Uint8Array | Promise<Uint8Array>;
}
