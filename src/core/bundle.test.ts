// A bundle is all of its bytes: a reader refuses bytes after its end and bytes after its last file.
import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { LIMITS } from "../contracts/limits.ts";
import { noise } from "../testing/expect.ts";
import { encodeBundle, readBundle } from "./bundle.ts";
import { encodeText, sha256Hex } from "./bytes.ts";

const CONTENT = noise(300_000, 1);
const FILES = [{ path: "a", size: CONTENT.byteLength, ref: `sha256:${sha256Hex(CONTENT)}` }];
const LIST = encodeText(JSON.stringify({ files: FILES }));
const read = (bundle: Uint8Array) => readBundle(bundle, (list) => JSON.parse(Buffer.from(list).toString()));

test("CA6 a reader gets the files that were encoded", async () => {
  const { list, contents } = await read(await encodeBundle(LIST, [CONTENT]));
  expect(list.files).toEqual(FILES);
  expect(Buffer.compare(contents.get("a") ?? Buffer.alloc(0), CONTENT)).toBe(0);
});

test("CA6 content that compresses better than a reader allows is stored uncompressed, and is read back", async () => {
  const zeros = Buffer.alloc(LIMITS.unpackedBytes + 1);
  const list = { files: [{ path: "z", size: zeros.byteLength, ref: `sha256:${sha256Hex(zeros)}` }] };
  const bundle = await encodeBundle(encodeText(JSON.stringify(list)), [zeros]);
  expect(bundle.byteLength).toBeGreaterThan(zeros.byteLength);
  expect((await read(bundle)).contents.get("z")?.byteLength).toBe(zeros.byteLength);
});

test.each([
  ["a byte", Buffer.from([0])],
  ["another bundle's", zstdCompressSync(encodeText("more"))],
  ["an empty one's", zstdCompressSync(Buffer.alloc(0))],
  ["a comment", Buffer.from([0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9])],
])("CA6 bytes after its end are refused: %s", async (_, more) => {
  const bundle = Buffer.concat([await encodeBundle(LIST, [CONTENT]), more]);
  await expect(read(bundle)).rejects.toMatchObject({ code: "ArchiveCorrupted" });
});

test("CA6 bytes after its last file are refused", async () => {
  await expect(read(await encodeBundle(LIST, [CONTENT, encodeText("more")]))).rejects.toThrow(
    /there are bytes after its last file/,
  );
});
