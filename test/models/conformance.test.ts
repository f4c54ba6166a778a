// Every adapter, with the real SDK behind it, against the fake server: the same script gives the same reply, whichever
// interface it comes through, and what was kept goes back as it came.
import { afterEach, describe, expect, test } from "vitest";
import type { ChatReply, ChatRequest } from "../../src/contracts/chat.ts";
import type { ContextMessage } from "../../src/contracts/context.ts";
import type { ContentBlock, Role } from "../../src/contracts/messages.ts";
import type { DescribedTool } from "../../src/contracts/tool-schemas.ts";
import { ModelError } from "../../src/models/failure.ts";
import { answerInOrder, type FakeModels, type FakeScript, startFakeModels, USAGE } from "../fake-models.ts";
import { ADAPTERS, type Adapter } from "./adapters.ts";
import { modelCall } from "./model-call.ts";

const TOOLS: readonly DescribedTool[] = ["look", "refund"].map((name) => ({
  name,
  description: `does ${name}`,
  inputSchema: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
}));

let server: FakeModels | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(script: FakeScript): Promise<FakeModels> {
  server = await startFakeModels(script);
  return server;
}

function messageFrom(role: Role, ...content: readonly (ContentBlock | string)[]): ContextMessage {
  const blocks = content.map((one): ContentBlock => (typeof one === "string" ? { type: "text", text: one } : one));
  return { id: null, agent: null, role, content: blocks, repaired: false };
}

function request(...messages: readonly ContextMessage[]): ChatRequest {
  return { system: "Be brief.", messages, tools: TOOLS };
}

const HELLO = request(messageFrom("user", "Refund order 7"));

/** What people and other providers see of it. */
function visible({ content }: ChatReply): readonly ChatReply["content"][number][] {
  return content.flatMap((block): readonly ChatReply["content"][number][] => {
    if (block.type === "opaque") return [];
    return block.type === "thinking" ? [{ type: "thinking", thinking: block.thinking }] : [block];
  });
}

