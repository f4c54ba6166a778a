// Embedders over models that the caller passes: of the AI SDK, and pipelines of transformers.js.
import { createOpenAI } from "@ai-sdk/openai";
import { afterEach, expect, test } from "vitest";
import { type FakeEmbeddings, fakeVector, startFakeEmbeddings } from "../../test/fake-embeddings.ts";
import { checkEmbedder, embedTexts } from "../core/embed-texts.ts";
import { type AiSdkEmbeddingModel, aiSdkEmbedder } from "./ai-sdk.ts";
import { type FeatureExtractor, transformersEmbedder } from "./transformers.ts";

const SIGNAL = new AbortController().signal;
const DOCUMENT = { kind: "document", signal: SIGNAL, limit: null } as const;

const servers: FakeEmbeddings[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

test("EM3 an embedding model of the real AI SDK embeds", async () => {
  const server = await startFakeEmbeddings();
  servers.push(server);
  const model = createOpenAI({ apiKey: "k", baseURL: `${server.url}/v1` }).embedding("m");
  const embedder = checkEmbedder(aiSdkEmbedder(model, { dimensions: 8, maxBatch: 2 }));
  expect(embedder.id).toBe("openai.embedding/m@8");
  const vectors = await embedTexts(embedder, ["one", "two", "three"], DOCUMENT);
  expect(vectors.map((vector) => [...vector]).map((v) => v.length)).toEqual([8, 8, 8]);
  expect(server.requests.map(({ body }) => body.input.length)).toEqual([2, 1]);
});

function fakeModel(doEmbed: AiSdkEmbeddingModel["doEmbed"], most?: number): AiSdkEmbeddingModel {
  return { specificationVersion: "v3", provider: "p", modelId: "m", maxEmbeddingsPerCall: most, doEmbed };
}

test("EM3 keeps to the model's own limit, and passes options of the provider by the kind of text", async () => {
  const calls: unknown[] = [];
  const model = fakeModel(async ({ values, providerOptions }) => {
    calls.push([values, providerOptions]);
    return { embeddings: values.map((value) => fakeVector(value, 2)) };
  }, 2);
  const query = { p: { task: "query" } };
  const embedder = aiSdkEmbedder(model, { dimensions: 2, providerOptions: { query } });
  await embedder.embed(["a", "b", "c"], { kind: "query", signal: SIGNAL });
  await embedder.embed(["d"], DOCUMENT);
  expect(calls).toEqual([
    [["a", "b"], query],
    [["c"], query],
    [["d"], undefined],
  ]);
  expect(embedder.id).toMatch(/^p\/m@2\+/);
});

test("EM3 a failure of the AI SDK shows no text of the request", async () => {
  const model = fakeModel(async () => {
    throw Object.assign(new Error("too long"), { statusCode: 400, requestBodyValues: { input: ["a private text"] } });
  });
  const failed = aiSdkEmbedder(model, { dimensions: 2 }).embed(["a private text"], DOCUMENT);
  await expect(failed).rejects.toMatchObject({ message: "p: too long", status: 400, retryable: false });
  await expect(failed).rejects.not.toHaveProperty("cause");
});

test("EM3 the name of a model is no model", () => {
  expect(() => aiSdkEmbedder("openai/m" as never, { dimensions: 2 })).toThrow("an embedding model of the AI SDK");
  expect(() => transformersEmbedder("all-MiniLM" as never, { model: "m", dimensions: 2 })).toThrow("a function");
});

test("EM3 a pipeline of transformers.js is made with the first text, once", async () => {
  const calls: unknown[] = [];
  let loads = 0;
  const extract: FeatureExtractor = async (texts, options) => {
    calls.push([texts, options]);
    return { dims: [texts.length, 2], data: Float32Array.from(texts.flatMap((text) => [text.length, 1])) };
  };
  const load = async () => {
    loads++;
    if (loads === 1) throw new Error("no network");
    return extract;
  };
  const embedder = transformersEmbedder(load, { model: "m", dimensions: 2, pooling: "cls", maxBatch: 2 });
  expect(loads).toBe(0);
  await expect(embedder.embed(["a"], DOCUMENT)).rejects.toThrow("no network");
  expect(await embedder.embed(["a", "bb", "ccc"], DOCUMENT)).toEqual(
    [
      [1, 1],
      [2, 1],
      [3, 1],
    ].map((v) => Float32Array.from(v)),
  );
  expect(loads).toBe(2);
  expect(calls).toEqual([
    [["a", "bb"], { pooling: "cls", normalize: true }],
    [["ccc"], { pooling: "cls", normalize: true }],
  ]);
});

test("EM3 a tensor of another shape is refused", async () => {
  const load = async (): Promise<FeatureExtractor> => async () => ({ dims: [1, 3, 2], data: new Float32Array(6) });
  const embedder = transformersEmbedder(load, { model: "m", dimensions: 2 });
  await expect(embedder.embed(["a"], DOCUMENT)).rejects.toThrow("1 texts gave a tensor of 1 × 3 × 2");
});
