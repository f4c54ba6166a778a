// Deleting an agent erases the texts of its blocks and description from all files, and keeps what others still need.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ENGINES } from "../../test/engines.ts";
import { ownDatabase, whyUnreadable } from "../../test/server-files.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";
import { fileBlobs } from "../storage/blobs/file.ts";

/** Texts of an agent: in its blocks, in their earlier versions, and in its description. */
const BLOCKS = ["xyzzy-value", "plugh-older", "plover-described", "grue-large"];
const DESCRIPTION = ["quux-system", "frotz-name", "zork-metadata", "gnusto-tag"];

async function fill(hf: Holdfast): Promise<void> {
  await hf.agents.create({
    id: "helper",
    name: "frotz-name",
    system: "quux-system ".repeat(50),
    tags: ["gnusto-tag"],
    metadata: { note: "zork-metadata" },
  });
  // A block of more than a megabyte, which is stored in parts.
  const large = Array.from({ length: 130_000 }, (_, i) => `grue-large ${i}`)
    .join(" ")
    .slice(0, 900_000);
  await hf.agents.saveBlocks("helper", [
    { label: "notes", value: "plugh-older", description: "plover-described" },
    { label: "large", value: `${large}${"é".repeat(90_000)}`, limit: 1_000_000 },
  ]);
  await hf.agents.rethinkBlock("helper", "notes", "xyzzy-value");
}

/** Long texts are stored compressed, so blobs are counted instead of searching for words. */
async function blobsLeft(hf: Holdfast): Promise<number> {
  return (await hf.stats()).blobs.count;
}

describe("deleting an agent", () => {
  test("LG6 SQLite: its texts are in no file", async () => {
    const directory = mkdtempSync(join(tmpdir(), "holdfast-delete-"));
    const file = join(directory, "store.db");
    const hf = await open(file);
    const inFiles = (word: string) =>
      [file, `${file}-wal`].some((path) => existsSync(path) && readFileSync(path).includes(word));
    const plain = [...BLOCKS, ...DESCRIPTION].filter((word) => word !== "grue-large");
    try {
      await fill(hf);
      expect(plain.filter((word) => !inFiles(word))).toEqual([]);
      expect(await blobsLeft(hf)).toBe(3);
      expect(await hf.agents.delete("helper")).toMatchObject({ removed: { agents: 1 }, kept: {} });
      expect(plain.filter(inFiles)).toEqual([]);
      expect(await blobsLeft(hf)).toBe(0);
    } finally {
      await hf.close();
      rmSync(directory, { recursive: true, force: true });
    }
  });

  test("LG6 blobs outside the database are removed too", async () => {
    const directory = mkdtempSync(join(tmpdir(), "holdfast-delete-"));
    const outside = join(directory, "blobs");
    const hf = await open(join(directory, "store.db"), { blobs: fileBlobs(outside) });
    const files = () =>
      readdirSync(outside, { recursive: true, encoding: "utf8" }).filter((name) =>
        statSync(join(outside, name)).isFile(),
      );
    try {
      await fill(hf);
      expect(files().length).toBeGreaterThanOrEqual(3);
      await hf.agents.delete("helper");
      expect(files()).toEqual([]);
    } finally {
      await hf.close();
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

const trouble = await whyUnreadable();
const onPostgres = "deleting an agent on PostgreSQL";

describe.skipIf(trouble !== null)(trouble === null ? onPostgres : `${onPostgres} (skipped: ${trouble})`, () => {
  test("LG6 the rows of its blocks are removed from the tables' files", async () => {
    const database = await ownDatabase();
    const hf = await open(database.url);
    const words = BLOCKS.filter((word) => word !== "grue-large");
    const found = async () => (await Promise.all(words.map(database.times))).filter((times) => times > 0).length;
    try {
      await fill(hf);
      expect(await found()).toBe(words.length);
      await hf.agents.delete("helper");
      expect(await found()).toBe(0);
      expect(await blobsLeft(hf)).toBe(0);
    } finally {
      await hf.close();
      await database.end();
    }
  });
});

for (const engine of ENGINES) {
  test(`LG6 what others have or say stays (${engine.name})`, async () => {
    const ground = await engine.fresh();
    const hf = await open(ground.url);
    try {
      await hf.agents.saveBlocks("one", [
        { label: "shared", value: "of both" },
        { label: "own", value: "the same words" },
        { label: "stored", value: "a blob too" },
      ]);
      await hf.agents.saveBlocks("two", [{ label: "own", value: "the same words" }]);
      await hf.agents.shareBlock("one", "shared", "two");
      const ref = await hf.blobs.store("a blob too");
      await hf.agents.delete("one");
      expect((await hf.agents.loadBlocks("two")).map(({ value }) => value)).toEqual(["the same words", "of both"]);
      expect(await hf.blobs.resolveText(ref)).toBe("a blob too");
      expect(await blobsLeft(hf)).toBe(3);
      await hf.agents.delete("two");
      expect(await blobsLeft(hf)).toBe(1);
    } finally {
      await hf.close();
      await ground.end();
    }
  });
}