describe.each(ADAPTERS)("RU19 $name", (adapter: Adapter) => {
  const make = (url: string, options = {}) => adapter.make(url, options);

  test("RU19 gives a text, its tokens as they come, and what it used", async () => {
    const { url, requests } = await serve(answerInOrder({ text: "Order 7 was paid twice." }));
    const call = modelCall();
    const reply = await make(url).generate(HELLO, call);
    expect(visible(reply)).toEqual([{ type: "text", text: "Order 7 was paid twice." }]);
    expect(call.said.length).toBeGreaterThan(1);
    expect(call.said.join("")).toBe("Order 7 was paid twice.");
    const { finish, inputTokens, cachedTokens, outputTokens, costUsd } = reply;
    expect({ finish, inputTokens, cachedTokens, outputTokens, costUsd }).toEqual({
      finish: "stop",
      inputTokens: USAGE.plain,
      cachedTokens: USAGE.cached,
      outputTokens: USAGE.output,
      costUsd: null,
    });
    expect(requests).toMatchObject([{ system: "Be brief.", tools: ["look", "refund"] }]);
    expect(requests[0]?.turns).toEqual([{ role: "user", text: "Refund order 7", calls: [], results: [] }]);
  });

  test("RU19 knows the cost where it knows the price", async () => {
    const { url } = await serve(answerInOrder({ text: "ok" }));
    const price = { inputPerMTok: 3, outputPerMTok: 15, cachedInputPerMTok: 0.3 };
    const { costUsd } = await make(url, { price }).generate(HELLO, modelCall());
    expect(costUsd).toBeCloseTo((60 * 3 + 40 * 0.3 + 20 * 15) / 1e6, 12);
  });

  test("RU19 gives tool calls made together, each with its id and input", async () => {
    const tools = [
      { name: "look", input: { order: "7" } },
      { name: "look", input: { order: "8" } },
      { name: "refund", input: {} },
    ];
    const { url } = await serve(answerInOrder({ text: "Let me look.", tools }));
    const reply = await make(url).generate(HELLO, modelCall());
    expect(reply.finish).toBe("tools");
    expect(visible(reply)).toEqual([
      { type: "text", text: "Let me look." },
      { type: "tool_use", id: "call_0_0", name: "look", input: { order: "7" } },
      { type: "tool_use", id: "call_0_1", name: "look", input: { order: "8" } },
      { type: "tool_use", id: "call_0_2", name: "refund", input: {} },
    ]);
  });

  test("RU19 marks arguments that are no JSON object, and lives", async () => {
    const tools = ['{"order": "7', "7", '"text"', '{"a":"\\ud800"}'].map((json) => ({ name: "look", json }));
    const { url } = await serve(answerInOrder({ tools }, { text: "sorry" }));
    const model = make(url);
    const reply = await model.generate(HELLO, modelCall());
    const uses = reply.content.filter((block) => block.type === "tool_use");
    expect(uses.map(({ input }) => input)).toEqual(tools.map(({ json }) => ({ $invalid: json })));
    // What was marked is sent back as any other input is.
    const results = uses.map(({ id }) => ({
      type: "tool_result" as const,
      toolUseId: id,
      content: "bad",
      isError: true,
    }));
    const next = request(
      ...HELLO.messages,
      messageFrom("assistant", ...reply.content),
      messageFrom("tool", ...results),
    );
    expect(visible(await model.generate(next, modelCall()))).toEqual([{ type: "text", text: "sorry" }]);
  });

  test("RU19 sends a conversation back as it was, with what its provider wants to see again", async () => {
    const answers = answerInOrder(
      { thinking: "hm", text: "Looking.", tools: [{ name: "look", input: { order: "7" } }] },
      { text: "done" },
    );
    const { url, requests } = await serve(answers);
    const model = make(url);
    const first = await model.generate(HELLO, modelCall());
    if (adapter.keepsThinking) expect(visible(first)[0]).toEqual({ type: "thinking", thinking: "hm" });
    const result = { type: "tool_result", toolUseId: "call_0_0", content: "paid twice" } as const;
    const second = request(...HELLO.messages, messageFrom("assistant", ...first.content), messageFrom("tool", result));
    expect(visible(await model.generate(second, modelCall()))).toEqual([{ type: "text", text: "done" }]);
    const turns = requests[1]?.turns ?? [];
    expect(turns.map(({ role, text, calls, results }) => ({ role, text, calls, results }))).toEqual([
      { role: "user", text: "Refund order 7", calls: [], results: [] },
      { role: "assistant", text: "Looking.", calls: [{ id: "call_0_0", name: "look" }], results: [] },
      { role: "user", text: "", calls: [], results: [{ id: "call_0_0", text: "paid twice" }] },
    ]);
    if (adapter.keepsThinking) expect(JSON.stringify(requests[1]?.body)).toContain("signed:hm");
  });

  test("RU19 sends opaque content only to where it came from", async () => {
    const { url, requests } = await serve(answerInOrder({ text: "ok" }));
    const strange: ContentBlock[] = [
      { type: "thinking", thinking: "a summary" },
      { type: "opaque", value: { from: "elsewhere", block: { type: "secret-elsewhere" } } },
      { type: "opaque", value: "secret-plain" },
      { type: "text", text: "hello" },
      { type: "opaque", value: { from: "elsewhere", adds: { note: "secret-field" } } },
    ];
    await make(url).generate(
      request(messageFrom("user", "hi"), messageFrom("assistant", ...strange), messageFrom("user", "go on")),
      modelCall(),
    );
    expect(JSON.stringify(requests[0]?.body)).not.toContain("secret");
    expect(requests[0]?.turns.map(({ text }) => text)).toEqual(["hi", "hello", "go on"]);
  });

  test("RU19 sends images and documents with their bytes, and tool results that have some", async () => {
    const { url, requests } = await serve(answerInOrder({ text: "a cat" }));
    const [image, file] = [new Uint8Array([137, 80, 78, 71]), new TextEncoder().encode("%PDF-1.4")];
    const call = modelCall({ "sha256:image": image, "sha256:file": file });
    const picture = { type: "image", source: { ref: "sha256:image", mediaType: "image/png" } } as const;
    const paper = {
      type: "document",
      source: { ref: "sha256:file", mediaType: "application/pdf" },
      title: "a.pdf",
    } as const;
    const use = { type: "tool_use", id: "c1", name: "look", input: {} } as const;
    const result = {
      type: "tool_result",
      toolUseId: "c1",
      content: [{ type: "text", text: "seen" }, picture],
    } as const;
    const messages = [
      messageFrom("user", "What is this?", picture, paper),
      messageFrom("assistant", use),
      messageFrom("tool", result),
    ];
    await make(url).generate(request(...messages), call);
    const body = JSON.stringify(requests[0]?.body);
    expect(body.split(Buffer.from(image).toString("base64")).length - 1).toBe(2);
    expect(body).toContain(Buffer.from(file).toString("base64"));
  });

  test("RU19 does not try again by itself, and says whether and when to", async () => {
    const { url, requests } = await serve(
      answerInOrder({ status: 429, headers: { "retry-after": "2" }, type: "rate_limit_error" }),
    );
    const error = await make(url)
      .generate(HELLO, modelCall())
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ status: 429, retryAfterMs: 2000, retryable: true });
    expect(requests).toHaveLength(1);
  });

  test.each([
    [{ status: 500 }, { status: 500, retryable: true }],
    [
      { status: 529, type: "overloaded_error" },
      { status: 529, retryable: true },
    ],
    [
      { status: 503, headers: { "x-should-retry": "false" } },
      { status: 503, retryable: false },
    ],
    [
      { status: 400, type: "invalid_request_error" },
      { status: 400, retryable: false },
    ],
    [
      { status: 401, type: "authentication_error" },
      { status: 401, retryable: false },
    ],
    [{ streamError: "server_error" }, { retryable: true }],
    [{ cut: { text: "Half of a reply that goes on and on" }, how: "end" }, { retryable: true }],
    [{ cut: { text: "Half of a reply that goes on and on" }, how: "reset" }, { retryable: true }],
    [{ cut: { tools: [{ name: "look", input: { order: "7" } }] }, how: "end" }, { retryable: true }],
  ] as const)("RU19 fails on %j", async (answer, expected) => {
    const { url, requests } = await serve(answerInOrder(answer));
    const error = await make(url)
      .generate(HELLO, modelCall())
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject(expected);
    expect(requests).toHaveLength(1);
  });

  test.each(["length", "refusal"] as const)("RU19 says that a reply ended with %s", async (finish) => {
    const { url } = await serve(answerInOrder({ text: "I", finish }));
    expect(await make(url).generate(HELLO, modelCall())).toMatchObject({ finish });
  });

  test("RU19 stops when its signal does", async () => {
    const { url } = await serve(() => ({ text: "never" }));
    const controller = new AbortController();
    controller.abort(new Error("stopped"));
    const call = { ...modelCall(), signal: controller.signal };
    await expect(make(url).generate(HELLO, call)).rejects.not.toBeInstanceOf(ModelError);
  });
});
