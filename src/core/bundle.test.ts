// A bundle is all of its bytes: what follows its end, or its last file, is no part of it.
import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { noise } from "../testing/expect.ts";
import { encodeBundle, filesOf, openBundle } from "./bundle.ts";
import { encodeText, sha256Hex } from "./bytes.ts";

const CONTENT = noise(300_000, 1);
const LIST = encodeText("[]");
const FILES = [{ path: "a", size: CONTENT.byteLength, ref: `sha256:${sha256Hex(CONTENT)}` }];

test("CA6 what was put in is what comes out", async () => {
  const { list, rest } = await openBundle(await encodeBundle(LIST, [CONTENT]));
  expect(Buffer.from(list).toString()).toBe("[]");
  expect(Buffer.compare(filesOf(rest, FILES).get("a") ?? Buffer.alloc(0), CONTENT)).toBe(0);
});

test.each([
  ["a byte", Buffer.from([0])],
  ["another bundle's", zstdCompressSync(encodeText("more"))],
  ["an empty one's", zstdCompressSync(Buffer.alloc(0))],
  ["a comment", Buffer.from([0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9])],
])("CA6 bytes behind its end are refused: %s", async (_, more) => {
  const bundle = Buffer.concat([await encodeBundle(LIST, [CONTENT]), more]);
  await expect(openBundle(bundle)).rejects.toMatchObject({ code: "ArchiveCorrupted" });
});

test("CA6 bytes behind its last file are refused", async () => {
  const { rest } = await openBundle(await encodeBundle(LIST, [CONTENT, encodeText("more")]));
  expect(() => filesOf(rest, FILES)).toThrow(/something follows its last file/);
});
