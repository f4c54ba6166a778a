// The AI SDK's older specifications, of which no provider is installed: models written against its own types, so that what
// they are given and what they give is what those versions say.
import { createAnthropic } from "@ai-sdk/anthropic";
import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import type { LanguageModel } from "ai";
import { describe, expect, expectTypeOf, test } from "vitest";
import type { ChatRequest } from "../../src/contracts/chat.ts";
import type { ContextMessage } from "../../src/contracts/context.ts";
import type { ContentBlock, Role } from "../../src/contracts/messages.ts";
import { type AiSdkLanguageModel, aiSdkModel } from "../../src/models/ai-sdk.ts";
import type { AnyChatModel } from "../../src/models/any.ts";
import { modelCall } from "./model-call.ts";

function messageFrom(role: Role, ...content: readonly ContentBlock[]): ContextMessage {
  return { id: null, agent: null, role, content, repaired: false };
}

const IMAGE = { type: "image", source: { ref: "sha256:i", mediaType: "image/png" } } as const;
const ASKED: ChatRequest = {
  system: "Be brief.",
  tools: [{ name: "look", inputSchema: { type: "object" } }],
  messages: [
    messageFrom("user", { type: "text", text: "hi" }, IMAGE),
    messageFrom("assistant", { type: "tool_use", id: "c1", name: "look", input: { a: 1 } }),
    messageFrom("tool", { type: "tool_result", toolUseId: "c1", content: [IMAGE] }),
  ],
};

/** What a model was given, and a reply with a text, a thought with metadata, a call and a file. */
function stream<Part>(parts: readonly Part[]): ReadableStream<Part> {
  return ReadableStream.from(parts) as ReadableStream<Part>;
}

const METADATA = { fake: { signature: "s1" } };
const base = {
  provider: "fake",
  modelId: "m",
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("unused")),
};

function v2(given: unknown[]): LanguageModelV2 {
  return {
    specificationVersion: "v2",
    ...base,
    async doStream({ prompt }) {
      given.push(prompt);
      const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 4 };
      return {
        stream: stream([
          { type: "stream-start", warnings: [] },
          { type: "reasoning-start", id: "1" },
          { type: "reasoning-delta", id: "1", delta: "hm" },
          { type: "reasoning-end", id: "1", providerMetadata: METADATA },
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: "hello" },
          { type: "text-end", id: "1" },
          { type: "tool-call", toolCallId: "c2", toolName: "look", input: '{"a":2}', providerMetadata: METADATA },
          { type: "finish", usage, finishReason: "tool-calls" },
        ]),
      };
    },
  };
}

function v3(given: unknown[]): LanguageModelV3 {
  return {
    specificationVersion: "v3",
    ...base,
    async doStream({ prompt }) {
      given.push(prompt);
      const inputTokens = { total: 10, noCache: 6, cacheRead: 4, cacheWrite: undefined };
      const usage = { inputTokens, outputTokens: { total: 5, text: 5, reasoning: 0 } };
      return {
        stream: stream([
          { type: "reasoning-start", id: "1" },
          { type: "reasoning-delta", id: "1", delta: "hm", providerMetadata: METADATA },
          { type: "reasoning-end", id: "1" },
          { type: "text-start", id: "2" },
          { type: "text-delta", id: "2", delta: "hello" },
          { type: "text-end", id: "2" },
          { type: "tool-call", toolCallId: "c2", toolName: "look", input: '{"a":2}', providerMetadata: METADATA },
          { type: "finish", usage, finishReason: { unified: "tool-calls", raw: "tool_use" } },
        ]),
      };
    },
  };
}

const MODELS = [
  ["v2", v2, { type: "media", data: "AQI=", mediaType: "image/png" }],
  ["v3", v3, { type: "image-data", data: "AQI=", mediaType: "image/png" }],
] as const;

describe("RU19 a language model of the specification", () => {
  test.each(MODELS)("RU19 %s is asked and understood in its own words", async (_, make, image) => {
    const given: unknown[] = [];
    const bytes = new Uint8Array([1, 2]);
    const model = aiSdkModel(make(given));
    const reply = await model.generate(ASKED, modelCall({ "sha256:i": bytes }));
    expect(given[0]).toEqual([
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "hi" },
          { type: "file", mediaType: "image/png", data: bytes },
        ],
      },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "look", input: { a: 1 } }] },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "c1", toolName: "look", output: { type: "content", value: [image] } },
        ],
      },
    ]);
    expect(reply).toMatchObject({ finish: "tools", inputTokens: 10, outputTokens: 5, cachedTokens: 4, costUsd: null });
    await model.generate({ ...ASKED, messages: [messageFrom("assistant", ...reply.content)] }, modelCall());
    expect(given[1]).toEqual([
      { role: "system", content: "Be brief." },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm", providerOptions: METADATA },
          { type: "text", text: "hello" },
          { type: "tool-call", toolCallId: "c2", toolName: "look", input: { a: 2 }, providerOptions: METADATA },
        ],
      },
    ]);
  });

  test("RU19 every language model of the AI SDK is one that is taken", () => {
    expectTypeOf<LanguageModelV2>().toExtend<AiSdkLanguageModel>();
    expectTypeOf<LanguageModelV3>().toExtend<AiSdkLanguageModel>();
    expectTypeOf<LanguageModelV4>().toExtend<AiSdkLanguageModel>();
    expectTypeOf<Exclude<LanguageModel, string>>().toExtend<AnyChatModel>();
    expect(aiSdkModel(createAnthropic({ apiKey: "test" })("m"))).toMatchObject({
      provider: "anthropic.messages",
      model: "m",
    });
  });
});
