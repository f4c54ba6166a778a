// What vectors say in searches: each is of its passage's own text, also after the index was made anew, and what a search leaves out says
// nothing of what is beside it.
import assert from "node:assert/strict";
import { range } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { createTestEmbedder } from "./test-embedder.ts";

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

export const searchCases: readonly Case[] = [...reindexCases];
