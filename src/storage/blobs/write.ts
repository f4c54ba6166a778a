// Storing ordinary bytes: small ones whole, large ones in chunks that other blobs share. A ref is returned only after
// the commit that makes it durable (BL2).
import { createHash } from "node:crypto";
import { LIMITS } from "../../contracts/limits.ts";
import { isBytes } from "../../core/bytes.ts";
import { invalid, limitExceeded } from "../../core/check.ts";
import { yieldToEventLoop } from "../../core/time-slice.ts";
import type { BlobContext } from "./byte-store.ts";
import { Cutter } from "./chunks.ts";
import type { BlobClaim } from "./claims.ts";
import { renew, storePlain } from "./put.ts";
import { BATCH_BYTES, Upload } from "./upload.ts";

/** From this size on a blob is cut into chunks. */
export const LARGE_BYTES = 1024 * 1024;

export type Source = AsyncIterable<unknown> | Iterable<unknown>;

/** Bytes of any size; the caller does not change them meanwhile. */
export async function storeBytes(context: BlobContext, bytes: Uint8Array, claim: BlobClaim): Promise<Uint8Array> {
  if (bytes.length < LARGE_BYTES) return storePlain(context, bytes, claim);
  const digest = await digestOf(context, bytes);
  return (await renew(context, digest, claim)) ? digest : storeSource(context, [bytes], claim);
}

/**
 * Stores a stream of any length in bounded memory. It is treated as large once it is longer than the limit for whole
 * blobs.
 */
export async function storeSource(context: BlobContext, source: Source, claim: BlobClaim): Promise<Uint8Array> {
  const hash = createHash("sha256");
  const small: Uint8Array[] = [];
  const batch = new Batch();
  let size = 0;
  let upload: Upload | null = null;
  try {
    for await (const given of source) {
      for (const piece of slices(given)) {
        size += piece.length;
        if (size > LIMITS.blobBytes) throw limitExceeded("blobBytes", "the blob in bytes", size);
        hash.update(piece);
        if (upload === null && size < LARGE_BYTES) {
          small.push(new Uint8Array(piece));
          continue;
        }
        upload ??= new Upload(context);
        for (const held of small.splice(0)) batch.push(held);
        batch.push(piece);
        if (batch.bytes >= BATCH_BYTES) await upload.add(batch.take());
      }
    }
    if (upload === null) return await storePlain(context, Buffer.concat(small), claim);
    await upload.add(batch.finish());
    return await upload.finish(hash.digest(), size, claim);
  } catch (error) {
    await upload?.abandon();
    throw error;
  }
}

/** Chunks that wait to be stored together. */
class Batch {
  readonly #cutter = new Cutter();
  #chunks: Uint8Array[] = [];
  bytes = 0;

  push(piece: Uint8Array): void {
    this.#add(this.#cutter.push(piece));
  }

  take(): Uint8Array[] {
    const taken = this.#chunks;
    this.#chunks = [];
    this.bytes = 0;
    return taken;
  }

  finish(): Uint8Array[] {
    this.#add(this.#cutter.finish());
    return this.take();
  }

  #add(chunks: readonly Uint8Array[]): void {
    for (const chunk of chunks) {
      this.#chunks.push(chunk);
      this.bytes += chunk.length;
    }
  }
}

/** One piece of a source, at most a batch at a time. */
function* slices(given: unknown): Generator<Uint8Array> {
  if (!isBytes(given)) throw invalid("every piece of the source", "a Uint8Array", given);
  for (let at = 0; at < given.length; at += BATCH_BYTES) yield given.subarray(at, at + BATCH_BYTES);
}

async function digestOf(context: BlobContext, bytes: Uint8Array): Promise<Uint8Array> {
  const hash = createHash("sha256");
  for (const piece of slices(bytes)) {
    hash.update(piece);
    await yieldToEventLoop(context.storage.environment);
  }
  return hash.digest();
}
