// What vectors say in searches: each is of its passage's own text, also after the index was made anew, and what a search leaves out says
// nothing of what is beside it.
import assert from "node:assert/strict";
import type { Embedder } from "../../contracts/embedders.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { present, range } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { createMeaningEmbedder, createTestEmbedder } from "./test-embedder.ts";

const reindexCases: readonly Case[] = [
  prove("EM8 a change of the language changes no passage and no vector", ["another", "check"], async (given) => {
    const embedder = createTestEmbedder();
    const hf = await given.another({ embedder });
    // English joins what an apostrophe contracts, and other languages do not.
    const content = range(60)
      .map((n) => `It's sentence ${n}, and we don't say what it isn't.`)
      .join(" ");
    await hf.history.append({ session: "s", agent: "a" }, { role: "user", content });
    await hf.memory.save(content);
    await hf.embeddings.wait();
    const passages = [...embedder.embedded];
    assert.ok(passages.length > 10);
    for (const language of ["german", "english"] as const) {
      await hf.reindex({ language });
      const { kinds } = await hf.embeddings.wait();
      assert.deepEqual([kinds.messages.pending, kinds.memories.pending], [0, 0]);
      for (const passage of passages.slice(0, passages.length / 2)) {
        const { hits, waiting } = await hf.search(passage);
        assert.equal(waiting, 0);
        assert.equal(hits[0]?.passage.trim(), passage, language);
      }
    }
    const asked = embedder.embedded.length - passages.length;
    assert.equal(asked, 2 * Math.floor(passages.length / 2), "only the queries were embedded");
    assert.deepEqual((await given.check()).issues, []);
  }),
];

const MINE = "Mine runs in the garden.";
const HOUND = "A hound ran past.";

async function say({ history }: Pick<Holdfast, "history">, session: string, agent: string, ...contents: string[]) {
  for (const content of contents) await history.append({ session, agent }, { role: "user", content });
}

/** The scores of what ada says of her garden, by session. */
async function gardenScores(hf: Pick<Holdfast, "search">, query: string, options: object = {}) {
  const { hits } = await hf.search(query, { limit: 100, ...options });
  const own = hits.filter(({ agent, passage }) => agent === "ada" && passage === MINE);
  return new Map(own.map(({ session, score }) => [session, score]));
}

const besideCases: readonly Case[] = [
  prove(
    "EM8 vectors of agents that a filter leaves out say nothing of messages beside them",
    ["another"],
    async (given) => {
      const hf = await given.another({ embedder: createMeaningEmbedder() });
      await say(hf, "alone", "ada", MINE);
      await say(hf, "beside", "bob", HOUND);
      await say(hf, "beside", "ada", MINE);
      await say(hf, "beside", "bob", HOUND);
      await say(hf, "other", "eve", HOUND);
      await hf.embeddings.wait();
      const all = await gardenScores(hf, "dog");
      assert.ok(present(all.get("beside")) > present(all.get("alone")), "without a filter they count");
      for (const [query, options] of [
        ["dog", { agent: "ada" }],
        ["dog agent:ada", {}],
        ["dog agent:ada agent:eve", {}],
        ["dog -agent:bob", {}],
      ] as const) {
        const scores = await gardenScores(hf, query, options);
        assert.equal(scores.get("beside"), present(scores.get("alone")), query);
      }
      const roles = await gardenScores(hf, "dog", { role: "user" });
      assert.ok(present(roles.get("beside")) > present(roles.get("alone")));
    },
  ),

  prove(
    "EM8 vectors of messages that no session shows say nothing of messages beside them",
    ["another"],
    async (given) => {
      const hf = await given.another({ embedder: createMeaningEmbedder() });
      await say(hf, "alone", "ada", MINE);
      await say(hf, "left", "ada", MINE);
      const head = await hf.heads.publish("left");
      await say(hf, "left", "ada", HOUND);
      await hf.heads.publish("left");
      for (const source of ["source", "plain"]) {
        await say(hf, source, "ada", MINE);
        await hf.sessions.fork(source, { id: `${source} fork` });
        await say(hf, `${source} fork`, "ada", HOUND);
      }
      await say(hf, "source", "ada", HOUND);
      await hf.embeddings.wait();
      const before = await gardenScores(hf, "dog");
      const alone = present(before.get("alone"));
      assert.ok(present(before.get("left")) > alone && present(before.get("source")) > alone);
      await hf.sessions.rewind({ session: "left", head: head.id });
      await say(hf, "left", "ada", "Good night!");
      await hf.embeddings.wait();
      const after = await gardenScores(hf, "dog");
      assert.ok(present(after.get("left")) <= present(after.get("alone")));
      const rewound = await gardenScores(hf, "dog", { rewound: true });
      assert.ok(present(rewound.get("left")) <= present(rewound.get("alone")));
      const inFork = async (source: string) =>
        present((await gardenScores(hf, "dog", { session: `${source} fork` })).get(source));
      assert.equal(await inFork("source"), await inFork("plain"), "the fork does not show what came later");
    },
  ),
];

