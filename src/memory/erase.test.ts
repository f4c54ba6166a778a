// Erasing memories leaves no word of them in any file, also not in the text index, pending or written.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { open } from "../open.ts";

/** More than are kept pending: a search writes them into a segment of the index first. */
const MANY = 2100;

test.each([0, MANY])(
  "ME13 the words of erased memories are in no file (beside %i others)",
  async (others) => {
    const directory = mkdtempSync(join(tmpdir(), "holdfast-memory-"));
    const file = join(directory, "store.db");
    const hf = await open(file, { durability: "normal" });
    const inFiles = (word: string) =>
      [file, `${file}-wal`].some((path) => existsSync(path) && readFileSync(path).includes(word));
    try {
      const fact = { subject: "plughsubject", attribute: "frotzattribute", value: "zorkvalue" };
      const saved = await hf.memory.save("xyzzycontent is here", { ...fact, metadata: { grue: "gnustometadata" } });
      const expiring = await hf.memory.save("quuxexpiring is here", { agent: "a", ttlMs: 1 });
      await hf.memory.save("ploverscope is here", { namespace: "cleared" });
      const facts = Array.from({ length: others }, (_, n) => hf.memory.save(`note ${n} of words`, { agent: "b" }));
      await Promise.all(facts);
      expect((await hf.memory.search("xyzzycontent")).map(({ id }) => id)).toEqual([saved.id]);
      const words = ["xyzzycontent", "plughsubject", "frotzattribute", "zorkvalue", "gnustometadata"];
      expect([...words, "quuxexpiring", "ploverscope"].filter((word) => !inFiles(word))).toEqual([]);
      await hf.memory.delete(saved.id);
      expect(words.filter(inFiles)).toEqual([]);
      expect((await hf.memory.deleteExpired()).removed.memories).toBe(expiring.expiresAt === null ? 0 : 1);
      expect(inFiles("quuxexpiring")).toBe(false);
      await hf.memory.clear({ namespace: "cleared" });
      expect(inFiles("ploverscope")).toBe(false);
      expect(await hf.memory.search("xyzzycontent zorkvalue")).toEqual([]);
      if (others > 0) {
        const found = await hf.memory.search("note words", { agent: "b", limit: 1000 });
        expect(found.length).toBe(1000);
        expect((await hf.memory.search("1234", { agent: "b" })).map(({ content }) => content)).toEqual([
          "note 1234 of words",
        ]);
      }
      expect((await hf.check()).issues).toEqual([]);
    } finally {
      await hf.close();
      rmSync(directory, { recursive: true, force: true });
    }
  },
  60_000,
);
