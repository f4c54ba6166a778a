// More messages than pass by their vectors stand beside what a filter leaves out: none of them takes the place of one that is near itself.
import { expect, test } from "vitest";
import { open } from "../open.ts";
import { createMeaningEmbedder } from "../testing/suites/test-embedder.ts";

/** As many pass by their vectors as hybrid-ranking.ts says. */
const CANDIDATES = 200;

test("EM8 vectors of an agent that a filter leaves out choose no candidates", async () => {
  const hf = await open(":memory:", { embedder: { ...createMeaningEmbedder(), maxBatch: 256 } });
  const say = (session: string, agent: string, content: string) =>
    hf.history.append({ session, agent }, { role: "user", content });
  for (let n = 0; n <= CANDIDATES; n++) {
    await say("s", "bob", "A hound ran past.");
    await say("s", "ada", "Mine runs in the garden.");
  }
  await say("s", "bob", "A hound ran past.");
  // Less near than a message between two hounds would be, and nearer than that message is itself.
  const near = "A puppy, a car, some tea and the rain.";
  await say("near", "ada", near);
  await hf.embeddings.wait();
  for (const query of ["dog agent:ada", "dog -agent:bob"]) {
    const { hits, mode } = await hf.search(query, { limit: 1 });
    expect([mode, hits[0]?.passage]).toEqual(["hybrid", near]);
  }
  await hf.close();
});
