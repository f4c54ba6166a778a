// More memories are near the question than are ranked first, and none of them is a hit: those behind them are found.
import { expect, test } from "vitest";
import { open } from "../open.ts";
import { createMeaningEmbedder } from "../testing/suites/test-embedder.ts";

/** As many as nearest.ts ranks first. */
const NEAREST = 200;
const [PAST, PRESENT] = [Date.UTC(2023, 5, 1), Date.UTC(2024, 5, 1)];

test("EM9 memories that are no hits do not hide farther ones", async () => {
  const hf = await open(":memory:", { embedder: { ...createMeaningEmbedder(), maxBatch: 256 } });
  for (let n = 0; n <= NEAREST; n++) await hf.memory.save(`A big hound, number ${n}`, { validFrom: PRESENT });
  const far = "A puppy, a car, some tea and the rain.";
  await hf.memory.save(far, { validFrom: PAST });
  await hf.embeddings.wait();
  for (const [query, options] of [
    ["dog", { to: PRESENT }],
    ["dog", { at: PRESENT - 1 }],
    ['dog -"big hound"', {}],
  ] as const) {
    const hits = await hf.memory.search(query, options);
    expect([hits.mode, hits.map(({ content }) => content)]).toEqual(["hybrid", [far]]);
  }
  expect(await hf.memory.search("dog", { to: PAST })).toHaveLength(0);
  expect(await hf.memory.search("dog", { limit: 3 })).toHaveLength(3);
  await hf.close();
});
