// Compresses one payload for storage, and decompresses stored bytes. The output is bounded by the size that the row
// declares, so that a damaged or hostile row cannot exhaust memory.
import { canCompress } from "../../core/zstd-platform.ts";

export type Codec = "raw" | "zstd";

/** Stored bytes that do not decode to what their row declares. The caller wraps this error and names the blob. */
export class DamagedBytes extends Error {
  override readonly name = "DamagedBytes";
}

/** The bytes are missing. */
export class MissingBytes extends DamagedBytes {}

/** Loaded when something is first compressed: short messages are not. */
export function zlib(): typeof import("node:zlib") {
  return process.getBuiltinModule("node:zlib");
}

/** Compresses if that saves enough; otherwise returns the same array, not a copy. */
export function pack(bytes: Uint8Array): { codec: Codec; bytes: Uint8Array } {
  if (bytes.length < MIN_ZSTD_BYTES || !canCompress(bytes.length)) return { codec: "raw", bytes };
  const { constants, zstdCompressSync } = zlib();
  const packed = zstdCompressSync(bytes, {
    chunkSize: outputChunk(bytes.length / 2),
    params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL },
  });
  const worthIt = packed.length <= bytes.length - bytes.length / MIN_GAIN;
  return worthIt ? { codec: "zstd", bytes: packed } : { codec: "raw", bytes };
}

/** The inverse of `pack`. A result of the right size may still be wrong bytes: the caller compares the sha256. */
export function unpack(codec: Codec, bytes: Uint8Array, size: number): Uint8Array {
  if (codec === "zstd") return inflate(bytes, size, { windowLogMax: PACKED_WINDOW_LOG });
  if (bytes.length !== size) throw new DamagedBytes(`holds ${bytes.length} bytes where ${size} were stored`);
  return bytes;
}

/** Decompresses one zstd frame to exactly `size` bytes, or throws DamagedBytes. */
export function inflate(
  bytes: Uint8Array,
  size: number,
  options: { windowLogMax: number; dictionary?: Uint8Array },
): Uint8Array {
  if (!Number.isSafeInteger(size) || size < 0) throw new DamagedBytes(`declares the impossible size ${size}`);
  // Node 22 takes no input at all for an empty result, Node 24 for an error. An empty payload has a frame, so: damage.
  if (bytes.length === 0) throw new DamagedBytes("an empty zstd frame");
  const result = inflateBounded(bytes, size, options);
  if (result.length !== size) throw new DamagedBytes(`decompresses to ${result.length} bytes instead of ${size}`);
  return result;
}

/** Payloads shorter than this stay raw: the frame and the call cost more than they save. */
export const MIN_ZSTD_BYTES = 1024;

export const ZSTD_LEVEL = 3;

/** Compression is kept when it saves at least one part in this many. */
const MIN_GAIN = 16;

/** Level 3 needs 2^21; the rest is room for a stronger level without a change to readers. */
const PACKED_WINDOW_LOG = 23;

const MAX_CHUNK_BYTES = 4 * 1024 * 1024;

function inflateBounded(
  bytes: Uint8Array,
  size: number,
  options: { windowLogMax: number; dictionary?: Uint8Array },
): Uint8Array {
  const { windowLogMax, dictionary } = options;
  const { constants, zstdDecompressSync } = zlib();
  try {
    return zstdDecompressSync(bytes, {
      chunkSize: outputChunk(size),
      // A buffer more than it may be: Workers count buffers and not bytes. The size check that follows covers the difference.
      maxOutputLength: size + outputChunk(size),
      // Without this limit, a damaged header can make the decoder reserve 128 MB before the first byte of output.
      params: { [constants.ZSTD_d_windowLogMax]: windowLogMax },
      ...(dictionary === undefined ? {} : { dictionary }),
    });
  } catch (cause) {
    throw new DamagedBytes("does not decompress", { cause });
  }
}

/** One byte more than expected, so that zlib fills one buffer and never starts a second; bounded against odd sizes. */
export function outputChunk(expectedBytes: number): number {
  return Math.min(Math.max(Math.ceil(expectedBytes) + 1, 1024), MAX_CHUNK_BYTES + 1);
}
