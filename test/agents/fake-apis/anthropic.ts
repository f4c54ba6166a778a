// The Anthropic Messages API: a request read as a conversation, a reply written as a message or as its stream.
import { type ApiError, type Conversation, type Reply, type Turn, withoutReminders } from "./script.ts";
import { fingerprint, pieces, promptTokens, tokensOf } from "./usage.ts";

/** Blocks of a request; those of other types are passed over. */
interface Block {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly input?: unknown;
  readonly content?: Content;
}
type Content = string | readonly Block[];

interface Message {
  readonly role: "user" | "assistant";
  readonly content: Content;
}

export interface AnthropicRequest {
  readonly model?: string;
  readonly system?: Content;
  readonly messages?: readonly Message[];
  readonly tools?: readonly { readonly name: string }[];
  readonly stream?: boolean;
}

type Answer =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown };

export interface AnthropicMessage {
  readonly id: string;
  readonly type: "message";
  readonly role: "assistant";
  readonly model: string;
  readonly content: readonly Answer[];
  readonly stop_reason: "tool_use" | "end_turn";
  readonly stop_sequence: null;
  readonly usage: Readonly<Record<string, number>>;
}

export function conversationOf(request: AnthropicRequest): Conversation {
  const messages = request.messages ?? [];
  return {
    model: request.model ?? "",
    system: fullText(request.system ?? ""),
    turns: messages.flatMap(turnsOf),
    tools: (request.tools ?? []).map((tool) => tool.name),
    fingerprint: fingerprint([request.model, messages]),
  };
}

/** An agent may merge prompts that follow each other into one message: then each of its texts is a turn. */
function turnsOf(message: Message): Turn[] {
  const blocks = blocksOf(message.content);
  const texts = blocks.flatMap((block) => (block.type === "text" ? [block.text ?? ""] : []));
  const isToolResult = blocks.some((block) => block.type === "tool_result");
  const prompts = texts.filter((text) => withoutReminders(text) !== "");
  if (message.role === "user" && !isToolResult && prompts.length > 1) {
    return prompts.map((text) => ({ role: "user", text, full: text, isToolResult: false }));
  }
  return [{ role: message.role, text: texts.join("\n"), full: fullText(message.content), isToolResult }];
}

function blocksOf(content: Content): readonly Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function fullText(content: Content): string {
  const texts = blocksOf(content).map((block) => {
    if (block.type === "text") return block.text ?? "";
    if (block.type === "thinking") return block.thinking ?? "";
    if (block.type === "tool_use") return JSON.stringify(block.input);
    return block.type === "tool_result" ? fullText(block.content ?? "") : "";
  });
  return texts.join("\n");
}

export function messageOf(reply: Reply, conversation: Conversation): AnthropicMessage {
  const content = contentOf(reply, conversation.fingerprint);
  return {
    id: `msg_fake${conversation.fingerprint}`,
    type: "message",
    role: "assistant",
    model: conversation.model,
    content,
    stop_reason: reply.toolCalls === undefined ? "end_turn" : "tool_use",
    stop_sequence: null,
    usage: {
      input_tokens: promptTokens(conversation),
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: tokensOf(JSON.stringify(content)),
    },
  };
}

function contentOf({ thinking, text, toolCalls = [] }: Reply, id: string): Answer[] {
  return [
    ...(thinking ? [{ type: "thinking", thinking, signature: `fake-signature-${id}` } as const] : []),
    ...(text ? [{ type: "text", text } as const] : []),
    ...toolCalls.map((call, i) => ({ type: "tool_use", id: `toolu_fake${id}${i}`, ...call }) as const),
  ];
}

/** A message as server-sent events. */
export function streamOf(message: AnthropicMessage): string[] {
  const { content, stop_reason, usage } = message;
  const begun = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  const events = [
    { type: "message_start", message: begun },
    { type: "ping" },
    ...content.flatMap((block, index) => [
      { type: "content_block_start", index, content_block: emptied(block) },
      ...deltasOf(block).map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: usage.output_tokens },
    },
    { type: "message_stop" },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

function emptied(block: Answer): object {
  if (block.type === "text") return { ...block, text: "" };
  if (block.type === "thinking") return { ...block, thinking: "", signature: "" };
  return { ...block, input: {} };
}

function deltasOf(block: Answer): object[] {
  if (block.type === "text") return pieces(block.text).map((text) => ({ type: "text_delta", text }));
  if (block.type === "tool_use") {
    return pieces(JSON.stringify(block.input)).map((partial_json) => ({ type: "input_json_delta", partial_json }));
  }
  return [
    { type: "thinking_delta", thinking: block.thinking },
    { type: "signature_delta", signature: block.signature },
  ];
}

export function errorOf({ type, message }: ApiError): object {
  return { type: "error", error: { type, message } };
}
