// Builds frames of zstd (RFC 8878): from uncompressed blocks, and from uncompressed blocks followed by the blocks of
// another frame.

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd] as const;
const BLOCK_BYTES = 128 * 1024;
const BLOCK_WINDOW_LOG = 17;

/** A frame header that states only the window. */
function header(windowLog: number): Uint8Array {
  return Uint8Array.from([...MAGIC, 0x00, (windowLog - 10) << 3]);
}

function* rawBlocks(bytes: Uint8Array, isEnd: boolean): Generator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += BLOCK_BYTES) {
    const block = bytes.subarray(at, at + BLOCK_BYTES);
    const isLast = isEnd && at + BLOCK_BYTES >= bytes.byteLength;
    const size = (block.byteLength << 3) | (isLast ? 1 : 0);
    yield Uint8Array.from([size & 0xff, (size >> 8) & 0xff, size >> 16]);
    yield block;
  }
}

/** A frame of uncompressed blocks; its window has the size of a block. */
export function* rawFrame(bytes: Uint8Array): Generator<Uint8Array> {
  yield header(BLOCK_WINDOW_LOG);
  yield* rawBlocks(bytes, true);
}

/**
 * Turns a frame that was compressed with a dictionary of plain content into one without a dictionary. The result
 * decompresses to the dictionary followed by the content: blocks refer to a dictionary as to bytes before them, and now
 * these bytes are there. null if it is no such frame.
 */
export function withoutDictionary(frame: Uint8Array, dictionary: Uint8Array, windowLog: number): Uint8Array | null {
  const [descriptor = 0] = frame.subarray(MAGIC.length);
  const isSingle = (descriptor & 0x20) !== 0;
  const dictionaryId = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const contentSize = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const begin = MAGIC.length + 1 + (isSingle ? 0 : 1) + dictionaryId + contentSize;
  // The size and checksum in the header are those of the content without the dictionary, so they are left out.
  const end = frame.byteLength - ((descriptor & 0x04) !== 0 ? 4 : 0);
  if (MAGIC.some((byte, i) => frame[i] !== byte) || end <= begin) return null;
  return Buffer.concat([header(windowLog), ...rawBlocks(dictionary, false), frame.subarray(begin, end)]);
}
