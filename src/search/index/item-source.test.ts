// Memories and documents in the index: found in the commit that adds them, also after segments were made, changed and removed for good.
import { describe, expect, test } from "vitest";
import { indexFacts } from "../../../test/index-facts.ts";
import { INDEX_ENGINES } from "../../../test/index-stores.ts";
import { addItemWrite, changeItemWrites, type ItemRef, type ReadItems, removeGroupWrites } from "./item-source.ts";
import { createNaiveIndex } from "./naive-index.ts";
import { readIndex, textIndexOf } from "./snapshot.ts";

const TERMS = ["cat", "dog", "secret", "bird"];

describe.each(INDEX_ENGINES)("items of the index on $name", (engine) => {
  test("TI1, TI2 are found as soon as they are added, and not after they are changed or removed", async () => {
    const store = await engine.fresh();
    try {
      const [{ storage }] = store.processes;
      const texts = new Map<string, string>();
      const itemOf = ({ group, item }: ItemRef) => ({
        group,
        item,
        at: 0,
        flags: 0,
        fields: [],
        text: texts.get(`${group}/${item}`) ?? "",
      });
      const readItems: ReadItems = async (items) =>
        items.filter(({ group, item }) => texts.has(`${group}/${item}`)).map(itemOf);
      const options = { readItems };
      const index = textIndexOf(storage, "memories", options);
      const add = async (group: number, item: number, text: string) => {
        texts.set(`${group}/${item}`, text);
        await storage.commit({ writes: [addItemWrite("memories", { group, item })] });
      };
      const agree = async () => {
        const all = [...texts.keys()].map((key) => {
          const [group = 0, item = 0] = key.split("/").map(Number);
          return itemOf({ group, item });
        });
        const expected = await indexFacts(createNaiveIndex("memories", all, "english"), TERMS);
        const found = await readIndex(storage, "memories", options, (snapshot) => indexFacts(snapshot, TERMS));
        expect(found).toEqual(expected);
      };
      const write = () => index.writer.run({ least: 1, language: "english" });
      const pages = async () => {
        const rows = await store.driver.read("SELECT body FROM index_pages WHERE kind = 'memories'", []);
        return Buffer.concat(rows.map(({ body }) => body as Uint8Array)).toString("latin1");
      };

      await add(1, 1, "a cat");
      await add(1, 2, "a secret dog");
      await agree();
      await write();
      await agree();
      await add(2, 1, "a secret bird");
      await write();
      await add(1, 3, "another cat");
      await agree();
      expect(await pages()).toContain("secret");

      // Changed: the words of before are gone at once.
      texts.set("1/2", "a dog");
      await storage.commit({ writes: changeItemWrites("memories", { group: 1, item: 2 }, "changed") });
      await agree();
      await write();
      await agree();
      texts.delete("1/1");
      await storage.commit({ writes: changeItemWrites("memories", { group: 1, item: 1 }, "removed") });
      await agree();
      await write();
      texts.delete("2/1");
      await storage.commit({ writes: removeGroupWrites("memories", 2) });
      expect(await pages()).not.toContain("secret");
      await agree();
      for (let item = 10; item < 22; item++) {
        await add(1, item, item % 2 === 0 ? "cat" : "bird");
        await write();
      }
      await agree();
      const rows = await store.driver.read("SELECT 1 FROM index_segments WHERE kind = 'memories'", []);
      expect(rows.length).toBeLessThan(10);
    } finally {
      await store.close();
    }
  });
});
