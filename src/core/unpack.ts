// Decompresses untrusted bytes. A file of a few bytes can become gigabytes, and the size in its header is not trusted:
// bytes are counted as they come out, piece by piece, and compared with the size of the input.
import { constants, createGunzip, createZstdDecompress } from "node:zlib";
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";

/**
 * Level 3 needs 2^21, and stronger levels a little more. A frame may claim 2^27, which the decompressor would reserve
 * at once.
 */
export const WINDOW_LOG_MAX = 23;
const PIECE_BYTES = 256 * 1024;

/** How many bytes this many compressed bytes may become. */
export function unpackedAllowance(packedBytes: number): number {
  return Math.max(LIMITS.unpackedBytes, packedBytes * LIMITS.unpackedRatio);
}

export function tooMuchUnpacked(what: string, packedBytes: number): HoldfastError {
  const most = unpackedAllowance(packedBytes);
  return new HoldfastError("LimitExceeded", `${what} has ${packedBytes} bytes and would become more than ${most}`, {
    details: { limit: "unpackedRatio", max: LIMITS.unpackedRatio, bytes: packedBytes, most },
    hint:
      `Nothing was written. Compressed bytes may become ${LIMITS.unpackedBytes} bytes, or ${LIMITS.unpackedRatio} for each of them. ` +
      "Make the file again with this version of Holdfast, which does not write such files.",
  });
}

export type PackedFormat = "zstd" | "gzip";

/**
 * Decompresses exactly one frame of zstd, or all members of a gzip file. LimitExceeded as soon as the output is larger
 * than allowed.
 */
export async function* unpackPieces(bytes: Uint8Array, format: PackedFormat, what: string): AsyncGenerator<Uint8Array> {
  const most = Math.min(unpackedAllowance(bytes.byteLength), LIMITS.bundleBytes);
  const stream =
    format === "gzip"
      ? createGunzip({ chunkSize: PIECE_BYTES })
      : createZstdDecompress({
          chunkSize: PIECE_BYTES,
          params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG_MAX },
        });
  try {
    stream.end(bytes);
    let size = 0;
    for await (const piece of stream as AsyncIterable<Uint8Array>) {
      size += piece.byteLength;
      if (size > most) throw tooMuchUnpacked(what, bytes.byteLength);
      yield piece;
    }
    // The decompressor would ignore a second frame.
    if (stream.bytesWritten !== bytes.byteLength) throw new Error("there are bytes after its end");
  } finally {
    stream.destroy();
  }
}

/**
 * Reads a given number of bytes from pieces of any size. It allocates memory as bytes arrive, whatever number the
 * caller asks for.
 */
export class PieceReader {
  readonly #pieces: AsyncGenerator<Uint8Array>;
  #held: Uint8Array = new Uint8Array(0);

  constructor(pieces: AsyncGenerator<Uint8Array>) {
    this.#pieces = pieces;
  }

  /** null if there are fewer bytes. */
  async take(size: number): Promise<Buffer | null> {
    const taken = Buffer.allocUnsafeSlow(size);
    for (let filled = 0; filled < size; ) {
      if (this.#held.byteLength === 0 && !(await this.#more())) return null;
      const some = this.#held.subarray(0, size - filled);
      taken.set(some, filled);
      filled += some.byteLength;
      this.#held = this.#held.subarray(some.byteLength);
    }
    return taken;
  }

  async isOver(): Promise<boolean> {
    while (this.#held.byteLength === 0) if (!(await this.#more())) return true;
    return false;
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#pieces.next();
    if (done) return false;
    this.#held = value;
    return true;
  }

  async close(): Promise<void> {
    await this.#pieces.return(undefined);
  }
}
