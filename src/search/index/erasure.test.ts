// What is erased leaves the bytes of the index in the erasing commit, whoever has merged it, and what is not erased is still found.
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { indexFacts } from "../../../test/index-facts.ts";
import { INDEX_ENGINES, IndexProcess, type IndexStore } from "../../../test/index-stores.ts";
import { overrideStorage } from "../../core/storage-overrides.ts";

const SECRET = "xylophonist";

/** The bytes of all pages in the database, and of its files. */
async function bytesOf({ driver, path }: IndexStore): Promise<string> {
  const rows = await driver.read("SELECT first, body FROM index_pages", []);
  const pages = rows.flatMap(({ first, body }) => [first, body]) as readonly Uint8Array[];
  const files = path === null ? [] : [path, `${path}-wal`].filter(existsSync).map((file) => readFileSync(file));
  return Buffer.concat([...pages, ...files]).toString("latin1");
}

const ERASURES: readonly (readonly [name: string, erase: (store: IndexStore) => Promise<unknown>])[] = [
  ["clear", ({ hf }) => hf.history.clear({ session: "secret", agent: "a" })],
  ["clearRun", ({ hf }) => hf.history.clearRun({ session: "secret", agent: "a" }, "r")],
  ["a deleted session", ({ hf }) => hf.sessions.delete("secret")],
  ["a session deleted everywhere", ({ hf }) => hf.sessions.delete("secret", { everywhere: true })],
];

describe.each(INDEX_ENGINES)("an erasure on $name", (engine) => {
  test.each(ERASURES)("TI2 of %s leaves none of its words in the index", async (_, erase) => {
    const store = await engine.fresh();
    try {
      const { hf, processes } = store;
      const [process, other] = processes;
      for (const [session, word] of [
        ["kept", "violinist"],
        ["secret", SECRET],
        ["kept", "pianist"],
      ] as const) {
        await hf.history.append({ session, agent: "a" }, { role: "user", content: `the ${word} plays` }, { run: "r" });
        await process.write();
      }
      // Read by both, so that both have it in memory.
      for (const { index } of [process, other]) {
        const [found] = await (await index.open()).readPostings([SECRET]);
        expect(found?.count).toBe(1);
      }
      expect(await bytesOf(store)).toContain(SECRET);
      await erase(store);
      expect(await bytesOf(store)).not.toContain(SECRET);
      for (const { index, naive } of [process, other].map((one) => ({ index: one.index, naive: () => one.naive() }))) {
        const terms = [SECRET, "violinist", "pianist", "play"];
        expect(await indexFacts(await index.open(), terms)).toEqual(await indexFacts(await naive(), terms));
      }
      await process.write();
      expect(await bytesOf(store)).not.toContain(SECRET);
      const [gone, kept] = await (await other.index.open()).readPostings([SECRET, "violinist"]);
      expect([gone?.count, kept?.count]).toEqual([0, 1]);
    } finally {
      await store.close();
    }
  });

  test("TI2 refuses a segment that was made of the words before the erasure", async () => {
    const store = await engine.fresh();
    try {
      const { hf, driver } = store;
      const secret = { session: "secret", agent: "a" };
      await hf.history.append(secret, { role: "user", content: SECRET });
      let refused = 0;
      const process = new IndexProcess(driver, (storage) =>
        overrideStorage(storage, {
          commit: async (commit) => {
            if (commit.guards?.[0]?.check === "index.epoch") await hf.history.clear(secret);
            const outcome = await storage.commit(commit);
            if (!outcome.ok) refused += 1;
            return outcome;
          },
        }),
      );
      await process.write();
      expect(refused).toBe(1);
      expect(await bytesOf(store)).not.toContain(SECRET);
      expect((await process.index.open()).units.count).toBe(0);
    } finally {
      await store.close();
    }
  });
});
