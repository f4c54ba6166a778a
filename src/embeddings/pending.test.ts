// What waits by a defect of the store's rows, or by their repair: it costs one call at most, and ends.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { Embedder } from "../contracts/embedders.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";

test("EM4 a passage that has its embedding and is marked as waiting is settled at the first try", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-pending-"));
  const file = path.join(folder, "store.db");
  const embedded: string[] = [];
  const embed: Embedder["embed"] = async (texts) => {
    embedded.push(...texts);
    return texts.map(() => [1, 2]);
  };
  const embedder: Embedder = { id: "test/same@2", dimensions: 2, embed };
  try {
    const before = await open(file, { embedder });
    await before.memory.save("a text");
    await before.embeddings.wait();
    await before.close();
    const db = new DatabaseSync(file);
    db.exec("UPDATE passages SET pending = 1");
    db.close();
    const hf = await open(file, { embedder });
    const { kinds } = await hf.embeddings.wait({ timeoutMs: 10_000 });
    expect(kinds.memories.pending).toBe(0);
    expect(embedded).toEqual(["a text", "a text"]);
    expect((await hf.check()).issues).toEqual([]);
    await hf.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("EM4 passages that are known are not written twice when a repair forgets what is cut", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-pending-"));
  const file = path.join(folder, "store.db");
  const embedded: string[] = [];
  const embed: Embedder["embed"] = async (texts) => {
    embedded.push(...texts);
    return texts.map(() => [1, 2]);
  };
  const embedder: Embedder = { id: "test/same@2", dimensions: 2, embed };
  const say = (hf: Holdfast, content: string) =>
    hf.history.append({ session: "s", agent: "a" }, { role: "user", content });
  try {
    const before = await open(file, { embedder });
    await before.memory.save("a fact");
    await say(before, "a message");
    await before.embeddings.wait();
    await before.close();
    const db = new DatabaseSync(file);
    db.exec("DELETE FROM index_kinds WHERE kind = 'messages'");
    db.exec("UPDATE index_items SET cut = NULL WHERE kind = 'memories'");
    db.close();
    const plain = await open(file);
    await plain.reindex();
    await plain.close();
    const hf = await open(file, { embedder });
    await hf.memory.save("another fact");
    await say(hf, "another message");
    const { kinds } = await hf.embeddings.wait({ timeoutMs: 10_000 });
    expect([kinds.memories.pending, kinds.messages.pending]).toEqual([0, 0]);
    expect(embedded.toSorted()).toEqual(["a fact", "a message", "another fact", "another message"]);
    expect((await hf.check()).issues).toEqual([]);
    await hf.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("EM8 vectors of any length are stored in half precision, and compared by their direction", async () => {
  const vectors: Readonly<Record<string, readonly number[]>> = {
    long: [3e30, 3e29],
    short: [3e-30, -3e-29],
    alike: [1, 0],
    other: [0, -1],
  };
  const embed: Embedder["embed"] = async (texts) => texts.map((text) => vectors[text] ?? [1, 1]);
  const hf = await open(":memory:", { embedder: { id: "test/lengths@2", dimensions: 2, embed } });
  for (const content of ["long", "short"]) {
    await hf.history.append({ session: content, agent: "a" }, { role: "user", content });
  }
  expect((await hf.embeddings.wait()).kinds.messages).toMatchObject({ pending: 0, parked: 0 });
  expect((await hf.search("alike")).hits[0]?.passage).toBe("long");
  expect((await hf.search("other")).hits[0]?.passage).toBe("short");
  await hf.close();
});
