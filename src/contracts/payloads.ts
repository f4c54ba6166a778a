// How the rules put a payload beside their rows without knowing where bytes live.
import type { BlobWrite, Write } from "./storage.ts";

export interface PreparedPayload {
  readonly sha256: Uint8Array;
  /** 16 random bytes that make the commitment unguessable; kept in the row, removed when it is erased. */
  readonly salt: Uint8Array;
  /** What the commit must hold so that the ref is never dangling. The payload's own blob counts one reference. */
  readonly blobs: readonly BlobWrite[];
  readonly writes: readonly Write[];
}

export interface PayloadOptions {
  readonly media: string;
  readonly utf8: boolean;
  /** Blobs this payload names inside: they live as long as it does. They must be live when the commit happens. */
  readonly children?: readonly Uint8Array[];
}

/** The blob columns a read joins beside its row. */
export interface StoredPayload {
  readonly sha256: Uint8Array;
  readonly size: number;
  readonly form: number;
  readonly body: Uint8Array | null;
  readonly store: string;
  readonly blob_key: string | null;
}

export interface Payloads {
  /** Answers at once unless the bytes go to a backend outside the database or are many. */
  prepare(bytes: Uint8Array, options: PayloadOptions): PreparedPayload | Promise<PreparedPayload>;
  /** Of blobs an erasure let go, removes those nobody needs any more: with all their parts, also outside the database. */
  discard(
    erased: readonly { readonly sha256: Uint8Array; readonly store: string; readonly key: string | null }[],
  ): Promise<void>;
  /** The bytes, verified; BlobCorrupted when they are not what was written. */
  read(stored: StoredPayload): Uint8Array | Promise<Uint8Array>;
}
