// The cases of the embeddings contract about other embedders: generations, and embeddings that the caller gives.
import assert from "node:assert/strict";
import { present, range } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { until } from "./eventually.ts";
import { createTestEmbedder, type TestEmbedder, vectorOf } from "./test-embedder.ts";

const IDS = range(30).map((n) => `text ${n}`);
const DOCUMENTS = IDS.map((id) => ({ id, content: id }));

export const embeddingModelCases: readonly Case[] = [
  prove(
    "EM6 what a new embedder has to embed counts as soon as the store is open with it",
    ["another"],
    async (given) => {
      const [first, second] = [createTestEmbedder(), createTestEmbedder("test/b@4")];
      const before = await given.another({ embedder: first });
      await before.vectors.add([{ id: "one", content: "one" }]);
      await before.memory.save("Ada drinks tea");
      await before.embeddings.wait();
      await before.close();
      second.hold();
      const hf = await given.another({ embedder: second });
      const { model, kinds } = await hf.embeddings.status();
      assert.deepEqual([model, kinds.documents.pending, kinds.memories.pending], [second.id, 1, 1]);
      const { mode, waiting } = await hf.memory.search("tea");
      assert.deepEqual([mode, waiting], ["text", 1]);
      second.release();
      await hf.embeddings.wait();
      assert.equal((await hf.memory.search("tea")).waiting, 0);
    },
  ),

  prove(
    "EM6 another embedder embeds everything again; the old embeddings answer meanwhile",
    ["another", "check"],
    async (given) => {
      const [old, fresh] = [createTestEmbedder("test/a@4", 4), createTestEmbedder("test/b@6", 6)];
      const a = await given.another({ embedder: old });
      await a.vectors.add(DOCUMENTS);
      await a.embeddings.wait();
      await a.close();
      fresh.hold();
      const b = await given.another({ embedder: fresh });
      await fresh.waiting();
      const oldQuery = vectorOf(old.id, "text 7", 4);
      assert.equal((await b.vectors.search(oldQuery, { limit: 1 }))[0]?.id, "text 7");
      assert.equal((await b.embeddings.status()).kinds.documents.pending, IDS.length);
      await b.vectors.delete(["text 3"]);
      await b.vectors.add([{ id: "added", content: "added" }]);
      fresh.release();
      assert.equal((await b.embeddings.wait()).kinds.documents.pending, 0);
      assert.equal((await b.vectors.search(vectorOf(fresh.id, "text 7", 6), { limit: 1 }))[0]?.id, "text 7");
      assert.equal((await b.vectors.search(vectorOf(fresh.id, "added", 6), { limit: 1 }))[0]?.id, "added");
      await assert.rejects(() => b.vectors.search(oldQuery), { code: "EmbeddingMismatch" });
      const collection = present(await b.vectors.getCollection("default"));
      assert.deepEqual(
        [collection.model, collection.embedded, collection.documents],
        [fresh.id, IDS.length, IDS.length],
      );
      assert.equal(fresh.embedded.filter((text) => text === "text 7").length, 1);
      await b.close();
      assert.deepEqual((await given.check()).issues, []);
    },
  ),

  prove("EM6 a rebuild that was cut off goes on where it was", ["another"], async ({ another }) => {
    const old = createTestEmbedder();
    const a = await another({ embedder: old });
    await a.vectors.add(DOCUMENTS);
    await a.embeddings.wait();
    await a.close();
    const [first, second] = [createTestEmbedder("test/b@6", 6), createTestEmbedder("test/b@6", 6)];
    const stops = { ...first, embed: stopAfter(first, 2) };
    const b = await another({ embedder: stops });
    await until(async () => first.embedded.length === 16);
    await b.close();
    const c = await another({ embedder: second });
    await c.embeddings.wait();
    const all = [...first.embedded, ...second.embedded].filter((text) => text !== "ok");
    assert.deepEqual([...all].sort(), [...IDS].sort(), "no text is embedded twice");
    assert.ok(first.embedded.length > 0);
    assert.equal((await c.vectors.search(vectorOf(second.id, "text 9", 6), { limit: 1 }))[0]?.id, "text 9");
  }),

  prove(
    "EM6 an embedder that the store has left embeds nothing until it is adopted",
    ["another"],
    async ({ another }) => {
      const [one, two] = [createTestEmbedder("test/a@4"), createTestEmbedder("test/b@4")];
      const a = await another({ embedder: one });
      await a.vectors.add(DOCUMENTS);
      await a.embeddings.wait();
      const b = await another({ embedder: two });
      await b.embeddings.wait();
      const count = one.embedded.length;
      await a.vectors.add([{ id: "later", content: "later" }]);
      await b.embeddings.wait();
      assert.equal((await a.embeddings.status()).embedder?.state, "left");
      assert.equal((await b.embeddings.status()).embedder?.state, "current");
      assert.equal(one.embedded.length, count);
      assert.equal((await a.vectors.search(vectorOf(two.id, "later", 4), { limit: 1, model: two.id }))[0]?.id, "later");
      const status = await a.embeddings.adopt();
      assert.deepEqual([status.model, status.embedder?.state], [one.id, "current"]);
      await a.embeddings.wait();
      assert.equal(present(await a.vectors.getCollection("default")).model, one.id);
      assert.equal((await b.embeddings.status()).embedder?.state, "left");
    },
  ),

  prove("EM6 embeddings of a model of the caller's are left alone", ["another"], async ({ another }) => {
    const embedder = createTestEmbedder();
    const hf = await another({ embedder });
    const own = [
      { id: "own", content: "own", embedding: [1, 2, 3] },
      { id: "none", content: "none" },
    ];
    await hf.vectors.add(own, { collection: "mine", model: "mine" });
    await hf.vectors.add(own, { collection: "unnamed" });
    await hf.vectors.add([{ id: "one", content: "one" }]);
    const status = await hf.embeddings.wait();
    assert.deepEqual(status.kinds.documents, { pending: 0, failing: 0, parked: 0, foreign: 2 });
    assert.deepEqual(embedder.embedded, ["one"]);
    for (const collection of ["mine", "unnamed"]) {
      const [document] = await hf.vectors.get(["own"], { collection });
      assert.deepEqual(document?.embedding, [1, 2, 3]);
    }
  }),

  prove(
    "EM6 an empty collection of the embedder's dimension becomes its collection",
    ["another"],
    async ({ another }) => {
      const embedder = createTestEmbedder();
      const hf = await another({ embedder });
      await hf.vectors.createCollection("dots", { dimension: 4, metric: "dot", precision: "f16" });
      await hf.vectors.add([{ id: "one", content: "one" }], { collection: "dots" });
      await hf.embeddings.wait();
      const collection = present(await hf.vectors.getCollection("dots"));
      assert.deepEqual(
        [collection.model, collection.metric, collection.precision, collection.embedded],
        [embedder.id, "dot", "f16", 1],
      );
    },
  ),

  prove(
    "EM6 a text that fails for a new embedder waits for it, and does not hold up the others",
    ["another"],
    async ({ another }) => {
      const [old, fresh] = [createTestEmbedder("test/a@4"), createTestEmbedder("test/b@4")];
      const a = await another({ embedder: old });
      await a.vectors.add(DOCUMENTS);
      await a.embeddings.wait();
      await a.close();
      fresh.poison.add("text 5");
      const b = await another({ embedder: fresh });
      const status = await b.embeddings.wait();
      assert.deepEqual(status.kinds.documents, { pending: 0, failing: 0, parked: 1, foreign: 0 });
      assert.equal(present(await b.vectors.getCollection("default")).model, fresh.id);
      assert.equal((await b.vectors.get(["text 5"]))[0]?.embedding, null);
      fresh.poison.clear();
      await b.embeddings.retry();
      await b.embeddings.wait();
      assert.equal((await b.vectors.search(vectorOf(fresh.id, "text 5", 4), { limit: 1 }))[0]?.id, "text 5");
    },
  ),

  prove(
    "EM6 a text that failed for the old embedder is embedded once by the new one, and its failure is forgotten",
    ["another", "check"],
    async (given) => {
      const [old, fresh] = [createTestEmbedder("test/a@4"), createTestEmbedder("test/b@4")];
      const bad = ["bad document", "bad memory", "bad message"] as const;
      for (const text of bad) old.poison.add(text);
      const a = await given.another({ embedder: old });
      await a.vectors.add(["fine document", bad[0]].map((id) => ({ id, content: id })));
      for (const text of ["fine memory", bad[1]]) await a.memory.save(text);
      for (const content of ["fine message", bad[2]]) {
        await a.history.append({ session: "s", agent: "a" }, { role: "user", content });
      }
      await a.embeddings.wait();
      assert.equal((await a.embeddings.failures()).length, bad.length);
      await a.close();
      const without = await given.another({});
      assert.equal(await without.embeddings.retry(), bad.length);
      await without.close();
      const b = await given.another({ embedder: fresh });
      const { kinds } = await b.embeddings.wait({ timeoutMs: 10_000 });
      const nothing = { pending: 0, failing: 0, parked: 0, foreign: 0 };
      assert.deepEqual(kinds, { documents: nothing, memories: nothing, messages: nothing });
      assert.deepEqual(fresh.embedded.filter((text) => text.startsWith("bad")).sort(), bad);
      assert.deepEqual(await b.embeddings.failures(), []);
      assert.deepEqual((await given.check()).issues, []);
    },
  ),
];

/** Later calls never end. */
function stopAfter(embedder: TestEmbedder, calls: number): TestEmbedder["embed"] {
  let count = 0;
  return async (texts, options) => {
    if (++count > calls) embedder.hold();
    return embedder.embed(texts, options);
  };
}
