// A frame's header is not trusted: not even the window, which a reader reserves before the first byte is decompressed.
import { constants, createZstdCompress } from "node:zlib";
import { expect, test } from "vitest";
import { unpackPieces, WINDOW_LOG_MAX } from "./unpack.ts";

/** Compresses as a stream of unknown length, so that the frame states its window. */
async function frameWithWindow(log: number): Promise<Buffer> {
  const stream = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: log } });
  stream.write(Buffer.alloc(1000, "a"));
  stream.flush(() => stream.end());
  const pieces: Buffer[] = [];
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function unpackedSize(frame: Uint8Array): Promise<number> {
  let size = 0;
  for await (const piece of unpackPieces(frame, "zstd", "the frame")) size += piece.byteLength;
  return size;
}

test("CA6 a frame of a few bytes that claims a window larger than ours is refused before anything is reserved for it", async () => {
  expect(await unpackedSize(await frameWithWindow(WINDOW_LOG_MAX))).toBe(1000);
  for (const log of [24, 27]) await expect(unpackedSize(await frameWithWindow(log))).rejects.toThrow();
});
