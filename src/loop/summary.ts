// Summarises messages that no longer fit into a context, with a function or a model.
import type { ChatModel } from "../contracts/chat.ts";
import type { ContextMessage } from "../contracts/context.ts";
import type { ContentBlock } from "../contracts/messages.ts";
import type { ModelCall, ModelReply } from "../contracts/models.ts";
import { invalid } from "../core/check.ts";
import type { AiSdkLanguageModel } from "../models/ai-sdk.ts";
import { chatModelOf } from "../models/any.ts";
import { ModelError } from "../models/failure.ts";
import { describeMedia } from "../models/media.ts";

export type SummaryFunction = (messages: readonly ContextMessage[], call: ModelCall) => string | Promise<string>;
export type Summarize = SummaryFunction | ChatModel | AiSdkLanguageModel;

export interface Summarizer {
  readonly provider: string;
  readonly model: string;
  summarize(messages: readonly ContextMessage[], call: ModelCall): Promise<ModelReply>;
}

const SYSTEM = `You write summaries of conversations between a user and an assistant that uses tools. The summary replaces the
messages, so keep everything that is needed to go on: what the user wants, decisions, facts, names, numbers and ids, what was done
and what is still to do. Write plain text, and nothing but the summary.`;
const HEADING = "Summary of the conversation so far:";

export function summarizerOf(given: Summarize): Summarizer {
  if (typeof given === "function") {
    return {
      provider: "function",
      model: given.name === "" ? "summarize" : given.name,
      summarize: async (messages, call) => ({ output: summaryOf(await given(messages, call)) }),
    };
  }
  const chat = chatModelOf(given, "toolLoop.summarize");
  return {
    provider: chat.provider,
    model: chat.model,
    async summarize(messages, call) {
      const text = messages.map(lineOf).join("\n\n");
      const asked: ContextMessage = {
        id: null,
        agent: null,
        role: "user",
        repaired: false,
        content: [{ type: "text", text: `Summarise this conversation:\n\n${text}` }],
      };
      // The summary is not part of the answer that the caller streams.
      const quiet: ModelCall = { ...call, token: () => {} };
      const {
        content,
        finish: _,
        ...usage
      } = await chat.generate({ system: SYSTEM, messages: [asked], tools: [] }, quiet);
      return { output: summaryOf(content.map(textOf).join("")), ...usage };
    },
  };
}

/** An empty summary is an error, so that the call is retried. */
function summaryOf(text: unknown): string {
  if (typeof text !== "string") throw invalid("summarize()", "a text", text);
  if (text.trim() === "") throw new ModelError("EmptySummary", "the summary is empty");
  return `${HEADING}\n${text.toWellFormed()}`;
}

function lineOf({ role, content }: ContextMessage): string {
  return `${role}: ${content
    .map(textOf)
    .filter((text) => text !== "")
    .join("\n")}`;
}

function textOf(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "tool_use":
      return `[calls ${block.name} with ${JSON.stringify(block.input)}]`;
    case "tool_result": {
      const text = typeof block.content === "string" ? block.content : block.content.map(textOf).join("\n");
      return `[${block.isError === true ? "error" : "result"}: ${text}]`;
    }
    case "thinking":
    case "opaque":
      return "";
    default:
      return describeMedia(block);
  }
}
