// What a search does with an embedder that is slow, fails, or gives a vector without a direction.
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../index.ts";

let hf: Holdfast;
let calls = 0;
let answer: (signal: AbortSignal | undefined) => Promise<readonly number[]>;

const silent = () => new Promise<never>(() => {});

beforeAll(async () => {
  const embedder = {
    id: "test/questions@2",
    dimensions: 2,
    embed: async (texts: readonly string[], { kind, signal }: { kind: string; signal?: AbortSignal }) => {
      if (kind === "document") return texts.map(() => [1, 1]);
      calls++;
      return [await answer(signal)];
    },
  };
  hf = await open(":memory:", { embedder, embeddings: { queryTimeoutMs: 20 } });
  await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: "green tea" });
  await hf.memory.save("green tea");
  await hf.vectors.add([{ id: "tea", content: "green tea" }]);
  await hf.embeddings.wait();
});
beforeEach(async () => {
  answer = async () => [1, 0];
  await hf.embeddings.retry();
  calls = 0;
});
afterAll(() => hf.close());

async function searchAll() {
  const { mode, warning } = await hf.search("tea");
  const memories = await hf.memory.search("tea");
  const documents = await hf.vectors.search("tea");
  return [
    { mode, warning: warning ?? null },
    { mode: memories.mode, warning: memories.warning },
    { mode: documents.mode, warning: documents.warning },
  ];
}

test("EM8 a question has little time, and is not asked again right after a failure", async () => {
  answer = silent;
  for (const [n, { mode, warning }] of (await searchAll()).entries()) {
    expect([n, mode, warning]).toEqual([n, "text", expect.stringContaining("Timeout")]);
  }
  expect(calls).toBe(1);
  answer = async () => [1, 0];
  expect((await hf.search("tea")).warning).toContain("Timeout, a moment ago");
  await hf.embeddings.retry();
  expect(await searchAll()).toEqual(Array(3).fill({ mode: "hybrid", warning: null }));
});

test("EM8 a failure that another try would meet again does not stop the next question", async () => {
  answer = async () => Promise.reject(Object.assign(new Error("secret"), { status: 400, retryable: false }));
  expect((await hf.search("tea")).warning).toMatch(/\(HTTP 400\)$/);
  answer = async () => [1, 0];
  expect((await hf.search("tea")).mode).toBe("hybrid");
});

test("EM7 a question whose vector has no direction is a failure", async () => {
  answer = async () => [0, 0];
  for (const { mode, warning } of await searchAll())
    expect([mode, warning]).toEqual(["text", expect.stringContaining("zeros")]);
  await expect(hf.vectors.search("tea", { mode: "vector" })).rejects.toMatchObject({ code: "EmbeddingFailed" });
});

test("EM8 a signal ends a search, also while the embedder is asked", async () => {
  const [before, during] = [AbortSignal.abort(), new AbortController()];
  await expect(hf.search("tea", { signal: before })).rejects.toMatchObject({ code: "Aborted" });
  answer = (signal) => {
    during.abort();
    return signal?.aborted ? silent() : Promise.reject(new Error("bug: the embedder's signal did not abort"));
  };
  await expect(hf.search("tea", { signal: during.signal })).rejects.toMatchObject({ code: "Aborted" });
});

test("EM8 signals that say nothing are left out", async () => {
  const [{ signals } = { signals: [] }] = await hf.memory.search("nothing");
  expect(signals.map(({ name, value }) => [name, value > 0])).toEqual([
    ["vector", true],
    ["recency", true],
  ]);
  for (const { signals } of (await hf.search("nothing")).hits)
    expect(signals.every(({ value }) => value > 0)).toBe(true);
  for (const { signals } of await hf.vectors.search("nothing"))
    expect(signals.every(({ value }) => value > 0)).toBe(true);
});
