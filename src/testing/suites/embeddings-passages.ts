// Messages and memories are embedded in passages and found by meaning: what is found, that filters and scopes hold for vectors as for
// words, that each text is embedded once and leaves nothing when it is erased.
import assert from "node:assert/strict";
import type { Embedder } from "../../contracts/embedders.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, type CaseContext, prove } from "../suite.ts";
import { createMeaningEmbedder } from "./test-embedder.ts";

const NOTHING = { pending: 0, failing: 0, parked: 0, foreign: 0 };

type Stores = Pick<CaseContext, "another">;

async function openWith({ another }: Stores, embedder: Embedder = createMeaningEmbedder()): Promise<Holdfast> {
  return another({ embedder });
}

const SPEECH = [
  ["pets", "ada", "user", "My puppy sleeps all day."],
  ["pets", "ada", "assistant", "Mine runs in the garden."],
  ["pets", "ada", "user", "Good night!"],
  ["pets", "ada", "user", "The weather was fine, nothing else happened."],
  ["trips", "bob", "user", "We took the automobile to the sea."],
  ["trips", "bob", "assistant", "A hound was in the back of it."],
] as const;

async function speak({ history }: Pick<Holdfast, "history">): Promise<void> {
  for (const [session, agent, role, content] of SPEECH) await history.append({ session, agent }, { role, content });
}

async function found(hf: Pick<Holdfast, "search">, query: string, options: object = {}): Promise<readonly string[]> {
  return (await hf.search(query, options)).hits.map(({ passage }) => passage);
}

