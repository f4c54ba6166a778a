// Stores bytes in the row of their blob or frame, or in a backend outside the database under a key that is used once.
// Bytes outside are written and read back before a row names them (BL2), and removed after the last row is gone. So a
// crash in between leaves bytes without a row, never a row without bytes.
import type { BlobBackend } from "../../contracts/blobs.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { sameBytes, toHex } from "../../core/bytes.ts";
import { DamagedBytes, MissingBytes } from "./compress.ts";

/** The columns that say where bytes are. */
export interface StoredBytes {
  readonly body: Uint8Array | null;
  readonly store: string;
  readonly key: string | null;
  readonly stored: number;
}

export interface ByteStore {
  /** "" is the database itself. */
  readonly store: string;
  /** The bytes are durable when the promise resolves or, in the database, with the commit of their row. */
  put(sha256: Uint8Array, bytes: Uint8Array): StoredBytes | Promise<StoredBytes>;
  /** Throws DamagedBytes if the bytes are missing. */
  get(placed: Omit<StoredBytes, "stored">): Uint8Array | Promise<Uint8Array>;
  /** Removes the bytes of those keys that no row names any more. */
  drop(placed: readonly { readonly store: string; readonly key: string | null }[]): Promise<void>;
}

/** What every part of the blob store needs. */
export interface BlobContext {
  readonly storage: Storage;
  readonly byteStore: ByteStore;
}

export function createByteStore(storage: Storage, backend?: BlobBackend): ByteStore {
  const store = backend?.name ?? "";
  return {
    store,
    put: (sha256, bytes) =>
      backend === undefined
        ? { body: bytes, store, key: null, stored: bytes.length }
        : putOutside(storage, backend, sha256, bytes),
    get: (placed) => placed.body ?? getOutside(backend, placed),
    drop: async (placed) => {
      for (const { key, store: where } of placed) {
        if (backend === undefined || key === null || where !== backend.name) continue;
        if (await isKeyReferenced(storage, key)) continue;
        await backend.delete(key);
      }
    },
  };
}

/** A key is never reused: once no row names it, no row ever will. */
export async function isKeyReferenced(storage: Storage, key: string): Promise<boolean> {
  return (await storage.query("external.key", { key })).length > 0;
}

async function putOutside(
  storage: Storage,
  backend: BlobBackend,
  sha256: Uint8Array,
  bytes: Uint8Array,
): Promise<StoredBytes> {
  const hex = toHex(sha256);
  const key = `${hex.slice(0, 2)}/${hex.slice(2, 4)}/${hex}-${toHex(storage.environment.random(8))}`;
  await backend.put(key, bytes);
  const written = await backend.get(key);
  if (written === null || !sameBytes(written, bytes)) {
    throw new HoldfastError(
      "StoreUnreachable",
      `the ${backend.name} backend did not keep the bytes that were put under ${key}`,
      {
        details: { store: backend.name, key },
        retryable: true,
        hint: "Check the backend's disk or service; nothing was committed.",
      },
    );
  }
  return { body: null, store: backend.name, key, stored: bytes.length };
}

async function getOutside(backend: BlobBackend | undefined, placed: Omit<StoredBytes, "stored">): Promise<Uint8Array> {
  const { store, key } = placed;
  if (key === null) throw new DamagedBytes("has neither bytes nor a key");
  if (backend === undefined || backend.name !== store) {
    throw new HoldfastError("StoreUnreachable", `its bytes are kept by the "${store}" backend, which is not open`, {
      details: { store, key },
      hint: "Open the store with the blob backend it was written with, such as blobs: fileBlobs(directory).",
    });
  }
  const bytes = await backend.get(key);
  if (bytes === null) throw new MissingBytes(`is missing from the ${store} backend`);
  return bytes;
}
