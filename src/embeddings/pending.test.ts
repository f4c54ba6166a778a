// A mark on a text that has its embedding is a defect of a store: it costs one call, and no more.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { Embedder } from "../contracts/embedders.ts";
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
