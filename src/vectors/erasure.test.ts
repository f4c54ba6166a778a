// What a deletion of documents removes is gone from the file: text, metadata, embedding, and the code that gives the embedding away.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sampleVectors } from "../../test/vectors/samples.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";
import { VectorCoder } from "./kernel/code.ts";
import { BLOCK_ROWS } from "./kernel/pages.ts";
import { encodeFloats } from "./kernel/vector.ts";

const DIMENSION = 128;
const WORD = "plover-7f3a";
const LONG = `${WORD} is a wading bird. `.repeat(2000);

let folder: string;
let file: string;
let hf: Holdfast;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "holdfast-vectors-"));
  file = path.join(folder, "store.db");
  hf = await open(file, { durability: "normal" });
});

afterEach(async () => {
  await hf.close();
  rmSync(folder, { recursive: true });
});

function stored(bytes: Uint8Array | string): boolean {
  return [file, `${file}-wal`].some(
    (one) => existsSync(one) && readFileSync(one).includes(typeof bytes === "string" ? bytes : Buffer.from(bytes)),
  );
}

/** The code that a page has of an embedding. */
async function codeOf(vector: Float32Array): Promise<Uint8Array> {
  const { DatabaseSync } = await import("node:sqlite");
  const db = new DatabaseSync(file, { readOnly: true });
  const seed = Number(db.prepare("SELECT seed FROM vector_generations").get()?.seed);
  db.close();
  return new VectorCoder(seed, DIMENSION).encode(vector).bits;
}

/** Whether a page has the code in any of its slots. */
async function hasCode(code: Uint8Array): Promise<boolean> {
  const { DatabaseSync } = await import("node:sqlite");
  const db = new DatabaseSync(file, { readOnly: true });
  const pages = db.prepare("SELECT codes FROM vector_pages").all() as { codes: Uint8Array }[];
  db.close();
  expect(pages.length).toBeGreaterThan(0);
  return pages.some(({ codes }) => {
    for (let start = 0; start < codes.length; start++) {
      let i = 0;
      while (i < code.length && codes[start + i * BLOCK_ROWS] === code[i]) i++;
      if (i === code.length) return true;
    }
    return false;
  });
}

/** The pages of the text index. */
async function indexedBytes(): Promise<string> {
  const { DatabaseSync } = await import("node:sqlite");
  const db = new DatabaseSync(file, { readOnly: true });
  const pages = db.prepare("SELECT body FROM index_pages WHERE kind = 'documents'").all() as { body: Uint8Array }[];
  db.close();
  return Buffer.concat(pages.map(({ body }) => body)).toString("latin1");
}

async function packAll(): Promise<void> {
  while (((await hf.vectors.getCollection("default"))?.packed ?? 0) < 1024) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

test.each([
  ["delete", () => hf.vectors.delete(["secret", "long"])],
  ["deleteCollection", () => hf.vectors.deleteCollection("default")],
])("LG6, ME6 after %s no byte of the documents is in the file", async (_, erase) => {
  const next = sampleVectors("uniform", DIMENSION, 3);
  const secret = next();
  await hf.vectors.add([
    { id: "secret", content: `the ${WORD}`, embedding: secret, metadata: { note: WORD, deep: { [WORD]: 1 } } },
    { id: "long", content: LONG, embedding: next() },
    ...Array.from({ length: 1100 }, (_, n) => ({ content: `filler ${n}`, embedding: next() })),
  ]);
  await packAll();
  // Now the words are in segments of the text index.
  await hf.reindex();
  expect(await indexedBytes()).toContain("plover");
  const code = await codeOf(secret);
  expect([stored(WORD), stored(encodeFloats(secret)), await hasCode(code)]).toEqual([true, true, true]);
  await erase();
  expect([stored(WORD), stored(encodeFloats(secret))]).toEqual([false, false]);
  expect(stored("plover")).toBe(false);
  if ((await hf.vectors.listCollections()).length > 0) expect(await hasCode(code)).toBe(false);
});

test("ME15 the words of a document leave the text index in the commit that replaces it", async () => {
  await hf.vectors.add([
    { id: "kept", content: "a heron" },
    { id: "secret", content: `the ${WORD}` },
  ]);
  await hf.reindex();
  expect(await indexedBytes()).toContain("plover");
  await hf.vectors.upsert([{ id: "secret", content: "nothing" }]);
  expect(await indexedBytes()).not.toContain("plover");
  expect((await hf.vectors.search("plover heron nothing")).map(({ id }) => id).sort()).toEqual(["kept", "secret"]);
  expect(await hf.vectors.search("plover")).toEqual([]);
});
