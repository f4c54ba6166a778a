// Whatever a caller has for a model, as a chat model.
import type { ChatFunction, ChatModel, ChatReply } from "../contracts/chat.ts";
import { invalid } from "../core/check.ts";
import { type AiSdkLanguageModel, type AiSdkOptions, aiSdkModel } from "./ai-sdk.ts";

/** A chat model, a language model of the AI SDK, or a function. */
export type AnyChatModel = ChatModel | AiSdkLanguageModel | ChatFunction;

export function chatModelOf(model: AnyChatModel, options: AiSdkOptions = {}): ChatModel {
  if (typeof model === "function") return functionModel(model);
  if ("generate" in model && typeof model.generate === "function") return model;
  if ("doStream" in model && typeof model.doStream === "function") return aiSdkModel(model, options);
  throw invalid("model", "a chat model, a language model of the AI SDK, or a function", model);
}

export function functionModel(generate: ChatFunction, name = generate.name): ChatModel {
  return {
    provider: "function",
    model: name === "" ? "function" : name,
    generate: async (request, call) => replyOf(await generate(request, call)),
  };
}

function replyOf(reply: ChatReply | string): ChatReply {
  return typeof reply === "string" ? { content: [{ type: "text", text: reply }], finish: "stop" } : reply;
}
