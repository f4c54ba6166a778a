// Searches of documents by text: what is found by words, by words and embeddings together, and that both are of one moment.
import assert from "node:assert/strict";
import type { MetadataFilter } from "../../contracts/metadata-filter.ts";
import type { TextMatches } from "../../contracts/vectors.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { createTestEmbedder, vectorOf } from "./test-embedder.ts";

const idsOf = (matches: TextMatches) => matches.map(({ id }) => id);
const COLLECTION = { collection: "drinks" };

const DRINKS = [
  { id: "green", content: "Green tea is brewed below 80 °C.", metadata: { year: 2021, kind: "tea" } },
  { id: "black", content: "Black tea needs boiling water.", metadata: { year: 2019, kind: "tea" } },
  { id: "espresso", content: "Espresso needs nine bar of pressure.", metadata: { year: 2019, kind: "coffee" } },
  { id: "matcha", content: "Matcha: powdered green leaves.", metadata: { year: 2023, kind: "tea" } },
] as const;

const PORTS = [
  { id: "de", content: "Alte Häuser am Hafen, die Segel sind aus gutem Leinen. Nginx läuft.", language: "german" },
  { id: "en", content: "Old houses at the harbour never die of cold winds. Nginx runs." },
  { id: "fr", content: "Des maisons anciennes au port et leurs voiles toutes blanches. Nginx va.", language: "french" },
  { id: "english", content: "New houses far from any wind or from the water. Nginx runs.", language: "english" },
  { id: "none", content: "Wharves, piers and other places of ships and of people. Nginx runs.", language: "none" },
] as const;

