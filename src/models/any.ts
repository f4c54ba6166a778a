// Converts any model that a caller may pass to a chat model.
import type { ChatFunction, ChatModel, ChatReply } from "../contracts/chat.ts";
import { invalid } from "../core/check.ts";
import { type AiSdkLanguageModel, aiSdkModel } from "./ai-sdk.ts";

/** A chat model, a language model of the AI SDK, or a function. */
export type AnyChatModel = ChatModel | AiSdkLanguageModel | ChatFunction;

export function chatModelOf(model: AnyChatModel, what = "model"): ChatModel {
  if (typeof model === "function") return functionModel(model);
  // A JavaScript caller may pass any value.
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

/** A JavaScript function may return any value: a value that is not a reply is refused before it is recorded. */
function replyOf(reply: ChatReply | string): ChatReply {
  if (typeof reply === "string") return { content: [{ type: "text", text: reply }], finish: "stop" };
  const content: unknown = reply?.content;
  if (typeof content === "string") return { ...reply, content: [{ type: "text", text: content }] };
  if (!Array.isArray(content)) throw invalid("the model's reply", "a text, or { content: blocks, finish }", reply);
  return reply;
}
