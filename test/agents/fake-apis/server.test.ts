// The fake APIs by themselves, over HTTP as an agent speaks to them. What the agents make of it is tested in ../.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { filler, findDirectives } from "./script.ts";
import { type FakeApis, startFakeApis } from "./server.ts";

const folder = mkdtempSync(path.join(tmpdir(), "holdfast-fake-apis-"));
const logFile = path.join(folder, "requests.jsonl");
let api: FakeApis;

beforeAll(async () => {
  const scripts = { child: '[[tool bash {"command":"echo child"}]] [[say child done]]' };
  api = await startFakeApis({ logFile, scripts });
});
beforeEach(() => api.clear());
afterAll(async () => {
  await api.close();
  rmSync(folder, { recursive: true, force: true });
});

function post(route: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const type = { "content-type": "application/json" };
  return fetch(api.url + route, { method: "POST", headers: { ...type, ...headers }, body: JSON.stringify(body) });
}

// biome-ignore lint/suspicious/noExplicitAny: what an API answers is looked at field by field
async function answer(route: string, body: object): Promise<any> {
  return await (await post(route, body)).json();
}

const anthropic = (messages: object[], more: object = {}) =>
  answer("/v1/messages", { model: "m", tools: [{ name: "Bash" }], messages, ...more });

function dataOf(stream: string): string[] {
  return stream.split("\n\n").flatMap((block) => /^data: (.*)$/m.exec(block)?.[1] ?? []);
}

describe("a script", () => {
  test("has directives that nest and keep their order", () => {
    const text = 'a [[say x]] b [[tool Agent {"prompt":"[[say y]]"}]]';
    expect(findDirectives(text)).toEqual(["say x", 'tool Agent {"prompt":"[[say y]]"}']);
    expect(findDirectives("no ]] directives [ [here")).toEqual([]);
  });

  test("has filler of an exact size, the same each time", () => {
    expect(filler(5000, "x")).toHaveLength(5000);
    expect(filler(5000, "x")).toBe(filler(5000, "x"));
    expect(filler(5000, "x")).not.toBe(filler(5000, "y"));
  });

  test("that is wrong says so in the answer", async () => {
    const replyTo = async (content: string) => (await anthropic([{ role: "user", content }])).content[0].text;
    expect(await replyTo("[[tool Bash {oops}]]")).toMatch(/^\[fake\] bad directive "tool Bash \{oops\}":/);
    expect(await replyTo("[[dance]]")).toBe("[fake] unknown directive dance");
    expect(await replyTo("[[script none]]")).toBe("[fake] no script named none");
    expect(await replyTo("[[tool Nope {}]]")).toBe("[fake] tool not offered: Nope");
    expect(await replyTo("[[recall (]]")).toMatch(/^\[fake\] bad directive "recall \(":/);
  });
});

