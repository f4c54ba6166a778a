// What servers that speak the language of Chat Completions send otherwise than OpenAI does.
import { expect, test } from "vitest";
import { modelCall } from "../../test/models/model-call.ts";
import type { ChatReply } from "../contracts/chat.ts";
import { type OpenAIChunk, openaiChatModel } from "./openai-chat.ts";

const CALL = modelCall();

async function replyTo(...chunks: readonly OpenAIChunk["choices"][number][]): Promise<ChatReply> {
  async function* stream(): AsyncGenerator<OpenAIChunk> {
    for (const choice of chunks) yield { choices: [choice] };
  }
  const client = { chat: { completions: { create: async () => stream() } } };
  return openaiChatModel(client, { model: "m" }).generate({ system: "", messages: [], tools: [] }, CALL);
}

test("RU19 tool calls without an index or an id are calls of their own", async () => {
  const use = (name: string, order: number) => ({ function: { name, arguments: JSON.stringify({ order }) } });
  const { content } = await replyTo(
    { delta: { tool_calls: [use("look", 1), use("refund", 2)] } },
    { delta: {}, finish_reason: "tool_calls" },
  );
  expect(content).toEqual([
    { type: "tool_use", id: "call_0123456789ab_0", name: "look", input: { order: 1 } },
    { type: "tool_use", id: "call_0123456789ab_1", name: "refund", input: { order: 2 } },
  ]);
});

test("RU19 a refusal is one whatever the reply ended with", async () => {
  const reply = await replyTo({ delta: { refusal: "I can" } }, { delta: { refusal: "not." }, finish_reason: "stop" });
  expect(reply).toMatchObject({ content: [{ type: "text", text: "I cannot." }], finish: "refusal" });
});
