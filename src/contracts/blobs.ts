// Blobs, and the backends that store their bytes: content-addressed bytes, named `sha256:<hex>`, with one copy of each content.
// Promise: a ref is returned only after its bytes are durable; reads verify the hash; damage is BlobCorrupted, which
// names the blob; a ref expires by default unless it is pinned or a row refers to it.
import type { Json, Jsonable, Page, PageOptions } from "./json.ts";

export interface BlobStat {
  readonly ref: string;
  readonly sha256: string;
  readonly size: number;
  readonly mediaType: string;
  /** "utf-8" for a blob that was stored from a string or JSON, "binary" otherwise. */
  readonly encoding: "utf-8" | "binary";
  /** The form in which the bytes are stored. */
  readonly compression: "none" | "zstd" | "chunks" | "segments";
  /** The stored bytes of this blob, without those that it shares with other blobs. */
  readonly storedSize: number;
  /** The backend that has the bytes ("database", "file" …) and the key there. */
  readonly store: string;
  readonly key: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly pinned: boolean;
  /** The number of rows that refer to the blob, plus one if another blob names it. */
  readonly references: number;
}

/** A row that refers to a blob. */
export interface BlobReferrer {
  readonly kind:
    | ("message" | "step" | "checkpoint" | "run" | "signal" | "event" | "annotation")
    | ("state" | "eval" | "call" | "snapshot" | "head" | "capture" | "block" | "document");
  /**
   * The row's id: `session#seq`, `session/key` for state, `block#version` for a block, `collection/document` for a document,
   * and a head's or capture's own id.
   */
  readonly id: string;
  /** null for a block or document, which belongs to no session. */
  readonly session: string | null;
  /**
   * content: the blob is the row's content. attachment: the row's content names the blob, as a message names an image.
   */
  readonly how: "content" | "attachment";
}

export interface GcReport {
  readonly dryRun: boolean;
  readonly epoch: number;
  readonly condemned: number;
  readonly deleted: number;
  /** Stored bytes that were freed, or that a dry run would free. */
  readonly bytes: number;
  readonly sealed: number;
  readonly orphans: number;
}

export interface Blobs {
  store(
    data: Uint8Array | string | AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options?: {
      readonly mediaType?: string;
      /**
       * Time to live of a ref that is neither pinned nor referenced. Default: the store's `blobTtlMs`. null: never
       * expires.
       */
      readonly ttlMs?: number | null;
      /**
       * A blob whose bytes are the beginning of these bytes: only the rest is stored. A stream is collected in memory
       * first.
       */
      readonly growsFrom?: string;
      /** The caller promises not to change the array until it is stored, so it is not copied. */
      readonly owned?: boolean;
    },
  ): Promise<string>;
  storeJson<T>(
    value: Jsonable<T>,
    options?: Omit<NonNullable<Parameters<Blobs["store"]>[1]>, "mediaType">,
  ): Promise<string>;
  /** Throws BlobNotFound, BlobExpired or BlobCorrupted. */
  resolve(ref: string): Promise<Uint8Array>;
  resolveText(ref: string): Promise<string>;
  resolveJson(ref: string): Promise<Json>;
  /** Returns the bytes in pieces, in order. The hash is verified at the end; a mismatch throws there. */
  stream(ref: string): AsyncIterable<Uint8Array>;
  exists(ref: string): Promise<boolean>;
  stat(ref: string): Promise<BlobStat | null>;
  /**
   * Lists blobs in the order in which they were first stored, or with `sort: "size"` (without `order`) the largest
   * first. A cursor is valid only with the sort that it came from. The list includes expired blobs that are not
   * collected yet. It includes neither parts of larger blobs nor inline content, which `stat` finds by its ref.
   */
  list(filter?: PageOptions & { readonly sort?: "age" | "size" }): Promise<Page<BlobStat>>;
  /**
   * Rows that refer to the blob, those of the newest session first; 100 by default. This call reads all rows of the
   * store.
   */
  referrers(ref: string, range?: { readonly limit?: number }): Promise<readonly BlobReferrer[]>;
  /** Keeps the blob beyond its expiry, until unpin(). */
  pin(ref: string): Promise<void>;
  unpin(ref: string): Promise<void>;
  /** Deletes the blob at once; false if there is none; Conflict while a row refers to it. */
  delete(ref: string): Promise<boolean>;
  /** Reads the stored bytes and compares their hash. */
  verify(
    ref: string,
  ): Promise<{ readonly ok: true; readonly size: number } | { readonly ok: false; readonly reason: string }>;
  /** Compresses the open end of a grown blob into its final form. gc does this for blobs that stopped growing. */
  seal(ref: string): Promise<void>;
  /**
   * Collects expired blobs by epochs: every call is one epoch, and the third call after a blob expired frees it, so
   * that a concurrent store of the same bytes never loses them. A dry run reports what would be freed in the end. Also
   * frees the parts of deleted sessions that no fork inherits any more.
   */
  gc(options?: {
    /** Report what would be deleted, and delete nothing. */
    readonly dryRun?: boolean;
    /**
     * Then rewrites the whole database, so that no erased content is left in its unused space. It needs disk space for
     * a second copy, on SQLite for up to two, and all writers wait until it is done. On SQLite this process is blocked
     * meanwhile. StoreBusy if it never gets the store to itself.
     */
    readonly vacuum?: boolean;
  }): Promise<GcReport>;
}

/** Storage for bytes outside the database. Holdfast makes the keys, never the caller. */
export interface BlobBackend {
  readonly name: string;
  /** The bytes are durable when the promise resolves. The key was never used before. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** null if the key is absent; any other failure throws. */
  get(key: string): Promise<Uint8Array | null>;
  delete(key: string): Promise<void>;
  /** Every key in the backend, in any order, with its age by the backend's own clock. */
  list(): AsyncIterable<{ readonly key: string; readonly bytes: number; readonly ageMs: number }>;
}