const orderCases: readonly Case[] = [
  prove(
    "EM8 hits are chosen by scores without the words of hidden messages beside them",
    ["another"],
    async (given) => {
      const hf = await given.another({ embedder: createMeaningEmbedder() });
      const [zebra, partly, near] = ["Zebra stripes", "My hound has tea.", "My puppy ran."];
      await say(hf, "agents", "bob", zebra);
      await say(hf, "agents", "ada", partly);
      await say(hf, "agents", "bob", zebra);
      await say(hf, "near", "ada", near);
      await say(hf, "other", "ada", "Good night!", "Rain again.", "The car stopped.");
      await hf.embeddings.wait();
      const query = "dog zebra stripes";
      const find = async (options: object) => {
        const { hits } = await hf.search(query, options);
        const scores = hits.map(({ score }) => score);
        assert.deepEqual(
          scores,
          [...scores].sort((a, b) => b - a),
        );
        return hits.map(({ passage }) => passage);
      };
      assert.deepEqual(await find({ agent: "ada", limit: 1 }), [near]);
      assert.deepEqual((await find({ agent: "ada" })).slice(0, 2), [near, partly]);
      assert.deepEqual(await find({ agent: "ada", limit: 2, perSession: 1 }), [near, partly]);
      assert.notEqual((await find({ limit: 1 }))[0], near, "without a filter the words beside count");
      await hf.sessions.delete("agents");
      await say(hf, "left", "ada", "Hello!");
      const head = await hf.heads.publish("left");
      await say(hf, "left", "ada", zebra);
      await hf.sessions.rewind({ session: "left", head: head.id });
      await say(hf, "left", "ada", partly);
      await hf.embeddings.wait();
      assert.deepEqual(await find({ limit: 1 }), [near]);
      assert.ok((await find({})).includes(partly));
    },
  ),
];

const factorCases: readonly Case[] = [
  prove("EM8 roles and speakers count for what a message means as for its words", ["another"], async (given) => {
    const hf = await given.another({ embedder: createMeaningEmbedder() });
    const add = (session: string, role: "user" | "tool", name: string) =>
      hf.history.append({ session, agent: "ada" }, { role, content: MINE, metadata: { name } });
    await add("user", "user", "eve");
    await add("tool", "tool", "eve");
    await add("named", "user", "zoe");
    await hf.embeddings.wait();
    const scores = await gardenScores(hf, "dog");
    assert.ok(present(scores.get("user")) > present(scores.get("tool")), "what tools print counts less");
    assert.equal(scores.get("named"), scores.get("user"));
    const asked = await gardenScores(hf, "dog zoe");
    assert.ok(present(asked.get("named")) > present(asked.get("user")), "who is named counts more");
  }),

  prove(
    "EM8 numbers of events that were deleted are used again, and their messages embedded",
    ["another"],
    async (given) => {
      const hf = await given.another({ embedder: createMeaningEmbedder() });
      await say(hf, "kept", "ada", MINE);
      await say(hf, "gone", "ada", HOUND);
      await hf.embeddings.wait();
      await hf.sessions.delete("gone");
      await say(hf, "new", "ada", "A puppy slept.");
      await hf.embeddings.wait();
      const { hits, waiting } = await hf.search("dog");
      assert.deepEqual([hits[0]?.session, waiting], ["new", 0]);
    },
  ),

  prove(
    "EM6 an erasure during a rebuild removes the embeddings of both embedders",
    ["another", "check"],
    async (given) => {
      const [old, next] = [createMeaningEmbedder("test/old@5"), createMeaningEmbedder("test/new@5")];
      const a = await given.another({ embedder: old });
      const content = range(9).map((n) => `Number ${n}.`);
      await say(a, "s", "ada", HOUND);
      await say(a, "kept", "ada", ...content);
      await a.embeddings.wait();
      await a.close();
      const held = Promise.withResolvers<void>();
      const second = Promise.withResolvers<void>();
      const embed: Embedder["embed"] = async (texts, options) => {
        if (next.embedded.length > 0) {
          second.resolve();
          await held.promise;
        }
        return next.embed(texts, options);
      };
      const b = await given.another({ embedder: { ...next, embed } });
      await second.promise;
      await b.history.clear({ session: "s", agent: "ada" });
      assert.deepEqual((await given.check()).issues, []);
      held.resolve();
      await b.embeddings.wait();
      assert.deepEqual((await given.check()).issues, []);
      assert.equal((await b.search("dog", { limit: 100 })).hits.length, content.length);
    },
  ),
];

