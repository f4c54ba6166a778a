// Frames of zstd (RFC 8878) that are put together here: of blocks that are not compressed, and of such blocks and those of another
// frame.

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd] as const;
const BLOCK_BYTES = 128 * 1024;
const BLOCK_WINDOW_LOG = 17;

/** The beginning of a frame that says nothing but its window. */
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

/** One whose blocks are not compressed; its window has the size of a block. */
export function* rawFrame(bytes: Uint8Array): Generator<Uint8Array> {
  yield header(BLOCK_WINDOW_LOG);
  yield* rawBlocks(bytes, true);
}

/**
 * A frame that was compressed with a dictionary of plain content, as one without: it decompresses to the dictionary and what
 * follows it. Blocks refer to a dictionary as to bytes that stand before them, and there they stand now. null: it is no such frame.
 */
export function withoutDictionary(frame: Uint8Array, dictionary: Uint8Array, windowLog: number): Uint8Array | null {
  const [descriptor = 0] = frame.subarray(MAGIC.length);
  const isSingle = (descriptor & 0x20) !== 0;
  const dictionaryId = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const contentSize = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const begin = MAGIC.length + 1 + (isSingle ? 0 : 1) + dictionaryId + contentSize;
  // Of the content without the dictionary: it does not hold for both.
  const end = frame.byteLength - ((descriptor & 0x04) !== 0 ? 4 : 0);
  if (MAGIC.some((byte, i) => frame[i] !== byte) || end <= begin) return null;
  return Buffer.concat([header(windowLog), ...rawBlocks(dictionary, false), frame.subarray(begin, end)]);
}
