// Whatever a caller has for a model, as a chat model.
import type { ChatFunction, ChatModel, ChatReply } from "../contracts/chat.ts";
import { invalid } from "../core/check.ts";
import { type AiSdkLanguageModel, aiSdkModel } from "./ai-sdk.ts";

/** A chat model, a language model of the AI SDK, or a function. */
export type AnyChatModel = ChatModel | AiSdkLanguageModel | ChatFunction;

export function chatModelOf(model: AnyChatModel, what = "model"): ChatModel {
  if (typeof model === "function") return functionModel(model);
  // A caller without the compiler may give anything.
  if (typeof model === "object" && model !== null) {
    if ("generate" in model && typeof model.generate === "function") return model;
    if ("doStream" in model && typeof model.doStream === "function") return aiSdkModel(model);
  }
  throw invalid(what, "a chat model, a language model of the AI SDK, or a function", model);
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