const messageCases: readonly Case[] = [
  prove("EM8 messages are found by meaning, and a hit says which signals matched", ["another"], async (given) => {
    const hf = await openWith(given);
    await speak(hf);
    const status = await hf.embeddings.wait();
    assert.deepEqual(status.kinds.messages, NOTHING);
    const { mode, hits, waiting, warning } = await hf.search("dog");
    assert.deepEqual([mode, waiting, warning], ["hybrid", 0, undefined]);
    assert.deepEqual(
      hits
        .slice(0, 2)
        .map(({ passage }) => passage)
        .sort(),
      [SPEECH[5][3], SPEECH[0][3]].sort(),
    );
    const [first] = hits;
    assert.deepEqual(
      first?.signals.map(({ name }) => name).filter((name) => name !== "role"),
      ["vector"],
    );
    assert.equal(hits.length, SPEECH.length, "the nearest messages are hits, however near they are");
    for (const [at, { score }] of hits.entries()) {
      assert.ok(score >= 0 && score <= 1 && score <= (hits[at - 1]?.score ?? 1), `${score} at ${at}`);
    }
    const both = present((await hf.search("puppy sleeps")).hits[0]);
    assert.equal(both.passage, SPEECH[0][3]);
    const names = new Set(both.signals.map(({ name }) => name));
    for (const name of ["text", "session", "vector"] as const) assert.ok(names.has(name), name);
  }),

  prove("EM8 filters, phrases and exclusions hold for vectors as for words", ["another"], async (given) => {
    const hf = await openWith(given);
    await speak(hf);
    await hf.sessions.create({ id: "tagged", tags: ["work"] });
    await hf.history.append({ session: "tagged", agent: "eve" }, { role: "user", content: "A dog at work." });
    await hf.embeddings.wait();
    const all = (await hf.search("hound", { limit: 100 })).hits;
    const allowed: readonly [object, (hit: (typeof all)[number]) => boolean][] = [
      [{ session: "pets" }, ({ session }) => session === "pets"],
      [{ agent: "bob" }, ({ agent }) => agent === "bob"],
      [{ role: "assistant" }, ({ role }) => role === "assistant"],
      [{ tag: "work" }, ({ session }) => session === "tagged"],
      [{ since: Number.MAX_SAFE_INTEGER }, () => false],
      [{ until: 1 }, () => false],
      [{ tool: "Bash" }, () => false],
    ];
    for (const [options, isAllowed] of allowed) {
      const expected = all.filter(isAllowed).map(({ id }) => id);
      const ids = (await hf.search("hound", { ...options, limit: 100 })).hits.map(({ id }) => id);
      assert.deepEqual(ids.toSorted(), expected.toSorted(), JSON.stringify(options));
    }
    assert.deepEqual(await found(hf, 'hound "runs in the garden"'), [SPEECH[1][3]]);
    assert.ok(!(await found(hf, "hound -puppy")).includes(SPEECH[0][3]));
    assert.deepEqual(await found(hf, "hound agent:bob -back"), [SPEECH[4][3]]);
    assert.deepEqual(await found(hf, "role:user"), [], "filters alone are no question");
    assert.equal((await hf.search("hound", { limit: 1 })).hits.length, 1);
    assert.equal((await hf.search("hound", { perSession: 1 })).hits.length, 3);
  }),

  prove("EM8 a message is embedded once, whatever sessions show it", ["another"], async (given) => {
    const embedder = createMeaningEmbedder();
    const hf = await openWith(given, embedder);
    await speak(hf);
    await hf.embeddings.wait();
    // Queries are words.
    const count = () => embedder.embedded.filter((text) => text.includes(" ")).length;
    assert.equal(count(), SPEECH.length);
    const head = await hf.heads.publish("pets");
    await hf.history.append({ session: "pets", agent: "ada" }, { role: "user", content: "The vehicle broke." });
    await hf.heads.publish("pets");
    await hf.sessions.fork("pets", { id: "fork" });
    await hf.embeddings.wait();
    assert.equal(count(), SPEECH.length + 1);
    assert.ok((await found(hf, "car", { session: "fork" })).includes("The vehicle broke."));
    assert.ok((await found(hf, "dog", { session: "fork" })).includes(SPEECH[0][3]));
    await hf.sessions.rewind({ session: "pets", head: head.id });
    assert.ok(!(await found(hf, "car", { session: "pets" })).includes("The vehicle broke."));
    assert.ok((await found(hf, "car")).includes("The vehicle broke."), "the fork shows it");
    await hf.embeddings.wait();
    assert.equal(count(), SPEECH.length + 1);
    assert.deepEqual((await hf.check()).issues, []);
  }),

  prove("EM8 a long message is found by the passage that is near", ["another"], async (given) => {
    const hf = await openWith(given);
    const plain = range(40).map((n) => `Sentence number ${n} is about nothing of note at all.`);
    const content = [...plain, "The hound came home in the evening, wet and hungry.", ...plain].join(" ");
    await hf.history.append({ session: "s", agent: "a" }, { role: "user", content });
    await hf.embeddings.wait();
    const [hit] = (await hf.search("puppy")).hits;
    assert.match(present(hit).passage, /hound/);
    assert.ok(present(hit).passage.length < content.length / 4);
  }),

  prove("EM8 searches answer by words while vectors are being made, and say what waits", ["another"], async (given) => {
    const embedder = createMeaningEmbedder();
    const hf = await openWith(given, embedder);
    embedder.hold();
    await speak(hf);
    await embedder.waiting();
    const asking = hf.search("garden");
    embedder.release();
    const before = await asking;
    assert.equal(before.mode, "hybrid");
    assert.ok(before.hits.some(({ passage }) => passage === SPEECH[1][3]));
    await hf.embeddings.wait();
    assert.equal((await hf.search("garden")).waiting, 0);
  }),

  prove(
    "EM8 an embedder that fails at a query leaves a search by words, with a warning",
    ["another"],
    async (given) => {
      const embedder = createMeaningEmbedder();
      const hf = await openWith(given, embedder);
      await speak(hf);
      await hf.memory.save("Ada has a puppy");
      await hf.embeddings.wait();
      embedder.outage = new Error("down: secret");
      const { mode, hits, warning } = await hf.search("puppy sleeps");
      assert.equal(mode, "text");
      assert.equal(hits[0]?.passage, SPEECH[0][3]);
      assert.match(warning ?? "", /words only.*it threw Error/);
      assert.ok(!warning?.includes("secret"));
      const memories = await hf.memory.search("puppy");
      assert.deepEqual([memories.mode, memories.length], ["text", 1]);
      assert.match(memories.warning ?? "", /it threw Error/);
      assert.deepEqual([...(await hf.memory.search("hound"))], []);
    },
  ),

  prove(
    "EM8 what was stored before is embedded later, and a handle may leave out a kind",
    ["history", "memory", "search", "another"],
    async (given) => {
      await speak(given);
      await given.memory.save("Ada has a puppy");
      const embedder = createMeaningEmbedder();
      const some = await given.another({ embedder, embeddings: { messages: false } });
      assert.deepEqual((await some.embeddings.wait()).kinds.messages, NOTHING);
      assert.deepEqual(embedder.embedded, ["Ada has a puppy"]);
      assert.equal((await some.search("dog")).mode, "text");
      assert.equal((await some.memory.search("dog")).mode, "hybrid");
      await some.close();
      const all = await given.another({ embedder });
      await all.embeddings.wait();
      assert.equal(embedder.embedded.filter((text) => text !== "dog").length, SPEECH.length + 1);
      assert.equal((await given.search("dog")).mode, "text");
      assert.ok((await found(all, "dog")).includes(SPEECH[0][3]));
      await refuses("InvalidArgument", () => given.another({ embedder, embeddings: { messages: 1 as never } }));
    },
  ),

  prove(
    "EM8 a new embedder embeds messages and memories again, and vectors of two models never meet",
    ["another", "check"],
    async (given) => {
      const [old, fresh] = [createMeaningEmbedder("test/old@5"), createMeaningEmbedder("test/new@5")];
      const a = await openWith(given, old);
      await speak(a);
      await a.memory.save("Ada has a puppy");
      await a.embeddings.wait();
      fresh.hold();
      const b = await openWith(given, fresh);
      await fresh.waiting();
      assert.equal((await a.search("dog")).mode, "hybrid", "the old embeddings answer");
      const asking = b.search("puppy");
      const during = await asking;
      assert.equal(during.mode, "text");
      assert.match(during.warning ?? "", /test\/old@5/);
      fresh.release();
      await b.embeddings.wait();
      assert.equal((await b.search("dog")).mode, "hybrid");
      assert.equal((await b.memory.search("dog")).mode, "hybrid");
      assert.equal((await a.search("dog")).mode, "text");
      assert.equal(fresh.embedded.filter((text) => text !== "ok" && text !== "dog").length, SPEECH.length + 1);
      assert.deepEqual((await given.check()).issues, []);
    },
  ),

  prove("EM8 erased messages leave no vector, and no failure", ["another", "check"], async (given) => {
    const embedder = createMeaningEmbedder();
    embedder.poison.add("This hound is poison.");
    const hf = await openWith(given, embedder);
    await speak(hf);
    await hf.history.append({ session: "pets", agent: "ada" }, { role: "user", content: "This hound is poison." });
    await hf.embeddings.wait();
    const [failure] = await hf.embeddings.failures();
    assert.deepEqual([failure?.kind, failure?.id, failure?.nextTryAt], ["messages", "pets#6", null]);
    assert.equal((await hf.embeddings.status()).kinds.messages.parked, 1);
    await hf.history.clear({ session: "pets", agent: "ada" });
    assert.deepEqual(await hf.embeddings.failures(), []);
    assert.deepEqual((await hf.embeddings.status()).kinds.messages, NOTHING);
    assert.deepEqual((await found(hf, "dog")).toSorted(), [SPEECH[4][3], SPEECH[5][3]].toSorted());
    await hf.sessions.delete("trips");
    assert.deepEqual(await found(hf, "dog"), []);
    assert.deepEqual((await given.check()).issues, []);

    await hf.history.append({ session: "new", agent: "a" }, { role: "user", content: "A hound again." });
    await hf.embeddings.wait();
    assert.ok((await found(hf, "dog")).includes("A hound again."), "numbers that are used again are embedded again");
    assert.deepEqual((await given.check()).issues, []);
  }),
];