const raceCases: readonly Case[] = [
  prove("EM9 a search of memories finds nothing that was saved after it read the index", ["another"], async (given) => {
    const base = createMeaningEmbedder();
    let asked = Promise.withResolvers<void>();
    let answer = Promise.withResolvers<void>();
    const embed: Embedder["embed"] = async (texts, options) => {
      if (texts[0] === "puppy") {
        asked.resolve();
        await answer.promise;
      }
      return base.embed(texts, options);
    };
    const hf = await given.another({ embedder: { ...base, embed } });
    await hf.memory.save("Ada has a puppy");
    let count = 0;
    const save = () => hf.memory.save(`A puppy ate banana number ${count++}`, { subject: "fruit" });
    const savePlain = () => hf.memory.save(`Bob has hound number ${count++}`);
    let last = await savePlain();
    // SQLite gives a new memory the number of one that was deleted.
    const replace = async () => {
      await hf.memory.delete(last.id);
      await save();
    };
    const changes = [replace, save];
    for (const query of ["puppy -banana", "puppy -subject:fruit", "puppy"]) {
      for (const change of changes) {
        last = await savePlain();
        await hf.embeddings.wait();
        [asked, answer] = [Promise.withResolvers(), Promise.withResolvers()];
        const searching = hf.memory.search(query, { limit: 100 });
        await asked.promise;
        // Another search reads the index after it, and after the change loads the embeddings that both use.
        await hf.memory.search("hound");
        await change();
        await hf.embeddings.wait();
        await hf.memory.search("hound");
        answer.resolve();
        const hits = await searching;
        assert.ok(hits.some(({ content }) => content === "Ada has a puppy"));
        if (query !== "puppy") assert.ok(!hits.some(({ content }) => content.includes("banana")), query);
        const recency = hits.map(({ signals }) => present(signals.find(({ name }) => name === "recency")).value);
        assert.ok(Math.min(...recency) > 0.9, "all of them are new");
      }
    }
  }),
];

const questionCases: readonly Case[] = [
  prove("EM8 a query of punctuation only is not embedded, and finds nothing", ["another"], async (given) => {
    const embedder = createMeaningEmbedder();
    const hf = await given.another({ embedder });
    await say(hf, "s", "ada", MINE);
    await hf.memory.save(HOUND);
    await hf.vectors.add([{ id: "d", content: HOUND }]);
    await hf.embeddings.wait();
    const before = embedder.embedded.length;
    for (const query of ["?!", "... - …", "«»", "—"]) {
      assert.deepEqual((await hf.search(query)).hits, [], query);
      assert.deepEqual([...(await hf.memory.search(query))], [], query);
      assert.deepEqual([...(await hf.vectors.search(query))], [], query);
    }
    assert.equal(embedder.embedded.length, before);
    assert.equal((await hf.search("🐶")).hits.length, 1, "a picture has a meaning");
    assert.equal((await hf.search("狗")).mode, "hybrid");
    assert.equal(embedder.embedded.length, before + 2);
  }),
];

export const searchCases: readonly Case[] = [
  ...questionCases,
  ...reindexCases,
  ...factorCases,
  ...besideCases,
  ...orderCases,
  ...raceCases,
];
