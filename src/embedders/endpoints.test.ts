// The HTTP embedders against a server on this machine: what they send, how they fail, and what they never show.
import { inspect } from "node:util";
import { afterEach, expect, test } from "vitest";
import { type FakeEmbeddings, fakeVector, startFakeEmbeddings } from "../../test/fake-embeddings.ts";
import type { Embedder } from "../contracts/embedders.ts";
import type { Environment } from "../contracts/environment.ts";
import { simulatedEnvironment } from "../testing/environment.ts";
import { cohereEmbedder } from "./cohere.ts";
import { type OpenAIEmbedderOptions, openaiEmbedder } from "./openai.ts";
import { voyageEmbedder } from "./voyage.ts";

const SIGNAL = new AbortController().signal;
const KEY = "sk-a-key-that-must-not-show";
const MODEL = { model: "m", dimensions: 8 } as const;

const servers: FakeEmbeddings[] = [];

async function start(...script: Parameters<typeof startFakeEmbeddings>): Promise<FakeEmbeddings> {
  const server = await startFakeEmbeddings(...script);
  servers.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const embed = async (embedder: Embedder, texts: readonly string[], kind: "document" | "query" = "document") =>
  (await embedder.embed(texts, { kind, signal: SIGNAL })).map((vector) => [...vector]);

const expected = (...texts: readonly string[]) => texts.map((text) => fakeVector(text, 8));

test("EM2 speaks OpenAI's API, in batches, and sorts the vectors by the index of their texts", async () => {
  const server = await start();
  const embedder = openaiEmbedder({ ...MODEL, url: `${server.url}/v1/`, apiKey: KEY, maxBatch: 2 });
  expect(embedder).toMatchObject({ id: "openai/m@8", dimensions: 8, maxBatch: 2 });
  expect(await embed(embedder, ["one", "two", "three"])).toEqual(expected("one", "two", "three"));
  const [first, second] = server.requests;
  expect(first).toMatchObject({
    path: "/v1/embeddings",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
  });
  expect(first?.body).toEqual({ model: "m", input: ["one", "two"], encoding_format: "float" });
  expect(second?.body.input).toEqual(["three"]);
  // A caller of its own need not give a signal.
  expect(await embedder.embed(["one"], { kind: "query" })).toEqual(expected("one"));
});

test("EM2 splits requests also by their characters", async () => {
  const server = await start();
  const embedder = openaiEmbedder({ ...MODEL, url: `${server.url}/v1` });
  const long = "x".repeat(200_000);
  await embed(embedder, [long, long, "a", "b", `${long}${long}`]);
  expect(server.requests.map(({ body }) => body.input.length)).toEqual([1, 3, 1]);
});

test("EM2 reads vectors as base64", async () => {
  const base64 = Buffer.from(Float32Array.of(1, -2.5).buffer).toString("base64");
  const server = await start(() => ({ json: { data: [{ embedding: base64 }] } }));
  expect(await embed(openaiEmbedder({ url: `${server.url}/v1`, model: "m", dimensions: 2 }), ["a"])).toEqual([
    [1, -2.5],
  ]);
});

test("EM2 known models need no dimensions, and shorter vectors are requested", async () => {
  const server = await start();
  const url = `${server.url}/v1`;
  expect(openaiEmbedder({ url, model: "text-embedding-3-small" }).dimensions).toBe(1536);
  await embed(openaiEmbedder({ url, model: "text-embedding-3-small", dimensions: 8 }), ["a"]);
  expect(server.requests[0]?.body.dimensions).toBe(8);
  expect(() => openaiEmbedder({ url, model: "unknown" })).toThrow("how many numbers a vector of unknown has");
});

test("EM2 speaks Voyage's API", async () => {
  const server = await start();
  const embedder = voyageEmbedder({ url: `${server.url}/v1`, model: "voyage-3.5", dimensions: 8, apiKey: KEY });
  expect(await embed(embedder, ["one", "two"], "query")).toEqual(expected("one", "two"));
  expect(server.requests[0]?.body).toEqual({
    model: "voyage-3.5",
    input: ["one", "two"],
    input_type: "query",
    output_dimension: 8,
    truncation: false,
  });
  expect(voyageEmbedder({ model: "voyage-3-large" })).toMatchObject({ id: "voyage/voyage-3-large@1024" });
});

test("EM2 speaks Cohere's API", async () => {
  const server = await start();
  const embedder = cohereEmbedder({ url: `${server.url}/v2`, model: "embed-v4.0", dimensions: 8 });
  expect(await embed(embedder, ["one", "two"])).toEqual(expected("one", "two"));
  expect(server.requests[0]?.body).toEqual({
    model: "embed-v4.0",
    texts: ["one", "two"],
    input_type: "search_document",
    embedding_types: ["float"],
    output_dimension: 8,
    truncate: "NONE",
  });
});

test("EM2 prepares texts as the model wants them, and the id names the preparation", async () => {
  const server = await start();
  const url = `${server.url}/v1`;
  const prefixes = { query: "query: ", document: "passage: " };
  const embedder = openaiEmbedder({ ...MODEL, url, prefixes, maxChars: 3, params: { user: "u" } });
  await embed(embedder, ["ab😀", "long text"]);
  await embed(embedder, ["q"], "query");
  expect(server.requests.map(({ body }) => body.input)).toEqual([["passage: ab", "passage: lon"], ["query: q"]]);
  expect(server.requests[0]?.body.user).toBe("u");
  const others = [{ prefixes, maxChars: 4 }, { prefixes }, { maxChars: 3 }, {}, { params: { user: "v" } }];
  const ids = [embedder, ...others.map((one) => openaiEmbedder({ ...MODEL, url, ...one }))].map(({ id }) => id);
  expect(new Set(ids).size).toBe(6);
  expect(ids[0]).toMatch(/^openai\/m@8\+[0-9a-f]{8}$/);
});

const TIMEOUT_MS = 777;

/** Its waits end at once and are written down; a timeout never ends by itself, or at once. */
function waitRecorder(isExpiring = false): { readonly waits: number[]; readonly environment: Environment } {
  const waits: number[] = [];
  const sleep: Environment["sleep"] = (ms, signal) => {
    if (ms !== TIMEOUT_MS) waits.push(ms);
    if (ms !== TIMEOUT_MS || isExpiring) return Promise.resolve();
    return new Promise((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
  };
  return { waits, environment: { ...simulatedEnvironment(1), sleep } };
}

/** An embedder of one text that is at that server. */
function attempt(server: { readonly url: string }, environment: Environment, retries = 3) {
  const options = { ...MODEL, url: `${server.url}/v1`, apiKey: KEY, timeoutMs: TIMEOUT_MS, retries, environment };
  return embed(openaiEmbedder(options), ["a"]);
}

test.each([408, 429, 500, 503, 529])("EM2 tries again after HTTP %i, and waits longer each time", async (status) => {
  const server = await start((_, count) => (count < 3 ? { status, json: { error: { message: "busy" } } } : null));
  const { waits, environment } = waitRecorder();
  expect(await attempt(server, environment)).toEqual(expected("a"));
  expect(server.requests).toHaveLength(4);
  for (const [i, wait] of waits.entries()) {
    expect(wait).toBeGreaterThanOrEqual(250 * 2 ** i);
    expect(wait).toBeLessThanOrEqual(500 * 2 ** i);
  }
  expect(waits).toHaveLength(3);
});

test("EM2 waits at least as long as the server asks for; longer waits are the caller's", async () => {
  const asks = (seconds: number) =>
    start((_, count) => (count === 0 ? { status: 429, headers: { "retry-after": `${seconds}` } } : null));
  const { waits, environment } = waitRecorder();
  expect(await attempt(await asks(9), environment)).toEqual(expected("a"));
  expect(waits).toEqual([9000]);
  await expect(attempt(await asks(600), environment)).rejects.toMatchObject({ status: 429, retryAfterMs: 600_000 });
  expect(waits).toHaveLength(1);
});

test.each([400, 401, 404, 422])("EM2 does not repeat what failed with HTTP %i", async (status) => {
  const server = await start(() => ({ status, json: { error: { message: "why", code: "the_code" } } }));
  const { environment } = waitRecorder();
  await expect(attempt(server, environment)).rejects.toMatchObject({
    message: `openai: HTTP ${status}: why`,
    retryable: false,
    code: "the_code",
    status,
  });
  expect(server.requests).toHaveLength(1);
});

test("EM2 gives up after its retries", async () => {
  const server = await start(() => ({ status: 500 }));
  await expect(attempt(server, waitRecorder().environment, 2)).rejects.toMatchObject({ retryable: true, status: 500 });
  expect(server.requests).toHaveLength(3);
});

test("EM2 a broken connection, an answer that is no JSON and a server that is silent are tried again", async () => {
  for (const fault of ["reset", { text: "<html>" }] as const) {
    const server = await start((_, count) => (count === 0 ? fault : null));
    expect(await attempt(server, waitRecorder().environment)).toEqual(expected("a"));
  }
  const silent = await start(() => "stall");
  await expect(attempt(silent, waitRecorder(true).environment, 1)).rejects.toMatchObject({
    code: "Timeout",
    retryable: true,
  });
  await expect(attempt({ url: "http://127.0.0.1:1" }, waitRecorder().environment, 0)).rejects.toThrow(
    /^openai: no connection to http:\/\/127\.0\.0\.1:1 \(/,
  );
});

test("EM2 an abort ends the request and the waiting", async () => {
  const abort = new AbortController();
  const server = await start(() => {
    abort.abort(new Error("enough"));
    return "stall";
  });
  const embedder = openaiEmbedder({ ...MODEL, url: `${server.url}/v1` });
  await expect(embedder.embed(["a"], { kind: "query", signal: abort.signal })).rejects.toThrow("enough");
});

test.each([
  [{ data: [] }, "the answer has 0 embeddings for 1 texts"],
  [{ data: [{ index: 1, embedding: [1] }] }, "the answer has no embedding with index 0"],
  [{ data: [{ index: 0, embedding: null }] }, "an embedding is no list of numbers"],
  [{ data: "none" }, "the answer has no list of embeddings"],
  [[], "the answer has no list of embeddings"],
])("EM2 refuses the answer %j", async (json, why) => {
  const server = await start(() => ({ json }));
  const failed = attempt(server, waitRecorder().environment);
  await expect(failed).rejects.toMatchObject({ retryable: false, message: `openai: ${why}` });
});

test("EM2 the key is in no error, no log and no property, also if the server repeats it", async () => {
  const repeats = (status: number, headers = {}) =>
    start((request) => ({
      status,
      headers,
      json: { error: { message: `bad key ${KEY} in ${request.headers.authorization}`, code: `code ${KEY}` } },
    }));
  const { environment } = waitRecorder();
  const logs: unknown[] = [];
  const logged = { ...environment, log: (...fields: unknown[]) => void logs.push(fields) };
  for (const server of [
    await repeats(401),
    await repeats(500),
    await repeats(302, { location: `http://127.0.0.1/${KEY}` }),
  ]) {
    const error: unknown = await attempt(server, logged, 1).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(KEY);
  }
  const embedder = openaiEmbedder({ ...MODEL, url: "http://127.0.0.1:1/v1", apiKey: KEY });
  expect(inspect(embedder, { depth: 20, showHidden: true }) + JSON.stringify([embedder, logs])).not.toContain(KEY);
});

const SECRETS: readonly (readonly [{ readonly headers?: Record<string, string>; readonly query?: string }, string])[] =
  [
    [{ headers: { authorization: `Bearer ${KEY}` } }, KEY],
    [{ headers: { authorization: `Basic  ${KEY}` } }, KEY],
    [{ headers: { "x-key": "sk-1234" } }, "sk-1234"],
    [{ query: `?api-key=${KEY}` }, KEY],
  ];

test.each(SECRETS)(
  "EM2 a key in a header or in the URL is in no error either: %j",
  async ({ headers = {}, query = "" }, key) => {
    const server = await start(() => ({ status: 401, json: { error: { message: `wrong: ${key}, Basic ${key}` } } }));
    const url = `${server.url}/v1${query}`;
    const embedder = openaiEmbedder({ ...MODEL, url, headers, retries: 0 });
    const error: unknown = await embedder
      .embed(["a"], { kind: "document", signal: new AbortController().signal })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringContaining("wrong: [key]") });
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(key);
  },
);

test("EM2 a server that repeats the URL shows no key of it, in no form", async () => {
  const token = "tok_0123456789abcdefSECRET";
  const answers: readonly ((path: string) => string)[] = [
    (path) => path,
    (path) => decodeURIComponent(path),
    (path) => decodeURIComponent(path.replaceAll("+", " ")),
    (path) => path.replaceAll("&", "&amp;"),
    (path) => [...new URLSearchParams(path.split("?")[1]).values()].map(encodeURIComponent).join(),
  ];
  const server = await start(({ path }, count) => ({
    status: 404,
    json: { message: `Cannot POST ${answers[count]?.(path)}` },
  }));
  const url = `${server.url}/${token}/v1?a=1&api-key=ab%2Fcd%3D%3DSECRET&other=ef+gh%2BijSECRET&SECRETwithoutname`;
  const embedder = openaiEmbedder({ ...MODEL, url, retries: 0 });
  for (const _ of answers) {
    const error: unknown = await embedder.embed(["a"], { kind: "query" }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringMatching(/HTTP 404: Cannot POST .*\[key\]/) });
    expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(/SECRET|ab%2F|ab\/cd|gh.*ij/);
  }
  expect(server.requests).toHaveLength(answers.length);
});

test("EM2 does not follow a redirect, which could take the key elsewhere", async () => {
  const target = await start();
  const server = await start(() => ({ status: 307, headers: { location: `${target.url}/v1/embeddings` } }));
  await expect(attempt(server, waitRecorder().environment)).rejects.toMatchObject({
    code: "Redirected",
    retryable: false,
  });
  expect(target.requests).toEqual([]);
});

test.each([
  [{ url: "not an address" }, "url must be"],
  [{ url: "file:///etc/passwd" }, "url must be"],
  [{ url: "http://user:secret@127.0.0.1/v1" }, "a user name or a password"],
  [{ apiKey: "secret\n" }, "apiKey must be"],
  [{ apiKey: "" }, "apiKey must be"],
  [{ headers: { "x-key": "secret\r\nx: y" } }, "no HTTP header"],
  [{ headers: { "bad name": "secret" } }, "no HTTP header"],
  [{ dimensions: 0 }, "dimensions must be"],
  [{ model: "" }, "model must be"],
  [{ retries: -1 }, "retries must be"],
  [{ timeout: 5 }, "timeoutMs"],
  [{ prefixes: { documents: "x" } }, "prefixes must be made of"],
  [{ maxChars: 0.5 }, "maxChars must be"],
])("EM2 refuses %j without showing secrets", (options, why) => {
  const make = () => openaiEmbedder({ ...MODEL, url: "http://127.0.0.1/v1", ...options } as OpenAIEmbedderOptions);
  expect(make).toThrow(why);
  expect(make).not.toThrow(/secret/);
});
