// The suite of the embeddings contract: what waits is embedded, once and only while it is there; failures; other embedders.
import assert from "node:assert/strict";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { embeddingModelCases } from "./embeddings-models.ts";
import { passageCases } from "./embeddings-passages.ts";
import { searchCases } from "./embeddings-search.ts";
import { until } from "./eventually.ts";
import { createTestEmbedder, vectorOf } from "./test-embedder.ts";

export function runEmbeddingsSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(
    `embeddings: ${name}`,
    [...queueCases, ...failureCases, ...embeddingModelCases, ...passageCases, ...searchCases],
    make,
    options,
  );
}

const texts = (...contents: readonly string[]) => contents.map((content) => ({ id: content, content }));

/** The documents' embeddings, by their ids. */
async function embeddingsIn(hf: Pick<Holdfast, "vectors">, ids: readonly string[]) {
  const documents = await hf.vectors.get(ids);
  return Object.fromEntries(
    documents.map(({ id, embedding }) => [id, embedding?.map((one) => Math.fround(one)) ?? null]),
  );
}

function expectedEmbeddings(id: string, ids: readonly string[], dimensions = 4) {
  return Object.fromEntries(ids.map((one) => [one, vectorOf(id, one, dimensions).map(Math.fround)]));
}

const queueCases: readonly Case[] = [
  prove(
    "EM4 without an embedder nothing is embedded, and the status says so",
    ["vectors", "embeddings"],
    async (hf) => {
      await hf.vectors.add(texts("one", "two"));
      const status = await hf.embeddings.status();
      assert.deepEqual([status.embedder, status.model, status.failure], [null, null, null]);
      assert.deepEqual(status.kinds.documents, { pending: 2, failing: 0, parked: 0, foreign: 0 });
      assert.deepEqual(await embeddingsIn(hf, ["one", "two"]), { one: null, two: null });
      await refuses("MissingDependency", () => hf.embeddings.wait());
      await refuses("MissingDependency", () => hf.embeddings.adopt());
      assert.equal(await hf.embeddings.retry(), 0);
    },
  ),

  prove(
    "EM4 what was stored before is embedded when the store has an embedder",
    ["vectors", "another"],
    async (given) => {
      await given.vectors.add([
        ...texts("one", "two"),
        { id: "image", content: [{ type: "image", source: { url: "https://example.org/a.png" } }] },
      ]);
      const embedder = createTestEmbedder();
      const hf = await given.another({ embedder });
      const status = await hf.embeddings.wait();
      assert.deepEqual(status.kinds.documents, { pending: 0, failing: 0, parked: 0, foreign: 0 });
      assert.equal(status.model, embedder.id);
      const expected = { ...expectedEmbeddings(embedder.id, ["one", "two"]), image: null };
      assert.deepEqual(await embeddingsIn(given, ["one", "two", "image"]), expected);
      const collection = present(await hf.vectors.getCollection("default"));
      assert.deepEqual([collection.model, collection.embedded], [embedder.id, 2]);
      const [match] = await given.vectors.search(vectorOf(embedder.id, "two", 4), { limit: 1 });
      assert.equal(match?.id, "two");
    },
  ),

  prove(
    "EM4 a write does not wait for the embedder, and each text is embedded once",
    ["another"],
    async ({ another }) => {
      const embedder = createTestEmbedder();
      const [a, b] = [await another({ embedder }), await another({ embedder })];
      embedder.hold();
      const ids = range(40).map((n) => `text ${n}`);
      for (const [n, id] of ids.entries()) await (n % 2 === 0 ? a : b).vectors.add(texts(id));
      embedder.release();
      await a.embeddings.wait();
      assert.deepEqual([...embedder.embedded].sort(), [...ids].sort());
      assert.deepEqual(await embeddingsIn(b, ids), expectedEmbeddings(embedder.id, ids));
    },
  ),

  prove(
    "EM4 an embedding is not stored when its text has changed or gone meanwhile",
    ["another"],
    async ({ another }) => {
      const embedder = createTestEmbedder();
      const hf = await another({ embedder });
      embedder.hold();
      await hf.vectors.add([
        { id: "a", content: "old" },
        { id: "b", content: "erased" },
        { id: "c", content: "stays" },
      ]);
      await embedder.waiting();
      await hf.vectors.upsert([{ id: "a", content: "new" }]);
      await hf.vectors.delete(["b"]);
      embedder.release();
      await hf.embeddings.wait();
      const [a, c] = await hf.vectors.get(["a", "b", "c"]);
      assert.deepEqual(a?.embedding, vectorOf(embedder.id, "new", 4).map(Math.fround));
      assert.deepEqual(c?.embedding, vectorOf(embedder.id, "stays", 4).map(Math.fround));
      assert.equal(present(await hf.vectors.getCollection("default")).embedded, 2);
      const found = await hf.vectors.search(vectorOf(embedder.id, "old", 4), { limit: 10 });
      assert.deepEqual(found.map(({ id }) => id).sort(), ["a", "c"]);
    },
  ),

  prove(
    "EM4 searches find late embeddings beside those that were given, with filters",
    ["another"],
    async ({ another }) => {
      const embedder = createTestEmbedder();
      const hf = await another({ embedder });
      const vector = (text: string) => vectorOf(embedder.id, text, 4);
      const search = (text: string, filter = {}) => hf.vectors.search(vector(text), { limit: 3, ...filter });
      embedder.hold();
      await hf.vectors.add([{ id: "late", content: "late", metadata: { n: 1 } }]);
      await hf.vectors.add([{ id: "given", content: "given", embedding: vector("given"), metadata: { n: 2 } }], {
        model: embedder.id,
      });
      assert.deepEqual(
        (await search("late")).map(({ id }) => id),
        ["given"],
      );
      embedder.release();
      await hf.embeddings.wait();
      assert.equal((await search("late"))[0]?.id, "late");
      assert.equal((await search("given"))[0]?.id, "given");
      assert.deepEqual(
        (await search("given", { filter: { n: 1 } })).map(({ id }) => id),
        ["late"],
      );
      assert.equal(await hf.vectors.delete(["late"]), 1);
      assert.deepEqual(
        (await search("late")).map(({ id }) => id),
        ["given"],
      );
    },
  ),

  prove("EM7 a search takes a text, which the embedder embeds as a question", ["vectors", "another"], async (given) => {
    const embedder = createTestEmbedder();
    const kinds: string[] = [];
    const embed: typeof embedder.embed = (batch, options) => {
      kinds.push(options.kind);
      return embedder.embed(batch, options);
    };
    const hf = await given.another({ embedder: { ...embedder, embed } });
    assert.deepEqual(await hf.vectors.search("none yet"), []);
    await hf.vectors.add(texts("one", "two", "three"));
    await hf.embeddings.wait();
    kinds.length = 0;
    const [match] = await hf.vectors.search("two", { limit: 1 });
    assert.equal(match?.id, "two");
    assert.ok(present(match).score > 0.999);
    assert.deepEqual(kinds, ["query"]);
    assert.deepEqual(await hf.vectors.search(" "), []);
    await refuses("InvalidText", () => hf.vectors.search("\ud800"));
    await refuses("InvalidArgument", () => hf.vectors.search("two", { model: "another" }));
    await refuses("InvalidArgument", () => given.vectors.search("two", { mode: "hybrid" }));
    await hf.vectors.add([{ id: "own", content: "own", embedding: [1, 2, 3, 4] }], { collection: "mine" });
    await refuses("EmbeddingMismatch", () => hf.vectors.search("two", { collection: "mine", mode: "vector" }));
    embedder.outage = new TypeError("down: secret");
    await refuses("EmbeddingFailed", () => hf.vectors.search("two", { mode: "hybrid" }));
    const byWords = await hf.vectors.search("two");
    assert.deepEqual([byWords.mode, byWords.map(({ id }) => id)], ["text", ["two"]]);
    assert.match(byWords.warning ?? "", /words only.*it threw TypeError/);
    assert.ok(!byWords.warning?.includes("secret"));
  }),

  prove("EM4 a handle that closes leaves its work to others", ["another"], async ({ another }) => {
    const [first, second] = [createTestEmbedder(), createTestEmbedder()];
    const a = await another({ embedder: first });
    first.hold();
    await a.vectors.add(texts("one", "two", "three"));
    await first.waiting();
    await a.close();
    const b = await another({ embedder: second });
    await b.embeddings.wait();
    assert.deepEqual([...second.embedded].sort(), ["one", "three", "two"]);
    assert.deepEqual(first.embedded, []);
    first.release();
  }),
];

