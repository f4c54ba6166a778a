// Embedders are the caller's objects: what they return, throw or ignore.
import { expect, test } from "vitest";
import type { Embedder } from "../contracts/embedders.ts";
import { simulatedEnvironment } from "../testing/environment.ts";
import { checkEmbedder, embedTexts } from "./embed-texts.ts";

const OPTIONS = { kind: "document", signal: new AbortController().signal, limit: null } as const;

const one: Embedder = { id: "m", dimensions: 2, embed: async (texts) => texts.map((text) => [text.length, 1]) };

test("EM1 vectors come in the order of their texts, in batches of maxBatch", async () => {
  const batches: number[] = [];
  const embedder = checkEmbedder({
    ...one,
    maxBatch: 2,
    embed: async (texts: readonly string[]) => {
      batches.push(texts.length);
      return texts.map((text) => Float32Array.of(text.length, 1));
    },
  });
  const vectors = await embedTexts(embedder, ["a", "bb", "ccc", "dddd", "eeeee"], OPTIONS);
  expect(vectors.map(([length]) => length)).toEqual([1, 2, 3, 4, 5]);
  expect(batches).toEqual([2, 2, 1]);
  expect(await embedTexts(embedder, [], OPTIONS)).toEqual([]);
});

test("EM1 an embedder keeps its `this`, and changing it later changes nothing", async () => {
  class Counter {
    id = "counter";
    dimensions = 1;
    calls = 0;
    async embed(texts: readonly string[]) {
      this.calls++;
      return texts.map(() => [this.calls]);
    }
  }
  const counter = new Counter();
  const embedder = checkEmbedder(counter);
  counter.id = "another";
  counter.dimensions = 7;
  expect(await embedTexts(embedder, ["a"], OPTIONS)).toEqual([Float32Array.of(1)]);
  expect(embedder.id).toBe("counter");
});

test.each([
  ["no array", null, "not an array"],
  ["too few vectors", [[1, 2]], "1 vectors for 2 texts"],
  ["too many vectors", [[1], [1], [1]], "3 vectors for 2 texts"],
  ["another dimension", [[1, 2], [1]], "a vector of 1 numbers instead of 2"],
  [
    "not a number",
    [
      [1, 2],
      [1, Number.NaN],
    ],
    "a number that is not finite",
  ],
  [
    "too large for 32 bits",
    [
      [1, 2],
      [1, 1e300],
    ],
    "a number that is not finite",
  ],
  [
    "a text in a vector",
    [
      [1, 2],
      [1, "2"],
    ],
    "a number that is not finite",
  ],
  ["a hole in a vector", [[1, 2], new Array(2)], "a number that is not finite"],
  ["a text instead of a vector", [[1, 2], "ab"], "something that is no vector"],
  [
    "a vector with an iterator of its own",
    [[1, 2], Object.assign([1, "2"], { [Symbol.iterator]: () => [1].values() })],
    "a number that is not finite",
  ],
  ["holes instead of vectors", new Array(2), "something that is no vector"],
  ["an array with a map of its own", Object.assign([[1, 2], "ab"], { map: () => [] }), "something that is no vector"],
])("EM1 refuses %s", async (_, answer, why) => {
  const embedder = checkEmbedder({ ...one, embed: async () => answer });
  const failed = embedTexts(embedder, ["a", "b"], OPTIONS);
  await expect(failed).rejects.toMatchObject({ code: "EmbeddingFailed", retryable: false });
  await expect(failed).rejects.toThrow(why);
});

test.each([
  [new Error("later"), true, {}],
  [Object.assign(new Error("never"), { retryable: false, status: 400, code: "too_long" }), false, { status: 400 }],
  [Object.assign(new Error("soon"), { retryAfterMs: 7 }), true, { retryAfterMs: 7 }],
  [Object.assign(new Error("soon"), { retryAfterMs: 6.5 }), true, { retryAfterMs: 7 }],
  [Object.assign(new Error("soon"), { retryAfterMs: 1e300 }), true, { retryAfterMs: 86_400_000 }],
  ["a text", true, {}],
  [null, true, {}],
  [
    new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
      },
    ),
    true,
    {},
  ],
])(
  "EM1 what it throws becomes EmbeddingFailed, which says whether another try makes sense",
  async (thrown, retryable, details) => {
    const embedder = checkEmbedder({
      ...one,
      embed: () => {
        throw thrown;
      },
    });
    await expect(embedTexts(embedder, ["a"], OPTIONS)).rejects.toMatchObject({
      code: "EmbeddingFailed",
      retryable,
      details: { embedder: "m", ...details },
    });
  },
);

test("EM1 an abort ends the call at once, also of an embedder that ignores it", async () => {
  const abort = new AbortController();
  const embedder = checkEmbedder({ ...one, embed: () => new Promise(() => {}) });
  const failed = embedTexts(embedder, ["a"], { kind: "query", signal: abort.signal, limit: null });
  abort.abort();
  await expect(failed).rejects.toMatchObject({ code: "Aborted" });
  await expect(embedTexts(embedder, ["a"], { kind: "query", signal: abort.signal, limit: null })).rejects.toMatchObject(
    {
      code: "Aborted",
    },
  );
});

test("EM1 a call that takes longer than its limit is aborted, and fails with the reason", async () => {
  const environment = simulatedEnvironment(1);
  const limit = { timeoutMs: 1000, environment };
  const signals: (AbortSignal | undefined)[] = [];
  let isIgnored = true;
  const embed: Embedder["embed"] = (_, { signal }) => {
    signals.push(signal);
    return new Promise((_, reject) => {
      if (!isIgnored) signal?.addEventListener("abort", () => reject(signal.reason));
    });
  };
  const embedder = checkEmbedder({ ...one, embed });
  for (const _ of [1, 2]) {
    const failed = embedTexts(embedder, ["a"], { ...OPTIONS, limit });
    failed.catch(() => {});
    await environment.advance(999);
    expect(signals.at(-1)?.aborted).toBe(false);
    await environment.advance(1);
    await expect(failed).rejects.toMatchObject({
      code: "EmbeddingFailed",
      retryable: true,
      message: expect.stringContaining("no answer within 1000 ms"),
      details: { embedder: "m", code: "Timeout" },
    });
    expect(signals.at(-1)?.aborted).toBe(true);
    isIgnored = false;
  }
  const abort = new AbortController();
  const aborted = embedTexts(embedder, ["a"], { kind: "query", signal: abort.signal, limit });
  abort.abort();
  await expect(aborted).rejects.toMatchObject({ code: "Aborted" });
  const quick = checkEmbedder({ ...one, embed: async () => [[1, 2]] });
  expect(await embedTexts(quick, ["a"], { ...OPTIONS, limit })).toEqual([Float32Array.of(1, 2)]);
});

test.each([
  [null, "embedder"],
  [{}, "embedder.embed"],
  [{ ...one, id: "" }, "embedder.id"],
  [{ ...one, dimensions: 0 }, "embedder.dimensions"],
  [{ ...one, dimensions: 4097 }, "embedder.dimensions"],
  [{ ...one, maxBatch: 0 }, "embedder.maxBatch"],
])("EM1 an embedder that cannot be one is refused: %j", (value, what) => {
  expect(() => checkEmbedder(value)).toThrow(what);
});
