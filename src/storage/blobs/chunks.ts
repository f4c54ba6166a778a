// Content-defined chunking (FastCDC with normalised chunk sizes), so that two versions of a large blob share the chunks
// they have in common even after an insertion. The gear table, limits and masks below may change without breaking old
// blobs, which list their chunks; but new blobs would then no longer share chunks with old ones.

export const MIN_CHUNK_BYTES = 16 * 1024;
export const AVERAGE_CHUNK_BYTES = 64 * 1024;
export const MAX_CHUNK_BYTES = 256 * 1024;

/** The lengths of the chunks of `bytes`, in order; their sum is the length of `bytes`. */
export function cut(bytes: Uint8Array): number[] {
  const scanner = new Scanner();
  const lengths: number[] = [];
  let start = 0;
  while (start < bytes.length) {
    const end = scanner.next(bytes, start);
    lengths.push((end === -1 ? bytes.length : end) - start);
    if (end === -1) break;
    start = end;
  }
  return lengths;
}

/**
 * The same chunks as `cut`, from a stream in pieces of any size. Keeps less than one maximal chunk between calls. The
 * chunks are copies: callers may reuse their buffers.
 */
export class Cutter {
  readonly #scanner = new Scanner();
  readonly #held = new Uint8Array(MAX_CHUNK_BYTES);
  #heldLength = 0;

  push(bytes: Uint8Array): Uint8Array[] {
    const chunks: Uint8Array[] = [];
    let start = 0;
    for (;;) {
      const end = this.#scanner.next(bytes, start);
      if (end === -1) break;
      chunks.push(this.#take(bytes.subarray(start, end)));
      start = end;
    }
    this.#held.set(bytes.subarray(start), this.#heldLength);
    this.#heldLength += bytes.length - start;
    return chunks;
  }

  /** The last chunk, if there are bytes left. Resets the cutter. */
  finish(): Uint8Array[] {
    this.#scanner.restart();
    return this.#heldLength === 0 ? [] : [this.#take(new Uint8Array(0))];
  }

  #take(rest: Uint8Array): Uint8Array {
    const chunk = new Uint8Array(this.#heldLength + rest.length);
    chunk.set(this.#held.subarray(0, this.#heldLength));
    chunk.set(rest, this.#heldLength);
    this.#heldLength = 0;
    return chunk;
  }
}

/** Finds cuts; between calls it remembers how far into the current chunk it is, so input may arrive in pieces. */
class Scanner {
  #length = 0;
  #hash = 0;

  restart(): void {
    this.#length = 0;
    this.#hash = 0;
  }

  /** The index after the chunk that is being scanned, or -1 when `bytes` ends before the chunk does. */
  next(bytes: Uint8Array, from: number): number {
    const start = from - this.#length;
    // No cut is possible before the minimum, so these bytes are skipped, except those that are still in the hash.
    let at = Math.min(Math.max(from, start + MIN_CHUNK_BYTES - 1 - HASH_WINDOW), bytes.length);
    let hash = this.#hash;
    for (const end = Math.min(start + MIN_CHUNK_BYTES - 1, bytes.length); at < end; at++) {
      hash = roll(hash, bytes, at);
    }
    for (const end = Math.min(start + NORMAL_BYTES, bytes.length); at < end; at++) {
      hash = roll(hash, bytes, at);
      if ((hash & STRICT_MASK) === 0) return this.#cutAt(at + 1);
    }
    for (const end = Math.min(start + MAX_CHUNK_BYTES, bytes.length); at < end; at++) {
      hash = roll(hash, bytes, at);
      if ((hash & LOOSE_MASK) === 0) return this.#cutAt(at + 1);
    }
    if (at === start + MAX_CHUNK_BYTES) return this.#cutAt(at);
    this.#length = at - start;
    this.#hash = hash;
    return -1;
  }

  #cutAt(index: number): number {
    this.restart();
    return index;
  }
}

/** A byte leaves the 32-bit gear hash after 32 shifts: earlier bytes cannot move a cut. */
const HASH_WINDOW = 32;

/** Where the rule changes from strict to loose; a little below the average, which is measured over random bytes. */
const NORMAL_BYTES = 52 * 1024;

/** The high bits, because they depend on the most bytes: 18 of them before the normal size, 14 after it. */
const STRICT_MASK = 0xffffc000 | 0;
const LOOSE_MASK = 0xfffc0000 | 0;

/** 256 pseudo-random words: the MurmurHash3 finaliser over a Weyl sequence that starts at "HOLD" in ASCII. */
const GEAR = Int32Array.from({ length: 256 }, (_, byte) => {
  let word = (0x484f4c44 + Math.imul(byte, 0x9e3779b9)) | 0;
  word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
  return word ^ (word >>> 16);
});

function roll(hash: number, bytes: Uint8Array, at: number): number {
  return ((hash << 1) + (GEAR[bytes[at] ?? 0] ?? 0)) | 0;
}
