// Segments of documents and memories stay small: replacing one item makes the next search read the texts of its segment again.
import { describe, expect, test } from "vitest";
import { INDEX_ENGINES } from "../../../test/index-stores.ts";
import { addItemWrite, type ReadItems } from "./item-source.ts";
import { LEVELS } from "./levels.ts";
import { textIndexOf } from "./snapshot.ts";

const ITEMS = 5000;
const STEP = 100;

describe.each(INDEX_ENGINES)("segments of documents on $name", (engine) => {
  test("TI1 never grow beyond their limit, whether made of many texts at once or merged", async () => {
    const store = await engine.fresh();
    try {
      const [{ storage }] = store.processes;
      const readItems: ReadItems = async (items) =>
        items.map(({ group, item }) => ({ group, item, at: 0, flags: 0, fields: [], text: `word ${item}` }));
      const index = textIndexOf(storage, "documents", { readItems });
      const add = (from: number, to: number) =>
        storage.commit({
          writes: Array.from({ length: to - from }, (_, at) =>
            addItemWrite("documents", { group: 1, item: from + at }),
          ),
        });
      const write = () => index.writer.run({ least: 1, language: "english" });
      const units = async () =>
        (await store.driver.read("SELECT units FROM index_segments WHERE kind = 'documents'", [])).map((row) =>
          Number(row.units),
        );
      const { unitsMax } = LEVELS.documents;

      await add(0, ITEMS);
      await write();
      const made = await units();
      expect(Math.max(...made)).toBeLessThanOrEqual(unitsMax);

      for (let from = ITEMS; from < ITEMS + 10 * STEP; from += STEP) {
        await add(from, from + STEP);
        await write();
      }
      const merged = await units();
      expect(merged.reduce((sum, one) => sum + one, 0)).toBe(ITEMS + 10 * STEP);
      expect(merged.length).toBeLessThan(made.length + 10);
      expect(Math.max(...merged)).toBeLessThanOrEqual(unitsMax);
    } finally {
      await store.close();
    }
  });
});
