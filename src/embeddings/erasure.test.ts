// An erasure of messages or memories removes their vectors and codes from the file in its commit, also from pages, and searches go on with
// what is left of a page before and after its codes are made again.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Embedder } from "../contracts/embedders.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";
import { VectorCoder } from "../vectors/kernel/code.ts";
import { encodeHalves } from "../vectors/kernel/half.ts";
import { BLOCK_ROWS, PAGE_SLOTS } from "../vectors/kernel/pages.ts";

const DIMENSIONS = 32;

/** Numbers that half precision keeps as they are. */
function vectorOf(text: string): Float32Array {
  let state = 1;
  for (const letter of text) state = (state * 31 + (letter.codePointAt(0) ?? 0)) % 65_521;
  return Float32Array.from({ length: DIMENSIONS }, () => {
    state = (state * 17_364 + 1) % 65_521;
    return ((state % 512) - 256) / 256;
  });
}

const embedder: Embedder = {
  id: "test/halves@32",
  dimensions: DIMENSIONS,
  maxBatch: 256,
  // A query such as "like7" has the vector of message 7, and none of its words.
  embed: async (texts) => texts.map((text) => vectorOf(text.replace(/^like(\d+)$/, (_, n) => textOf(Number(n))))),
};

let folder: string;
let file: string;
let hf: Holdfast;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "holdfast-passages-"));
  file = path.join(folder, "store.db");
  hf = await open(file, { durability: "normal", embedder });
});

afterEach(async () => {
  await hf.close();
  rmSync(folder, { recursive: true });
});

function isStored(text: string): boolean {
  const bytes = Buffer.from(encodeHalves(vectorOf(text), "vector"));
  return [file, `${file}-wal`].some((one) => existsSync(one) && readFileSync(one).includes(bytes));
}

interface StoredPage {
  readonly codes: Uint8Array;
  readonly seed: number;
}

function readPages(): readonly StoredPage[] {
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db
    .prepare(
      "SELECT p.codes, g.seed FROM vector_pages p JOIN vector_generations g ON g.collection_no = p.collection_no",
    )
    .all();
  db.close();
  return rows as unknown as readonly StoredPage[];
}

function isInPages(text: string): boolean {
  return readPages().some(({ codes, seed }) => {
    const { bits } = new VectorCoder(seed, DIMENSIONS).encode(vectorOf(text));
    for (let start = 0; start < codes.length; start++) {
      let i = 0;
      while (i < bits.length && codes[start + i * BLOCK_ROWS] === bits[i]) i++;
      if (i === bits.length) return true;
    }
    return false;
  });
}

const textOf = (n: number) => `message number ${n}`;

async function untilPacked(): Promise<void> {
  while (readPages().every(({ codes }) => codes.length === 0)) {
    await hf.search("anything");
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

test("EM8 the vectors and codes of erased messages are gone from the file, and the others are found", async () => {
  const count = PAGE_SLOTS + 200;
  for (const [session, from, to] of [
    ["kept", 0, count / 2],
    ["also", count / 2, count / 2 + 2],
    ["erased", count / 2 + 2, count],
  ] as const) {
    const messages = Array.from({ length: to - from }, (_, n) => ({
      role: "user" as const,
      content: textOf(from + n),
    }));
    await hf.history.appendMany({ session, agent: "a" }, messages);
  }
  await hf.embeddings.wait();
  await untilPacked();
  const [kept, also, erased] = [textOf(3), textOf(count / 2 + 1), textOf(count / 2 + 3)];
  expect([kept, erased].map((text) => [isStored(text), isInPages(text)])).toEqual([
    [true, true],
    [true, true],
  ]);
  await hf.history.clear({ session: "erased", agent: "a" });
  expect([isStored(erased), isInPages(erased)]).toEqual([false, false]);
  expect(isStored(kept)).toBe(true);
  // The page has no codes now: erasures of what else it had go on.
  await hf.sessions.delete("also");
  expect([isStored(also), isInPages(also)]).toEqual([false, false]);
  const nearest = async (n: number) => (await hf.search(`like${n}`, { limit: 1 })).hits[0]?.passage;
  // Before the codes of the page are made again, after that, and by another handle.
  expect(await nearest(3)).toBe(kept);
  await untilPacked();
  expect([isInPages(kept), isInPages(erased)]).toEqual([true, false]);
  expect(await nearest(3)).toBe(kept);
  await hf.close();
  hf = await open(file, { durability: "normal", embedder });
  expect(await nearest(3)).toBe(kept);
  expect(
    (await hf.search(`like${count / 2 + 3}`, { limit: 100 })).hits.every(({ session }) => session === "kept"),
  ).toBe(true);
  expect((await hf.check()).issues).toEqual([]);
}, 120_000);

test("EM9 the vectors of erased memories are gone from the file", async () => {
  const saved = await hf.memory.save("Ada has a puppy");
  await hf.memory.save("Ada has a hound", { ttlMs: 1 });
  await hf.memory.save("Bob has a dog", { agent: "b" });
  await hf.memory.save("Eve has a cat", { agent: "e" });
  await hf.embeddings.wait();
  const texts = ["Ada has a puppy", "Ada has a hound", "Bob has a dog", "Eve has a cat"];
  expect(texts.map(isStored)).toEqual([true, true, true, true]);
  await hf.memory.delete(saved.id);
  await hf.memory.deleteExpired();
  await hf.memory.clear({ agent: "b" });
  expect(texts.map(isStored)).toEqual([false, false, false, true]);
  expect((await hf.check()).issues).toEqual([]);
});
