// BlobStore of the storage contracts: content-addressed bytes, `sha256:<hex>` of what was given, one copy of each.
// Promise: a ref is returned only after its bytes are durable; reads verify the hash; damage is BlobCorrupted naming
// the blob; a ref expires by default unless it is pinned or a row refers to it.
import type { Json, Jsonable, Page, PageOptions } from "./json.ts";

export interface BlobStat {
  readonly ref: string;
  readonly sha256: string;
  readonly size: number;
  readonly mediaType: string;
  /** "utf-8" for text that was given as a string or as JSON, "binary" otherwise. */
  readonly encoding: "utf-8" | "binary";
  /** How the bytes are kept. */
  readonly compression: "none" | "zstd" | "chunks" | "segments";
  /** Bytes this blob takes, as far as it does not share them. */
  readonly storedSize: number;
  /** Which backend holds them ("database", "file" …) and under which key. */
  readonly store: string;
  readonly key: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly pinned: boolean;
  /** Rows that refer to it, and one more when it is named inside another blob. */
  readonly references: number;
}

/** A row that refers to a blob. */
export interface BlobReferrer {
  readonly kind:
    | ("message" | "step" | "checkpoint" | "run" | "signal" | "event" | "annotation")
    | ("state" | "eval" | "call" | "snapshot" | "head" | "capture" | "block");
  /** `session#seq`; `session/key` of state, `block#version` of a block, and of a head or a capture its own id. */
  readonly id: string;
  /** null: a block belongs to no session. */
  readonly session: string | null;
  /** content: the row is kept in it. attachment: what the row is kept in names it, as a message does an image. */
  readonly how: "content" | "attachment";
}

export interface GcReport {
  readonly dryRun: boolean;
  readonly epoch: number;
  readonly condemned: number;
  readonly deleted: number;
  /** Stored bytes given back, or that would be. */
  readonly bytes: number;
  readonly sealed: number;
  readonly orphans: number;
}

export interface Blobs {
  store(
    data: Uint8Array | string | AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options?: {
      readonly mediaType?: string;
      /** Time to live of an unpinned, unreferenced ref; the store's `blobTtlMs` when not given, null for never. */
      readonly ttlMs?: number | null;
      /** These bytes begin with that blob's bytes: only what was added is stored. A stream is gathered in memory first. */
      readonly growsFrom?: string;
      /** The caller does not change the array until it is stored, so it need not be copied. */
      readonly owned?: boolean;
    },
  ): Promise<string>;
  storeJson<T>(
    value: Jsonable<T>,
    options?: Omit<NonNullable<Parameters<Blobs["store"]>[1]>, "mediaType">,
  ): Promise<string>;
  /** BlobNotFound, BlobExpired or BlobCorrupted when it cannot be given. */
  resolve(ref: string): Promise<Uint8Array>;
  resolveText(ref: string): Promise<string>;
  resolveJson(ref: string): Promise<Json>;
  /** In pieces, in order; the hash is verified by the end and a mismatch throws there. */
  stream(ref: string): AsyncIterable<Uint8Array>;
  exists(ref: string): Promise<boolean>;
  stat(ref: string): Promise<BlobStat | null>;
  /**
   * By when the bytes first came, or with `sort: "size"` the largest first, without `order`; a cursor goes with the sort it was
   * given for. Includes expired blobs that are not collected yet.
   * Parts of larger blobs are not listed, nor is inline content: `stat` finds that by its ref.
   */
  list(filter?: PageOptions & { readonly sort?: "age" | "size" }): Promise<Page<BlobStat>>;
  /** Rows that refer to it, of the newest session first; 100 when no limit is given. This reads all rows of the store. */
  referrers(ref: string, range?: { readonly limit?: number }): Promise<readonly BlobReferrer[]>;
  /** Survives past expiry until unpinned. */
  pin(ref: string): Promise<void>;
  unpin(ref: string): Promise<void>;
  /** Reclaims at once; false when there is none; Conflict while a row refers to it. */
  delete(ref: string): Promise<boolean>;
  /** Re-reads and re-hashes what is stored. */
  verify(
    ref: string,
  ): Promise<{ readonly ok: true; readonly size: number } | { readonly ok: false; readonly reason: string }>;
  /** Repacks the open end of a grown blob into its final form; gc does it for blobs that stopped growing. */
  seal(ref: string): Promise<void>;
  /**
   * Collects expired blobs, by epochs: every call is one epoch, and a blob is freed by the third call after it expired,
   * so that a concurrent store of the same bytes never loses them. A dry run reports what would be freed in the end.
   * Also frees what deleted sessions keep although no fork inherits it any more.
   */
  gc(options?: {
    /** Report what would go, delete nothing. */
    readonly dryRun?: boolean;
    /**
     * Afterwards writes the whole database anew, so that nothing of what was erased is left in its unused places. It needs
     * room for a second copy, on SQLite up to two, and all writers wait until it is done; on SQLite this process does
     * nothing else meanwhile. StoreBusy when others never let it have the store.
     */
    readonly vacuum?: boolean;
  }): Promise<GcReport>;
}

/** Where bytes can live besides the database: keys are made by us, never by callers. */
export interface BlobBackend {
  readonly name: string;
  /** Durable when it resolves; the key has not been used before. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** null means absent; any other trouble throws. */
  get(key: string): Promise<Uint8Array | null>;
  delete(key: string): Promise<void>;
  /** Every key held, in any order, with its age by the backend's own clock. */
  list(): AsyncIterable<{ readonly key: string; readonly bytes: number; readonly ageMs: number }>;
}
