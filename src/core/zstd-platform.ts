// What the platform's zstd can compress. zstd on Workers fails if its output does not fit into one buffer. There,
// larger bytes are written as frames of uncompressed blocks, which every reader accepts, and PostgreSQL compresses them
// itself.
import { zstdCompressSync } from "node:zlib";

/** Incompressible input of this size still fits one buffer on every platform. */
const SMALL_BYTES = 16 * 1024;
const TRIED_BYTES = 256 * 1024;

let isUnlimited: boolean | undefined;

export function canCompress(bytes: number): boolean {
  if (bytes <= SMALL_BYTES) return true;
  isUnlimited ??= compressesLarge();
  return isUnlimited;
}

/** Tests the platform with incompressible bytes. */
export function compressesLarge(compress: (bytes: Uint8Array) => Uint8Array = zstdCompressSync): boolean {
  const words = new Uint32Array(TRIED_BYTES / 4);
  let state = 1;
  for (let i = 0; i < words.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    words[i] = Math.imul(state ^ (state >>> 15), 2246822519);
  }
  try {
    return compress(new Uint8Array(words.buffer)).byteLength > 0;
  } catch {
    return false;
  }
}
