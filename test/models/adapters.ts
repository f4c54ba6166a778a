// Every adapter with the client of the real SDK behind it, pointed at the fake server.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { ChatModel, ChatModelOptions } from "../../src/contracts/chat.ts";
import { aiSdkModel } from "../../src/models/ai-sdk.ts";
import { anthropicModel } from "../../src/models/anthropic.ts";
import { openaiChatModel } from "../../src/models/openai-chat.ts";
import { openaiResponsesModel } from "../../src/models/openai-responses.ts";
import type { FakeApi } from "../fake-models.ts";

export interface Adapter {
  readonly name: string;
  readonly api: FakeApi;
  /** Whether thinking comes back with what the provider needs to take it again. */
  readonly keepsThinking: boolean;
  readonly make: (url: string, options?: ChatModelOptions) => ChatModel;
}

const apiKey = "test";
const model = "fake";

export const ADAPTERS: readonly Adapter[] = [
  {
    name: "Anthropic SDK",
    api: "anthropic",
    keepsThinking: true,
    make: (url, options) =>
      anthropicModel(new Anthropic({ apiKey, baseURL: url }), { model, maxTokens: 1000, ...options }),
  },
  {
    name: "OpenAI SDK, chat",
    api: "openai-chat",
    keepsThinking: false,
    make: (url, options) => openaiChatModel(new OpenAI({ apiKey, baseURL: `${url}/v1` }), { model, ...options }),
  },
  {
    name: "OpenAI SDK, responses",
    api: "openai-responses",
    keepsThinking: true,
    make: (url, options) => openaiResponsesModel(new OpenAI({ apiKey, baseURL: `${url}/v1` }), { model, ...options }),
  },
  {
    name: "AI SDK, Anthropic",
    api: "anthropic",
    keepsThinking: true,
    make: (url, options) => aiSdkModel(createAnthropic({ apiKey, baseURL: `${url}/v1` })(model), options),
  },
  {
    name: "AI SDK, OpenAI chat",
    api: "openai-chat",
    keepsThinking: false,
    make: (url, options) => aiSdkModel(createOpenAI({ apiKey, baseURL: `${url}/v1` }).chat(model), options),
  },
  {
    name: "AI SDK, OpenAI responses",
    api: "openai-responses",
    keepsThinking: true,
    make: (url, options) =>
      aiSdkModel(createOpenAI({ apiKey, baseURL: `${url}/v1` }).responses(model), {
        ...options,
        params: { providerOptions: { openai: { store: false, forceReasoning: true } } },
      }),
  },
];
