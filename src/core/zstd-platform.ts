// What the platform's zstd can compress. That of Workers fails as soon as its output takes more than one of its buffers; there, larger
// bytes go into frames whose blocks are not compressed, which every reader takes, and PostgreSQL compresses what it keeps of them.
import { zstdCompressSync } from "node:zlib";

/** Fits one buffer of any platform, also where it cannot be made smaller. */
const SMALL_BYTES = 16 * 1024;
const TRIED_BYTES = 256 * 1024;

let isUnlimited: boolean | undefined;

export function canCompress(bytes: number): boolean {
  if (bytes <= SMALL_BYTES) return true;
  isUnlimited ??= compressesLarge();
  return isUnlimited;
}

/** Tried with bytes that cannot be made smaller. */
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
