// The OpenAI Chat Completions API: a request read as a conversation, a reply written as a completion or as its stream.
import type { ApiError, Conversation, Reply } from "./script.ts";
import { fingerprint, pieces, promptTokens, tokensOf } from "./usage.ts";

type Content = string | readonly { readonly text?: string }[] | null;

interface Message {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly content?: Content;
  readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
}

export interface OpenAiRequest {
  readonly model?: string;
  readonly messages?: readonly Message[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly stream?: boolean;
}

const CREATED = 1_700_000_000;

export function conversationOf(request: OpenAiRequest): Conversation {
  const messages = request.messages ?? [];
  const isSystem = ({ role }: Message) => role === "system" || role === "developer";
  const turns = messages
    .filter((message) => !isSystem(message))
    .map(({ role, content, tool_calls = [] }) => ({
      role: role === "assistant" ? ("assistant" as const) : ("user" as const),
      text: role === "tool" ? "" : textOf(content),
      full: [textOf(content), ...tool_calls.map((call) => call.function.arguments)].join("\n"),
      isToolResult: role === "tool",
    }));
  const system = messages.filter(isSystem).map((message) => textOf(message.content));
  return {
    model: request.model ?? "",
    system: system.join("\n"),
    turns,
    tools: (request.tools ?? []).map((tool) => tool.function.name),
    fingerprint: fingerprint([request.model, messages]),
  };
}

function textOf(content: Content | undefined): string {
  return typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n");
}

export function completionOf(reply: Reply, conversation: Conversation): object {
  const calls = callsOf(reply, conversation.fingerprint);
  const message = {
    role: "assistant",
    content: reply.text ?? null,
    ...(reply.thinking ? { reasoning_content: reply.thinking } : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  return {
    ...envelope("chat.completion", conversation),
    choices: [{ index: 0, message, finish_reason: finishOf(reply), logprobs: null }],
    usage: usageOf(reply, conversation),
  };
}

/** A completion as server-sent events. */
export function streamOf(reply: Reply, conversation: Conversation): string[] {
  const base = envelope("chat.completion.chunk", conversation);
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason, logprobs: null }],
  });
  const calls = callsOf(reply, conversation.fingerprint).flatMap((call, index) => {
    const { name, arguments: input } = call.function;
    const begun = { index, ...call, function: { name, arguments: "" } };
    const rest = pieces(input).map((part) => ({ index, function: { arguments: part } }));
    return [begun, ...rest].map((one) => chunk({ tool_calls: [one] }));
  });
  const chunks = [
    chunk({ role: "assistant", content: "" }),
    ...(reply.thinking ? [chunk({ reasoning_content: reply.thinking })] : []),
    ...pieces(reply.text ?? "").map((content) => chunk({ content })),
    ...calls,
    chunk({}, finishOf(reply)),
    { ...base, choices: [], usage: usageOf(reply, conversation) },
  ];
  return [...chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`), "data: [DONE]\n\n"];
}

function envelope(object: string, { fingerprint, model }: Conversation): object {
  return { id: `chatcmpl-fake${fingerprint}`, object, created: CREATED, model };
}

function callsOf({ toolCalls = [] }: Reply, id: string) {
  return toolCalls.map((call, i) => ({
    id: `call_fake${id}${i}`,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.input) },
  }));
}

function finishOf(reply: Reply): string {
  return reply.toolCalls === undefined ? "stop" : "tool_calls";
}

function usageOf(reply: Reply, conversation: Conversation): object {
  const prompt_tokens = promptTokens(conversation);
  const completion_tokens = tokensOf((reply.text ?? "") + JSON.stringify(reply.toolCalls ?? ""));
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

export function errorOf({ type, message }: ApiError): object {
  return { error: { message, type, param: null, code: null } };
}