const eraseCases: readonly Case[] = [
  prove("EM5 a text that is erased while it fails leaves no failure", ["another", "check"], async (given) => {
    const embedder = createMeaningEmbedder();
    embedder.poison.add("poison");
    let probing = Promise.withResolvers<void>();
    let probed = Promise.withResolvers<void>();
    const embed: Embedder["embed"] = async (texts, options) => {
      if (texts[0] === "ok") {
        probing.resolve();
        await probed.promise;
      }
      return embedder.embed(texts, options);
    };
    const hf = await openWith(given, { ...embedder, embed });
    const kinds: readonly ((content: string) => Promise<() => Promise<unknown>>)[] = [
      async (content) => {
        await hf.vectors.add([{ id: content, content }]);
        return () => hf.vectors.delete([content]);
      },
      async (content) => {
        const { id } = await hf.memory.save(content);
        return () => hf.memory.delete(id);
      },
      async (content) => {
        const { session } = await hf.history.append({ session: content, agent: "a" }, { role: "user", content });
        return () => hf.sessions.delete(session);
      },
    ];
    for (const add of kinds) {
      [probing, probed] = [Promise.withResolvers(), Promise.withResolvers()];
      const erase = await add("poison");
      await probing.promise;
      await erase();
      probed.resolve();
      await add("a fine text");
      await hf.embeddings.wait();
      assert.deepEqual(await hf.embeddings.failures(), []);
    }
    assert.deepEqual((await hf.embeddings.status()).kinds, {
      documents: NOTHING,
      memories: NOTHING,
      messages: NOTHING,
    });
    assert.deepEqual((await given.check()).issues, []);
  }),

  prove(
    "EM8 a handle that searched before finds what a later generation has in addition",
    ["another"],
    async (given) => {
      const [one, two] = [createMeaningEmbedder("test/one@5"), createMeaningEmbedder("test/two@5")];
      const poison = "This hound is poison.";
      for (const { poison: texts } of [one, two]) texts.add(poison);
      const a = await openWith(given, one);
      for (const content of ["First.", poison, "Last."]) {
        await a.history.append({ session: "s", agent: "a" }, { role: "user", content });
      }
      await a.embeddings.wait();
      assert.ok(!(await found(a, "dog")).includes(poison));
      const b = await openWith(given, two);
      await b.embeddings.wait();
      await b.close();
      one.poison.clear();
      await a.embeddings.adopt();
      await a.embeddings.retry();
      await a.embeddings.wait();
      assert.equal((await found(a, "dog"))[0], poison);
    },
  ),

  prove("EM8 messages without a text do not wait for anything", ["another", "check"], async (given) => {
    const hf = await openWith(given);
    for (const content of ["", "   ", []]) {
      await hf.history.append({ session: "s", agent: "a" }, { role: "user", content });
      assert.deepEqual((await hf.embeddings.wait({ timeoutMs: 10_000 })).kinds.messages, NOTHING);
    }
    assert.deepEqual((await given.check()).issues, []);
  }),
];