const failureCases: readonly Case[] = [
  prove(
    "EM5 an embedder that does not answer in time has failed, and another process embeds",
    ["another"],
    async (given) => {
      const [silent, other] = [createTestEmbedder(), createTestEmbedder()];
      silent.hold();
      const a = await given.another({ embedder: silent, embeddings: { timeoutMs: 20 } });
      const { id } = await a.memory.save("Ada has a puppy");
      await a.history.append({ session: "s", agent: "a" }, { role: "user", content: "My puppy sleeps." });
      const failure = await until(async () => (await a.embeddings.status()).failure);
      assert.deepEqual([failure.embedder, failure.reason], [silent.id, "Timeout"]);
      const b = await given.another({ embedder: other });
      await b.embeddings.retry();
      await b.embeddings.wait();
      assert.equal(other.embedded.length, 2);
      const hits = await a.memory.search("puppy");
      assert.deepEqual([hits.mode, hits.map((hit) => hit.id)], ["text", [id]]);
      assert.match(hits.warning ?? "", /Timeout/);
      const { mode, warning } = await a.search("puppy");
      assert.equal(mode, "text");
      assert.match(warning ?? "", /Timeout, a moment ago/);
      assert.deepEqual(silent.embedded, []);
      await refuses("InvalidArgument", () => given.another({ embedder: silent, embeddings: { timeoutMs: 0 } }));
      silent.release();
    },
  ),

  prove(
    "EM5 a text that fails is parked, the others of its batch are embedded",
    ["another", "check"],
    async (given) => {
      const embedder = createTestEmbedder();
      embedder.poison.add("bad");
      const hf = await given.another({ embedder });
      const ids = ["one", "two", "bad", "three", "four"];
      await hf.vectors.add(texts(...ids));
      const status = await hf.embeddings.wait();
      assert.deepEqual(status.kinds.documents, { pending: 0, failing: 0, parked: 1, foreign: 0 });
      assert.equal(status.failure, null);
      const good = ids.filter((id) => id !== "bad");
      assert.deepEqual(await embeddingsIn(hf, ids), { ...expectedEmbeddings(embedder.id, good), bad: null });
      const [failure] = await hf.embeddings.failures();
      assert.deepEqual([failure?.collection, failure?.id, failure?.nextTryAt], ["default", "bad", null]);
      assert.equal(failure?.reason, "HTTP 400", "a reason repeats no text");
      embedder.poison.clear();
      assert.equal(await hf.embeddings.retry(), 1);
      await hf.embeddings.wait();
      assert.deepEqual(await embeddingsIn(hf, ids), expectedEmbeddings(embedder.id, ids));
      assert.deepEqual(await hf.embeddings.failures(), []);
      const [match] = await hf.vectors.search(vectorOf(embedder.id, "bad", 4), { limit: 1 });
      assert.equal(match?.id, "bad");
      assert.deepEqual((await given.check()).issues, []);
    },
  ),

  prove("EM5 stats shows what waits, what failed, and the model", ["embeddings", "another"], async (given) => {
    const embedder = createTestEmbedder();
    embedder.poison.add("bad");
    const plain = await given.another();
    const { model: none, embedder: noEmbedder } = (await plain.stats()).embeddings;
    assert.deepEqual([none, noEmbedder], [null, null]);
    const hf = await given.another({ embedder });
    await hf.vectors.add(texts("bad"));
    await hf.embeddings.wait();
    embedder.hold();
    // In collections of its own, without a model of the same length, and with embeddings of the caller's.
    await hf.vectors.createCollection("empty", { dimension: 4 });
    await hf.vectors.createCollection("longer", { dimension: 5 });
    for (const collection of ["default", "empty", "longer"]) await hf.vectors.add(texts("one", "two"), { collection });
    await hf.memory.save("Ada drinks tea");
    await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: "hello" });
    const { embeddings } = await hf.stats();
    assert.deepEqual(embeddings.kinds, {
      documents: { pending: 4, failing: 0, parked: 1, foreign: 2 },
      memories: { pending: 1, failing: 0, parked: 0, foreign: 0 },
      messages: { pending: 1, failing: 0, parked: 0, foreign: 0 },
    });
    assert.deepEqual([embeddings.model, embeddings.failure], [embedder.id, null]);
    assert.deepEqual(embeddings, await hf.embeddings.status());
    assert.equal((await plain.stats()).embeddings.kinds.documents.parked, 1);
    embedder.release();
    const { kinds } = await hf.embeddings.wait();
    assert.deepEqual((await hf.stats()).embeddings.kinds, kinds);
    assert.deepEqual(kinds.documents, { pending: 0, failing: 0, parked: 1, foreign: 2 });
  }),

  prove("EM5 a failed text that is deleted is forgotten", ["another"], async ({ another }) => {
    const embedder = createTestEmbedder();
    for (const id of ["a", "b"]) embedder.poison.add(id);
    const hf = await another({ embedder });
    await hf.vectors.add(texts("a"));
    await hf.vectors.add(texts("b"), { collection: "other" });
    await hf.embeddings.wait();
    assert.equal((await hf.embeddings.failures({ limit: 1 })).length, 1);
    assert.equal((await hf.embeddings.status()).kinds.documents.parked, 2);
    await hf.vectors.delete(["a"]);
    await hf.vectors.deleteCollection("other");
    assert.deepEqual(await hf.embeddings.failures(), []);
    assert.equal((await hf.embeddings.status()).kinds.documents.parked, 0);
  }),

  prove(
    "EM5 a failure of the embedder parks nothing, is shown to all, and passes",
    ["embeddings", "clock", "another"],
    async (given) => {
      const embedder = createTestEmbedder();
      embedder.outage = Object.assign(new Error("wrong key: secret"), {
        status: 401,
        retryable: false,
        code: "invalid_api_key",
      });
      const hf = await given.another({ embedder });
      await hf.vectors.add(texts("one", "two"));
      const failure = await until(async () => (await given.embeddings.status()).failure);
      assert.deepEqual([failure.embedder, failure.reason], [embedder.id, "HTTP 401 invalid_api_key"]);
      assert.ok(failure.nextTryAt > failure.at);
      await until(async () => {
        await given.clock.advance(3000);
        return ((await given.embeddings.status()).failure?.attempts ?? 0) >= 2;
      });
      assert.deepEqual((await hf.embeddings.status()).kinds.documents, {
        pending: 2,
        failing: 0,
        parked: 0,
        foreign: 0,
      });
      embedder.outage = null;
      await hf.embeddings.retry();
      assert.equal((await hf.embeddings.wait()).failure, null);
      assert.equal(embedder.embedded.filter((text) => text === "one" || text === "two").length, 2);
    },
  ),

  prove(
    "EM5 a text whose failure may pass is tried again later, and the others do not wait for it",
    ["clock", "another"],
    async (given) => {
      const embedder = createTestEmbedder();
      const flaky = { ...embedder, embed: flakyEmbed(embedder) };
      const hf = await given.another({ embedder: flaky });
      await hf.vectors.add(texts("one", "flaky", "two"));
      await until(async () => (await hf.embeddings.status()).kinds.documents.failing === 1);
      assert.deepEqual([...embedder.embedded].filter((text) => text !== "ok").sort(), ["one", "two"]);
      const [failure] = await hf.embeddings.failures();
      assert.ok(failure?.nextTryAt !== null && failure !== undefined);
      await given.clock.advance(40_000);
      assert.deepEqual((await hf.embeddings.wait()).kinds.documents, { pending: 0, failing: 0, parked: 0, foreign: 0 });
      assert.ok(embedder.embedded.includes("flaky"));
    },
  ),

  prove("EM5 retry tries again also what a request under way fails with", ["another"], async ({ another }) => {
    const embedder = createTestEmbedder();
    let calls = 0;
    let failures: unknown = null;
    // The text alone fails once more after the probe has succeeded.
    const embed: typeof embedder.embed = async (batch, options) => {
      const vectors = await embedder.embed(batch, options);
      if (batch.includes("one") && ++calls <= 2) throw Object.assign(new Error("busy"), { status: 500 });
      if (calls === 3) failures = await hf.embeddings.failures();
      return vectors;
    };
    const hf = await another({ embedder: { ...embedder, embed } });
    embedder.hold();
    await hf.vectors.add(texts("one"));
    await embedder.waiting();
    assert.equal((await hf.embeddings.wait({ timeoutMs: 0 })).timedOut, true);
    assert.equal(await hf.embeddings.retry(), 0);
    embedder.release();
    const { kinds, timedOut } = await hf.embeddings.wait();
    assert.deepEqual([kinds.documents.failing, timedOut, calls], [0, false, 3]);
    assert.deepEqual(failures, [], "the request that retry() overtook blamed nothing");
  }),

  prove("EM5 a short outage is not blamed on a text that is alone", ["another"], async ({ another }) => {
    const embedder = createTestEmbedder();
    let calls = 0;
    let failures: unknown = null;
    const embed: typeof embedder.embed = async (batch, options) => {
      if (++calls === 1) throw Object.assign(new Error("busy"), { status: 500 });
      if (calls === 3) failures = await hf.embeddings.failures();
      return embedder.embed(batch, options);
    };
    const hf = await another({ embedder: { ...embedder, embed } });
    await hf.vectors.add(texts("one"));
    await hf.embeddings.wait();
    assert.deepEqual(failures, [], "the text was tried again before it was blamed");
    assert.deepEqual(await embeddingsIn(hf, ["one"]), expectedEmbeddings(embedder.id, ["one"]));
  }),

  prove("EM5 retry leaves parked texts parked if it is told to", ["another"], async ({ another }) => {
    const embedder = createTestEmbedder();
    embedder.poison.add("bad");
    const hf = await another({ embedder });
    await hf.vectors.add(texts("bad"));
    await hf.embeddings.wait();
    assert.equal(await hf.embeddings.retry({ parked: false }), 0);
    assert.equal((await hf.embeddings.status()).kinds.documents.parked, 1);
    assert.equal(await hf.embeddings.retry(), 1);
  }),

  prove(
    "EM5 an embedder that returns something unusable is a failure of the embedder",
    ["another"],
    async ({ another }) => {
      const embedder = { ...createTestEmbedder(), embed: async (batch: readonly string[]) => batch.map(() => [1, 2]) };
      const hf = await another({ embedder });
      await hf.vectors.add(texts("one"));
      const failure = await until(async () => (await hf.embeddings.status()).failure);
      assert.equal(failure.reason, "it returned a vector of 2 numbers instead of 4");
      const found = await hf.vectors.search("one");
      assert.deepEqual([found.mode, found.length], ["text", 1]);
      assert.match(found.warning ?? "", /no document has an embedding yet.*2 numbers instead of 4/);
      assert.deepEqual(await embeddingsIn(hf, ["one"]), { one: null });
    },
  ),

  prove("EM5 a vector that the collection cannot store parks its text", ["another"], async ({ another }) => {
    const plain = createTestEmbedder();
    const embed = async (batch: readonly string[]) =>
      batch.map((text) => (text === "zero" ? [0, 0, 0, 0] : vectorOf(plain.id, text, 4)));
    const hf = await another({ embedder: { ...plain, embed } });
    await hf.vectors.add(texts("one", "zero"));
    assert.equal((await hf.embeddings.wait()).kinds.documents.parked, 1);
    assert.equal((await hf.embeddings.failures())[0]?.reason, "its vector is all zeros, or too large");
  }),
];

/** "flaky" fails twice, with whatever else is in the call. */
function flakyEmbed(embedder: ReturnType<typeof createTestEmbedder>): typeof embedder.embed {
  let failures = 0;
  return async (batch, options) => {
    if (batch.includes("flaky") && failures < 3) {
      failures++;
      throw new Error("busy");
    }
    return embedder.embed(batch, options);
  };
}
