// What only the Anthropic API has: signatures, cache marks, blocks that we do not know, turns that pause.
import { expect, test } from "vitest";
import { modelCall } from "../../test/models/model-call.ts";
import type { ChatReply, ChatRequest } from "../contracts/chat.ts";
import type { ContextMessage } from "../contracts/context.ts";
import type { ContentBlock, Role } from "../contracts/messages.ts";
import type { ModelCall } from "../contracts/models.ts";
import { type AnthropicEvent, anthropicModel } from "./anthropic.ts";
import type { AnthropicOptions, AnthropicRequest } from "./anthropic-request.ts";

const CALL: ModelCall = { ...modelCall(), readBlob: async () => new TextEncoder().encode("plain text") };
const CACHED = { cache_control: { type: "ephemeral" } };

function messageFrom(role: Role, ...content: readonly ContentBlock[]): ContextMessage {
  return { id: null, agent: null, role, content, repaired: false };
}

const ASKED: ChatRequest = {
  system: "Be brief.",
  messages: [messageFrom("user", { type: "text", text: "hi" })],
  tools: ["a", "b"].map((name) => ({ name, inputSchema: { type: "object" } })),
};

/** Sends the request; gives what was sent, and the reply. */
async function ask(
  request: ChatRequest,
  blocks: readonly object[] = [],
  options: Partial<AnthropicOptions> = {},
  stop = "end_turn",
): Promise<{ readonly body: AnthropicRequest; readonly reply: ChatReply }> {
  let body: AnthropicRequest | undefined;
  const usage = { input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 30, output_tokens: 1 };
  async function* events(): AsyncGenerator<AnthropicEvent> {
    yield { type: "message_start", message: { usage } };
    for (const [index, block] of blocks.entries()) {
      yield { type: "content_block_start", index, content_block: block };
      yield { type: "content_block_stop", index };
    }
    yield { type: "message_delta", delta: { stop_reason: stop }, usage: { output_tokens: 7, input_tokens: null } };
    yield { type: "message_stop" };
  }
  const client = {
    messages: {
      async create(given: AnthropicRequest) {
        body = given;
        return events();
      },
    },
  };
  const reply = await anthropicModel(client, { model: "m", maxTokens: 100, ...options }).generate(request, CALL);
  if (body === undefined) throw new Error("nothing was sent");
  return { body, reply };
}

test("RU19 marks system prompt, tools and the last message for the prompt cache", async () => {
  const { body } = await ask(ASKED, [], { cache: true });
  expect(body).toEqual({
    model: "m",
    max_tokens: 100,
    stream: true,
    system: [{ type: "text", text: "Be brief.", ...CACHED }],
    messages: [{ role: "user", content: [{ type: "text", text: "hi", ...CACHED }] }],
    tools: [
      { name: "a", input_schema: { type: "object" } },
      { name: "b", input_schema: { type: "object" }, ...CACHED },
    ],
  });
  expect(JSON.stringify((await ask(ASKED)).body)).not.toContain("cache_control");
});

test("RU19 counts what the cache gave and took, each at its price", async () => {
  const price = { inputPerMTok: 1, outputPerMTok: 10, cachedInputPerMTok: 0.1, cacheWritePerMTok: 1.25 };
  const { reply } = await ask(ASKED, [], { price });
  expect(reply).toMatchObject({ inputTokens: 60, cachedTokens: 20, outputTokens: 7 });
  expect(reply.costUsd).toBeCloseTo((10 + 20 * 0.1 + 30 * 1.25 + 70) / 1e6, 12);
});

test("RU19 sends signed thinking, unknown blocks and unknown fields back exactly", async () => {
  const blocks = [
    { type: "thinking", thinking: "", signature: "sig" },
    { type: "redacted_thinking", data: "secret" },
    { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "q" } },
    { type: "web_search_tool_result", tool_use_id: "srv_1", content: [{ type: "web_search_result", url: "u" }] },
    {
      type: "tool_use",
      id: "t1",
      name: "a",
      input: { x: 1 },
      caller: { type: "code_execution_20250825", tool_id: "z" },
    },
    { type: "tool_use", id: "t2", name: "b", input: {}, caller: { type: "direct" } },
  ];
  const { reply } = await ask(ASKED, blocks, {}, "tool_use");
  expect(reply.content.map(({ type }) => type)).toEqual([
    "thinking",
    "opaque",
    "opaque",
    "opaque",
    "tool_use",
    "opaque",
    "tool_use",
  ]);
  const result = (toolUseId: string): ContentBlock => ({ type: "tool_result", toolUseId, content: "ok" });
  const next = [
    ...ASKED.messages,
    messageFrom("assistant", ...reply.content),
    messageFrom("tool", result("t1"), result("t2")),
  ];
  const { body } = await ask({ ...ASKED, messages: next });
  const [, assistant] = body.messages;
  const { caller: _, ...direct } = blocks[5] as { readonly caller: object };
  expect(assistant).toEqual({ role: "assistant", content: [...blocks.slice(0, 5), direct] });
});

test("RU19 keeps one message a side, begins with the user's, and leaves out what the API refuses", async () => {
  const messages = [
    messageFrom(
      "assistant",
      { type: "thinking", thinking: "unsigned" },
      { type: "tool_use", id: "t", name: "a", input: [1] },
    ),
    messageFrom("tool", {
      type: "tool_result",
      toolUseId: "t",
      content: [{ type: "text", text: "no" }],
      isError: true,
    }),
    messageFrom("user", { type: "text", text: "  " }),
    messageFrom("system", { type: "text", text: "be kind" }),
    messageFrom("user", { type: "document", source: { ref: "sha256:x", mediaType: "text/markdown" }, title: "notes" }),
    messageFrom("user", { type: "image", source: { url: "https://example.com/a.png" } }),
    messageFrom("user", { type: "audio", source: { ref: "sha256:y" }, transcript: "hello" }),
  ];
  const { body } = await ask({ ...ASKED, messages });
  expect(body.messages).toEqual([
    { role: "user", content: [{ type: "text", text: "[Earlier messages are left out.]" }] },
    { role: "assistant", content: [{ type: "tool_use", id: "t", name: "a", input: { value: [1] } }] },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "no" }], is_error: true },
        { type: "text", text: "be kind" },
        { type: "document", source: { type: "text", media_type: "text/plain", data: "plain text" }, title: "notes" },
        { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
        { type: "text", text: "[audio: hello]" },
      ],
    },
  ]);
});

test("RU19 a paused turn is to be continued; what else ends a turn is told apart", async () => {
  for (const [stop, finish] of [
    ["pause_turn", "continue"],
    ["model_context_window_exceeded", "length"],
    ["something_new", "other"],
  ]) {
    expect((await ask(ASKED, [], {}, stop)).reply.finish).toBe(finish);
  }
});

test("RU19 further fields of the request are sent, and take nothing over", async () => {
  const params = { thinking: { type: "enabled", budget_tokens: 1024 }, model: "another", stream: false };
  const { body } = await ask(ASKED, [], { params });
  expect(body).toMatchObject({ thinking: params.thinking, model: "m", stream: true });
});