const memoryCases: readonly Case[] = [
  prove("EM9 memories are found by meaning, within their scope and the filters", ["another"], async (given) => {
    const hf = await openWith(given);
    const helper = { agent: "helper" };
    await hf.memory.save("Ada has a puppy", { ...helper, metadata: { n: 1 } });
    await hf.memory.save("Ada drinks an infusion", { ...helper, kind: "preference", metadata: { n: 2 } });
    await hf.memory.save("Bob has a hound");
    await hf.embeddings.wait();
    const hits = await hf.memory.search("dog", helper);
    assert.deepEqual([hits.mode, hits.waiting, hits.warning], ["hybrid", 0, null]);
    assert.deepEqual(
      hits.map(({ content }) => content),
      ["Ada has a puppy", "Ada drinks an infusion"],
    );
    assert.deepEqual(
      hits[0]?.signals.map(({ name, weight }) => [name, weight]),
      [
        ["vector", 1],
        ["recency", 0.15],
      ],
    );
    assert.deepEqual(
      (await hf.memory.search("dog puppy", helper))[0]?.signals.map(({ name, weight }) => [name, weight]),
      [
        ["text", 0.6],
        ["vector", 0.4],
        ["recency", 0.15],
      ],
    );
    const contents = async (query: string, options: object) =>
      (await hf.memory.search(query, { ...helper, ...options })).map(({ content }) => content);
    assert.deepEqual(await contents("dog", { filter: { n: 2 } }), ["Ada drinks an infusion"]);
    assert.deepEqual(await contents("dog", { kind: "preference" }), ["Ada drinks an infusion"]);
    assert.deepEqual(await contents("dog -infusion", {}), ["Ada has a puppy"]);
    assert.deepEqual(await contents('dog "drinks an"', {}), ["Ada drinks an infusion"]);
    assert.deepEqual(await contents("dog", { limit: 1 }), ["Ada has a puppy"]);
    assert.deepEqual(await contents("dog", { namespace: "other" }), []);
    assert.deepEqual(await contents("", {}), []);
    assert.deepEqual(
      (await hf.memory.search("dog")).map(({ content }) => content),
      ["Bob has a hound"],
    );
    assert.deepEqual((await hf.memory.status()).embedding, { pending: 0, parked: 0 });
  }),

  prove(
    "EM9 erased memories leave no vector, and expired ones are not found",
    ["another", "clock", "check"],
    async (given) => {
      const hf = await openWith(given);
      const puppy = await hf.memory.save("Ada has a puppy");
      await hf.memory.save("Ada has a hound", { ttlMs: 1000 });
      await hf.memory.save("Bob has a dog", { agent: "b" });
      await hf.embeddings.wait();
      assert.equal((await hf.memory.search("dog")).length, 2);
      await given.clock.advance(2000);
      assert.equal((await hf.memory.search("dog")).length, 1);
      assert.equal((await hf.memory.deleteExpired()).removed.memories, 1);
      await hf.memory.delete(puppy.id);
      assert.equal((await hf.memory.search("dog")).length, 0);
      await hf.memory.clear({ agent: "b" });
      assert.equal((await hf.memory.search("puppy", { agent: "b" })).length, 0);
      assert.deepEqual((await given.check()).issues, []);
      await hf.memory.save("Bob has a hound", { agent: "b" });
      await hf.embeddings.wait();
      assert.equal((await hf.memory.search("dog", { agent: "b" })).length, 1);
      assert.deepEqual((await given.check()).issues, []);
    },
  ),

  prove("EM9 the store's own collections are seen and named by no caller", ["another", "vectors"], async (given) => {
    const hf = await openWith(given);
    await speak(hf);
    await hf.memory.save("Ada has a puppy");
    await hf.embeddings.wait();
    assert.deepEqual(await hf.vectors.listCollections(), []);
    for (const collection of ["holdfast:messages", "holdfast:memories:1", "holdfast:other"]) {
      await refuses("InvalidId", () => hf.vectors.getCollection(collection));
      await refuses("InvalidId", () => hf.vectors.search([1, 2, 3, 4, 5], { collection }));
      await refuses("InvalidId", () => hf.vectors.get(["a"], { collection }));
      await refuses("InvalidId", () => hf.vectors.upsert([{ content: "a" }], { collection }));
      await refuses("InvalidId", () => hf.vectors.delete(["a"], { collection }));
      await refuses("InvalidId", () => hf.vectors.createCollection(collection, { dimension: 5 }));
      await refuses("InvalidId", () => hf.vectors.deleteCollection(collection));
      await refuses("InvalidId", () => hf.vectors.rebuild(collection));
    }
  }),
];

export const passageCases: readonly Case[] = [...messageCases, ...eraseCases, ...memoryCases];