describe("Anthropic Messages", () => {
  test("a script runs step by step, from the request alone", async () => {
    const messages: object[] = [
      { role: "user", content: 'Go. [[think hm]] [[tool Bash {"command":"ls"}]] [[say done]]' },
    ];
    const first = await anthropic(messages);
    expect(first.stop_reason).toBe("tool_use");
    expect(first.content).toMatchObject([{ type: "thinking" }, { type: "tool_use", input: { command: "ls" } }]);

    const result = { type: "tool_result", tool_use_id: first.content[1].id, content: "a.txt" };
    messages.push({ role: "assistant", content: first.content }, { role: "user", content: [result] });
    const second = await anthropic(messages);
    expect(second).toMatchObject({ stop_reason: "end_turn", content: [{ type: "text", text: "done" }] });
    expect(await anthropic(messages)).toEqual(second);
  });

  test("the stream carries the same message", async () => {
    const messages = [{ role: "user", content: '[[think why]] [[tool Bash {"command":"ls"}]]' }];
    const request = { model: "m", stream: true, tools: [{ name: "Bash" }], messages };
    const response = await post("/v1/messages?beta=true", request);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const events = dataOf(await response.text()).map((data) => JSON.parse(data));
    expect([events[0].type, events.at(-1).type]).toEqual(["message_start", "message_stop"]);
    const deltas = events.flatMap((event) => event.delta ?? []);
    expect(JSON.parse(deltas.map((delta) => delta.partial_json ?? "").join(""))).toEqual({ command: "ls" });
    expect(deltas.map((delta) => delta.thinking ?? "").join("")).toBe("why");
    expect(deltas.at(-1)).toMatchObject({ stop_reason: "tool_use" });
  });

  test("recall searches only what came before the prompt", async () => {
    const reminder = { type: "text", text: "<system-reminder>CODEWORD-8</system-reminder>" };
    const prompt = { type: "text", text: "CODEWORD-9 [[recall CODEWORD-\\d+]]" };
    const { content } = await anthropic([
      { role: "user", content: "The word is CODEWORD-7." },
      { role: "assistant", content: "ok" },
      { role: "user", content: [reminder, prompt] },
    ]);
    expect(content[0].text).toBe('RECALL earlier=2 found=["CODEWORD-7"]');
  });

  test("of merged prompts the last one counts", async () => {
    const texts = ["CODEWORD-1 [[error 400 x]]", "next [[recall CODEWORD-\\d+]]"];
    const { content } = await anthropic([{ role: "user", content: texts.map((text) => ({ type: "text", text })) }]);
    expect(content[0].text).toBe('RECALL earlier=1 found=["CODEWORD-1"]');
  });

  test("tokens, scripted errors and summaries", async () => {
    const count = { messages: [{ role: "user", content: "x".repeat(400) }] };
    expect((await answer("/v1/messages/count_tokens", count)).input_tokens).toBeGreaterThanOrEqual(100);

    const busy = { messages: [{ role: "user", content: "[[error 529 overloaded_error busy now]]" }] };
    const failed = await post("/v1/messages", busy);
    expect(failed.status).toBe(529);
    expect(await failed.json()).toEqual({ type: "error", error: { type: "overloaded_error", message: "busy now" } });

    const summary = await anthropic([
      { role: "user", content: "MARK-1" },
      { role: "assistant", content: "ok" },
      { role: "user", content: "Your task is to create a detailed summary of the conversation so far" },
    ]);
    expect(summary.content[0].text).toMatch(/<summary>.*MARK-1<\/summary>/);
  });

  test("a cut stream ends without its last events", async () => {
    const messages = [{ role: "user", content: "[[cut half an answer]]" }];
    const response = await post("/v1/messages", { stream: true, messages });
    await expect(response.text()).rejects.toThrow();
  });

  test("a request without an answer stays open, and closing ends it", async () => {
    const other = await startFakeApis();
    const body = JSON.stringify({ messages: [{ role: "user", content: "[[hang]]" }] });
    const pending = fetch(`${other.url}/v1/messages`, { method: "POST", body });
    pending.catch(() => undefined);
    await expect.poll(() => other.log.length).toBe(1);
    await other.close();
    await expect(pending).rejects.toThrow();
  });
});

describe("OpenAI Chat Completions", () => {
  const tools = [{ type: "function", function: { name: "bash" } }];

  test("tool call, result, end, in both forms", async () => {
    const messages: object[] = [
      { role: "system", content: "be nice" },
      { role: "user", content: "Go [[script child]]" },
    ];
    const first = await answer("/v1/chat/completions", { model: "m", tools, messages });
    const { message, finish_reason } = first.choices[0];
    expect(finish_reason).toBe("tool_calls");
    expect(JSON.parse(message.tool_calls[0].function.arguments)).toEqual({ command: "echo child" });

    messages.push(message, { role: "tool", tool_call_id: message.tool_calls[0].id, content: "child" });
    const response = await post("/v1/chat/completions", { model: "m", stream: true, tools, messages });
    const data = dataOf(await response.text());
    expect(data.pop()).toBe("[DONE]");
    const chunks = data.map((text) => JSON.parse(text));
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toBe("child done");
    expect(chunks.at(-1).usage.total_tokens).toBeGreaterThan(0);
  });

  test("a title request does not run the script", async () => {
    const messages = [
      { role: "system", content: "You are a title generator." },
      { role: "user", content: "[[tool bash {}]]" },
    ];
    const { choices } = await answer("/v1/chat/completions", { model: "m", messages });
    expect(choices[0].message.content).toBe("Fake title");
  });
});

test("every request is logged, without secrets", async () => {
  const secrets = { "x-api-key": "top-secret", authorization: "Bearer top-secret" };
  await post("/v1/messages", { messages: [{ role: "user", content: "hi" }] }, secrets);
  expect(api.log).toMatchObject([
    { path: "/v1/messages", headers: { "x-api-key": "[redacted]" }, body: { messages: [{ content: "hi" }] } },
  ]);
  expect(api.log[0]?.reply?.text).toBe("OK. (1 messages seen)");
  expect(readFileSync(logFile, "utf8")).not.toContain("top-secret");
  expect(await (await fetch(`${api.url}/__log`)).json()).toHaveLength(1);
  await fetch(`${api.url}/__log`, { method: "DELETE" });
  expect(api.log).toHaveLength(0);
});

test("lists of models have the form of the API that asks", async () => {
  const list = async (headers: Record<string, string>) =>
    await (await fetch(`${api.url}/v1/models`, { headers })).json();
  expect(await list({})).toMatchObject({ object: "list", data: [{ id: "fake-model" }] });
  expect(await list({ "anthropic-version": "2023-06-01" })).toMatchObject({ data: [{ type: "model" }] });
});