export const vectorTextCases: readonly Case[] = [
  prove(
    "ME15 documents are found by words, without an embedder, and the result says so",
    ["vectors"],
    async (given) => {
      const { vectors } = given;
      await vectors.add(DRINKS, COLLECTION);
      const found = await vectors.search("green teas", COLLECTION);
      assert.equal(found.mode, "text");
      assert.deepEqual(idsOf(found), ["green", "matcha", "black"]);
      const [best] = found;
      assert.deepEqual(best?.content, [{ type: "text", text: "Green tea is brewed below 80 °C." }]);
      assert.deepEqual(best?.metadata, { year: 2021, kind: "tea" });
      assert.deepEqual(best?.signals, [{ name: "text", value: best?.score, weight: 1 }]);
      assert.equal(best?.similarity, null);
      assert.deepEqual(best?.snippet.highlights, [
        [0, 5],
        [6, 9],
      ]);
      for (const [i, { score }] of found.entries()) assert.ok(score > 0 && score <= (found[i - 1]?.score ?? 1));
      assert.equal((await vectors.search("green tea", { ...COLLECTION, limit: 1 })).length, 1);
      assert.deepEqual(idsOf(await vectors.search('"green tea"', COLLECTION)), ["green"]);
      assert.deepEqual(idsOf(await vectors.search("tea -boiling", COLLECTION)), ["green"]);
      assert.deepEqual(idsOf(await vectors.search("espr*", COLLECTION)), ["espresso"]);
      for (const nothing of ["wine", "", "  ", "-tea", "☕"]) {
        const none = await vectors.search(nothing, COLLECTION);
        assert.deepEqual([none, none.mode], [[], "text"]);
      }
      assert.deepEqual(await vectors.search("tea", { collection: "missing" }), []);
    },
  ),

  prove("ME15 filters hold for what words find", ["vectors"], async ({ vectors }) => {
    await vectors.add(DRINKS, COLLECTION);
    const expected: readonly (readonly [filter: MetadataFilter, ids: readonly string[]])[] = [
      [{}, ["green", "black"]],
      [{ year: { gte: 2020 } }, ["green"]],
      [{ not: { year: 2021 } }, ["black"]],
      [{ year: 1999 }, []],
      [{ "'; DROP TABLE documents; --": 1 }, []],
    ];
    for (const [filter, ids] of expected) {
      assert.deepEqual(idsOf(await vectors.search("tea", { ...COLLECTION, filter })).sort(), [...ids].sort());
    }
    await refuses("InvalidArgument", () =>
      vectors.search("tea", { ...COLLECTION, filter: { year: { like: "2%" } } as unknown as MetadataFilter }),
    );
    for (const query of ["' OR 1=1 --", '" OR ""="', "tea*'); DROP TABLE documents", "$1 :items ?"]) {
      const found = await vectors.search(query, COLLECTION);
      assert.ok(found.every(({ id }) => DRINKS.some((one) => one.id === id)));
    }
    assert.equal((await vectors.search("tea", COLLECTION)).length, 2);
  }),

  prove(
    "ME15 what is written, replaced or deleted is found, or not, by the next search",
    ["vectors", "another"],
    async (given) => {
      const { vectors } = given;
      const other = (await given.another()).vectors;
      const both = async (query: string, ids: readonly string[]) => {
        for (const handle of [vectors, other]) assert.deepEqual(idsOf(await handle.search(query)).sort(), ids);
      };
      await vectors.add([
        { id: "a", content: "anchor" },
        { id: "b", content: [{ type: "text", text: "a boat" }] },
      ]);
      await both("anchor boat", ["a", "b"]);
      await other.upsert([{ id: "a", content: "a harbour" }]);
      await both("anchor", []);
      await both("harbour", ["a"]);
      await vectors.delete(["b"]);
      await both("boat", []);
      await other.deleteCollection("default");
      await both("harbour", []);
      await vectors.add([{ id: "c", content: "x".repeat(40_000) + " lighthouse" }]);
      await both("lighthouse", ["c"]);
    },
  ),

  prove("ME15 a search finds a document that is replaced all the time", ["vectors", "another"], async (given) => {
    const { vectors } = given;
    const other = (await given.another()).vectors;
    await vectors.add([
      { id: "steady", content: "sail" },
      { id: "moving", content: "sail 0" },
    ]);
    let isDone = false;
    const writing = (async () => {
      for (const n of range(20)) await other.upsert([{ id: "moving", content: `sail ${n}` }]);
      isDone = true;
    })();
    while (!isDone) assert.deepEqual(idsOf(await vectors.search("sail")).sort(), ["moving", "steady"]);
    await writing;
  }),

  prove("ME15 long documents count as wholes, and show their best passage", ["vectors"], async ({ vectors }) => {
    const filler = range(200)
      .map((n) => `filler${n}`)
      .join(" ");
    await vectors.add([
      { id: "once", content: `${filler} storm ${filler}` },
      { id: "twice", content: `${filler} storm ${filler} storm ${filler}` },
      { id: "never", content: filler },
    ]);
    const found = await vectors.search("storm");
    assert.deepEqual(idsOf(found), ["twice", "once"]);
    for (const { snippet } of found) {
      const [[start, end] = [0, 0]] = snippet.highlights;
      assert.deepEqual(
        [snippet.text.slice(start, end), snippet.isCutBefore, snippet.isCutAfter],
        ["storm", true, true],
      );
    }
  }),

  prove("ME15 the index can be made again", ["vectors", "another"], async ({ vectors, another }) => {
    const { reindex } = await another();
    await vectors.add(DRINKS, COLLECTION);
    await vectors.add([{ id: "x", content: "tea elsewhere" }], { collection: "other" });
    const before = await vectors.search("green tea water", COLLECTION);
    assert.equal(before.length, 3);
    await reindex();
    assert.deepEqual(await vectors.search("green tea water", COLLECTION), before);
    assert.equal(await vectors.delete(["green"], COLLECTION), 1);
    assert.deepEqual(idsOf(await vectors.search("green tea", COLLECTION)).sort(), ["black", "matcha"]);
    await vectors.upsert([{ id: "black", content: "coffee" }], COLLECTION);
    assert.deepEqual(idsOf(await vectors.search("tea coffee", COLLECTION)), ["black"]);
    await reindex();
    assert.deepEqual(idsOf(await vectors.search("green tea coffee", COLLECTION)).sort(), ["black", "matcha"]);
  }),

  prove("ME16 each document is found in its own language", ["vectors"], async ({ vectors }) => {
    const collection = "ports";
    await vectors.add(PORTS, { collection });
    const search = async (query: string, limit = 5) => idsOf(await vectors.search(query, { collection, limit }));
    const found = async (query: string) => (await search(query)).sort();
    // Stemmed: Häuser and Haus, houses and house, maisons and maison. Words of "none" stay as they are.
    assert.deepEqual(await found("Haus"), ["de"]);
    assert.deepEqual(await found("house"), ["en", "english"]);
    assert.deepEqual(await found("maison"), ["fr"]);
    assert.deepEqual([await found("wharves"), await found("wharf")], [["none"], []]);
    assert.deepEqual(await found("Haus house maison wharves"), ["de", "en", "english", "fr", "none"]);
    // German queries go without "die"; other documents have it as a word.
    assert.deepEqual(await found("die Leinwand"), ["en"]);
    // What a query demands and excludes holds in each language.
    assert.deepEqual(await found('"altes Haus"'), ["de"]);
    assert.deepEqual(await found('"old house"'), ["en"]);
    assert.deepEqual(await found("Nginx -Haus -maison"), ["en", "english", "none"]);
    assert.deepEqual(await found("hous* häus*"), ["de", "en", "english"]);
    const [best] = await vectors.search("Haus", { collection });
    assert.deepEqual(best?.snippet.highlights, [[5, 11]]);
    assert.ok(present(best).score > 0 && present(best).score <= 1);
    // A word of all languages says the same of each document, and the newer come first.
    assert.deepEqual(await search("Nginx", 2), ["none", "english"]);
    const all = await vectors.search("Nginx", { collection });
    assert.equal(new Set(all.map(({ score }) => score)).size, 1);
    assert.deepEqual(await found("missing"), []);
  }),

  prove("ME16 a document keeps its language, until it is written again", ["vectors", "another"], async (given) => {
    const { vectors } = given;
    const hf = await given.another();
    await vectors.add(PORTS.slice(0, 2));
    const languages = async () => (await vectors.get(["de", "en"])).map(({ language }) => language);
    assert.deepEqual(await languages(), ["german", null]);
    const found = async (query: string) => {
      const ids = idsOf(await vectors.search(query)).sort();
      assert.deepEqual(idsOf(await hf.vectors.search(query)).sort(), ids);
      return ids;
    };
    const both = async () => [await found("Haus"), await found("house")];
    assert.deepEqual(await both(), [["de"], ["en"]]);
    await hf.reindex();
    assert.deepEqual(await both(), [["de"], ["en"]]);
    assert.deepEqual((await hf.check({ mode: "deep" })).issues, []);
    // The language of the index changes for those that have none of their own.
    await hf.reindex({ language: "none" });
    assert.deepEqual(await both(), [["de"], []]);
    assert.deepEqual(await found("houses Haus"), ["de", "en"]);
    const [old] = await vectors.get(["de"]);
    await vectors.upsert([{ ...present(old), language: null }]);
    assert.deepEqual(
      [await languages(), await both()],
      [
        [null, null],
        [[], []],
      ],
    );
    await vectors.upsert([{ ...present(old), language: "english" }]);
    assert.deepEqual([await languages(), await found("Häuser"), await found("Haus")], [["english", null], ["de"], []]);
    await hf.reindex({ language: "english" });
    assert.deepEqual(await both(), [[], ["en"]]);
    for (const language of ["de", "", 1]) {
      const document = { content: "x", language: language as "german" };
      await refuses("InvalidArgument", () => vectors.add([document]));
    }
  }),

  prove("ME15 with an embedder, words and meaning are one ranking", ["another"], async ({ another }) => {
    const embedder = createTestEmbedder();
    const hf = await another({ embedder });
    await hf.vectors.add(DRINKS, COLLECTION);
    assert.equal((await hf.vectors.search("tea", COLLECTION)).mode, "text");
    await hf.embeddings.wait();
    const found = await hf.vectors.search("Green tea is brewed below 80 °C.", COLLECTION);
    assert.equal(found.mode, "hybrid");
    assert.equal(found.length, DRINKS.length);
    const [best] = found;
    assert.equal(best?.id, "green");
    assert.deepEqual(best?.signals, [
      { name: "text", value: 1, weight: 0.6 },
      { name: "vector", value: 1, weight: 0.4 },
    ]);
    assert.ok(present(best).score === 1 && (present(best).similarity ?? 0) > 0.999);
    for (const [i, { score, similarity }] of found.entries()) {
      assert.ok(score <= (found[i - 1]?.score ?? 1) && score >= 0);
      assert.notEqual(similarity, null);
    }
    // What words demand holds for what vectors find.
    assert.deepEqual(idsOf(await hf.vectors.search('"black tea"', COLLECTION)), ["black"]);
    assert.ok(!idsOf(await hf.vectors.search("tea -boiling", COLLECTION)).includes("black"));
    const filter = { year: 2019 };
    assert.deepEqual(idsOf(await hf.vectors.search("tea", { ...COLLECTION, filter })).sort(), ["black", "espresso"]);
    const late = await hf.vectors.search("tea", { ...COLLECTION, mode: "text" });
    assert.deepEqual([late.mode, idsOf(late).sort()], ["text", ["black", "green"]]);
    const near = await hf.vectors.search("tea", { ...COLLECTION, mode: "vector" });
    assert.deepEqual([near.mode, near.length], ["vector", DRINKS.length]);
    assert.deepEqual(
      present(near[0]).signals.map(({ name }) => name),
      ["vector"],
    );
  }),

  prove(
    "ME15 a mode that is not possible is an error, or text if none was wanted",
    ["vectors", "another"],
    async (given) => {
      const { vectors, another } = given;
      const hf = await another({ embedder: createTestEmbedder() });
      await vectors.add([{ id: "own", content: "own words", embedding: [1, 2, 3, 4] }], {
        collection: "mine",
        model: "m",
      });
      await refuses("InvalidArgument", () => vectors.search("words", { collection: "mine", mode: "hybrid" }));
      await refuses("EmbeddingMismatch", () => hf.vectors.search("words", { collection: "mine", mode: "vector" }));
      await refuses("InvalidArgument", () => hf.vectors.search([1, 2, 3, 4], { collection: "mine", mode: "text" }));
      const found = await hf.vectors.search("words", { collection: "mine" });
      assert.deepEqual([found.mode, idsOf(found)], ["text", ["own"]]);
      const prefixes = range(40).map((n) => `w${n}*`);
      await refuses("LimitExceeded", () => vectors.search(prefixes.join(" "), { collection: "mine" }));
    },
  ),

  prove(
    "ME15 a document that gets its embedding late is found by words all the time",
    ["another"],
    async ({ another }) => {
      const embedder = createTestEmbedder();
      const hf = await another({ embedder });
      embedder.hold();
      await hf.vectors.add([{ id: "late", content: "lantern" }]);
      await hf.vectors.add([{ id: "given", content: "compass", embedding: vectorOf(embedder.id, "compass", 4) }], {
        model: embedder.id,
      });
      assert.deepEqual(idsOf(await hf.vectors.search("lantern", { mode: "text" })), ["late"]);
      embedder.release();
      await hf.embeddings.wait();
      assert.deepEqual(idsOf(await hf.vectors.search("lantern", { mode: "text" })), ["late"]);
      assert.equal(await hf.vectors.delete(["late"]), 1);
      assert.deepEqual(idsOf(await hf.vectors.search("lantern", { mode: "text" })), []);
    },
  ),

  prove("ME15 what newcomers write first is answered with the right call", ["vectors"], async ({ vectors }) => {
    const wrong = vectors as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const attempts: readonly (readonly [call: () => Promise<unknown> | undefined, hint: RegExp])[] = [
      [() => wrong.search?.("docs", "tea"), /vectors\.search\("some words", \{ collection: "docs" \}\)/],
      [() => wrong.add?.("docs", [{ content: "tea" }]), /vectors\.add\(\[documentFromText\(/],
      [() => wrong.add?.({ content: "tea" }), /vectors\.add\(\[documentFromText\(/],
      [() => wrong.add?.([{ content: "tea" }], "docs"), /collection: "docs"/],
      [() => wrong.add?.(["tea"]), /documentFromText/],
      [() => wrong.get?.("docs", ["a"]), /collection: "docs"/],
    ];
    for (const [call, hint] of attempts) {
      const error = await refuses("InvalidArgument", async () => call());
      assert.match(error.hint ?? "", hint);
    }
    assert.match((await refuses("InvalidArgument", async () => wrong.search?.({ query: "tea" }))).message, /a text/);
  }),
];
