// The text index of an open store: written in the background, made anew by reindex, and left out by search: false.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../test/engines.ts";
import { open } from "../open.ts";

const scope = { session: "s", agent: "a" };
const numbered = (count: number, word: string) =>
  Array.from({ length: count }, (_, at) => ({ role: "user" as const, content: `${word} number${at}` }));

describe.each(ENGINES)("the text index of a store on $name", (engine) => {
  let ground: EngineStore;
  beforeEach(async () => {
    ground = await engine.fresh();
  });
  afterEach(() => ground.end());

  test("TI3 is written in the background after many messages, and close() does not wait for all of it", async () => {
    const hf = await open(ground.url);
    for (let batch = 0; batch < 3; batch++) await hf.history.appendMany(scope, numbered(500, `batch${batch}`));
    for (let tries = 0; (await hf.stats()).textIndex.segments === 0; tries++) {
      expect(tries).toBeLessThan(2000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const { textIndex } = await hf.stats();
    expect(textIndex.items + textIndex.pending).toBe(1500);
    expect(textIndex.language).toBe("english");
    const { hits } = await hf.search("batch2 number499");
    expect(hits[0]?.snippet.text).toBe("batch2 number499");
    await hf.close();
  });

  test("TI3 is left alone with search: false, and such a handle cannot search", async () => {
    const hf = await open(ground.url, { search: false });
    await hf.history.appendMany(scope, numbered(1000, "cats"));
    await hf.history.appendMany(scope, numbered(200, "cats"));
    expect((await hf.stats()).textIndex).toMatchObject({ segments: 0, bytes: 0, pending: 1200 });
    await expect(hf.search("cats")).rejects.toMatchObject({ code: "Conflict" });
    await expect(hf.reindex()).rejects.toMatchObject({ code: "Conflict" });
    await hf.close();
    const other = await open(ground.url);
    expect((await other.search("number1000")).hits).toHaveLength(0);
    expect((await other.search("number999")).hits[0]?.snippet.text).toBe("cats number999");
    await other.close();
  });

  test("TI3 documents are written in the background too, and are found later if a handle has no index", async () => {
    const plain = await open(ground.url, { search: false });
    await plain.vectors.add([{ id: "d", content: "a lighthouse" }]);
    await expect(plain.vectors.search("lighthouse")).rejects.toMatchObject({ code: "Conflict" });
    await plain.close();
    const hf = await open(ground.url);
    await hf.vectors.add(Array.from({ length: 1000 }, (_, at) => ({ content: `boat number${at}` })));
    await hf.vectors.add(Array.from({ length: 100 }, () => ({ content: "boat" })));
    const count = async () =>
      (await ground.driver.read("SELECT 1 FROM index_segments WHERE kind = 'documents'", [])).length;
    for (let tries = 0; (await count()) === 0; tries++) {
      expect(tries).toBeLessThan(2000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect((await hf.vectors.search("lighthouse")).map(({ id }) => id)).toEqual(["d"]);
    expect((await hf.vectors.search("number999"))[0]?.snippet.text).toBe("boat number999");
    await hf.close();
  });

  test("TI3 each index of a new store begins in the language of the store, whichever call is first", async () => {
    const hf = await open(ground.url, { search: { language: "german" } });
    await hf.memory.save("Zwei alte Häuser", { agent: "a" });
    expect((await hf.memory.search("haus", { agent: "a" })).map(({ content }) => content)).toEqual([
      "Zwei alte Häuser",
    ]);
    expect(await hf.memory.search("hous", { agent: "a" })).toEqual([]);
    await hf.vectors.add([{ id: "d", content: "Viele Häuser" }]);
    expect((await hf.vectors.search("haus")).map(({ id }) => id)).toEqual(["d"]);
    await hf.reindex();
    await hf.close();
    const languages = await ground.driver.read("SELECT DISTINCT language FROM index_segments WHERE items > 0", []);
    expect(languages.map(({ language }) => language)).toEqual(["german"]);
    const other = await open(ground.url);
    expect(await other.memory.search("haus", { agent: "a" })).toHaveLength(1);
    await other.close();
  });

  test("TI4 reindex repairs damaged pages, and changes the language", async () => {
    const hf = await open(ground.url, { search: { language: "none" } });
    await hf.history.appendMany(scope, numbered(20, "cats"));
    const progress: number[] = [];
    const report = await hf.reindex({ onProgress: ({ units, total }) => progress.push(units, total) });
    expect(report).toMatchObject({ language: "none", items: 20, pending: 0 });
    expect((await hf.search("cat")).hits).toHaveLength(0);
    await hf.close();

    await ground.driver.transact(function* () {
      yield { statements: [{ kind: "query", sql: "UPDATE index_pages SET body = first", params: [] }], last: true };
    });
    const again = await open(ground.url);
    await expect(again.search("cats")).rejects.toMatchObject({ code: "StoreCorrupted" });
    expect(await again.reindex({ language: "english" })).toMatchObject({ language: "english", items: 20 });
    expect((await again.search("cat", { limit: 100 })).hits).toHaveLength(20);
    await expect(again.reindex({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "Aborted" });
    await again.close();
  });
});
