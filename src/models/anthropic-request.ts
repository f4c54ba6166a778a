// Renders stored messages as a request of the Anthropic Messages API.
import type { ChatModelOptions, ChatRequest } from "../contracts/chat.ts";
import type { ContextMessage } from "../contracts/context.ts";
import type { ModelCall } from "../contracts/models.ts";
import type { DescribedTool } from "../contracts/tool-schemas.ts";
import { isObject } from "../core/check.ts";
import { type BlockOf, isAssistant, type OwnBlock, ownBlocks } from "./content.ts";
import { describeMedia, loadMedia, type MediaBlock } from "./media.ts";

const FROM = "anthropic";
const CACHED = { cache_control: { type: "ephemeral" } } as const;
/** The API requires a user's message first: this text stands for the messages that are not in the context. */
const LEFT_OUT = "[Earlier messages are left out.]";

export interface AnthropicRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly object[];
  readonly stream: true;
  readonly system?: string | readonly object[];
  readonly tools?: readonly object[];
}

interface WireMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly object[];
}

export async function renderRequest(
  { system, messages, tools }: ChatRequest,
  { model, maxTokens, cache = false, params = {} }: AnthropicOptions,
  call: ModelCall,
): Promise<AnthropicRequest> {
  const rendered = await renderMessages(messages, call);
  return {
    ...params,
    model,
    max_tokens: maxTokens,
    stream: true,
    messages: cache ? markLast(rendered) : rendered,
    ...(system === undefined || system === "" ? {} : { system: systemOf(system, cache) }),
    ...(tools.length === 0 ? {} : { tools: toolsOf(tools, cache) }),
  };
}

function systemOf(text: string, cache: boolean): string | readonly object[] {
  return cache ? [{ type: "text", text, ...CACHED }] : text;
}

function toolsOf(tools: readonly DescribedTool[], cache: boolean): readonly object[] {
  return tools.map(({ name, description, inputSchema }, i) => ({
    name,
    input_schema: inputSchema,
    ...(description === undefined ? {} : { description }),
    ...(cache && i === tools.length - 1 ? CACHED : {}),
  }));
}

/** Consecutive messages of one side become one message of the API. */
async function renderMessages(messages: readonly ContextMessage[], call: ModelCall): Promise<readonly WireMessage[]> {
  const rendered: WireMessage[] = [];
  for (const message of messages) {
    const role = isAssistant(message) ? "assistant" : "user";
    const content = await renderBlocks(ownBlocks(message.content, FROM), role, call);
    const last = rendered.at(-1);
    if (content.length === 0) continue;
    if (last?.role === role) rendered[rendered.length - 1] = { role, content: [...last.content, ...content] };
    else rendered.push({ role, content });
  }
  if (rendered[0]?.role !== "assistant") return rendered;
  return [{ role: "user", content: [{ type: "text", text: LEFT_OUT }] }, ...rendered];
}

function markLast(messages: readonly WireMessage[]): readonly WireMessage[] {
  const last = messages.at(-1);
  const block = last?.content.at(-1);
  if (last === undefined || block === undefined || last.role === "assistant") return messages;
  return [...messages.slice(0, -1), { ...last, content: [...last.content.slice(0, -1), { ...block, ...CACHED }] }];
}

async function renderBlocks(
  blocks: readonly OwnBlock[],
  role: WireMessage["role"],
  call: ModelCall,
): Promise<readonly object[]> {
  const rendered = await Promise.all(blocks.map((one) => renderBlock(one, role, call)));
  return rendered.flat();
}

async function renderBlock(
  { block, adds }: OwnBlock,
  role: WireMessage["role"],
  call: ModelCall,
): Promise<readonly object[]> {
  switch (block.type) {
    case "text":
      // The API refuses an empty text.
      return block.text.trim() === "" ? [] : [{ type: "text", text: block.text, ...adds }];
    case "thinking": {
      const { thinking, signature } = block;
      // Thinking without a signature is another provider's, or a summary for people: the API would refuse it.
      return signature === undefined || role === "user" ? [] : [{ type: "thinking", thinking, signature }];
    }
    case "tool_use": {
      const { id, name, input } = block;
      return [{ type: "tool_use", id, name, input: isObject(input) ? input : { value: input }, ...adds }];
    }
    case "tool_result":
      return [await renderResult(block, call)];
    case "opaque":
      return [adds];
    default:
      return [role === "user" ? await renderMedia(block, call) : { type: "text", text: describeMedia(block) }];
  }
}

async function renderResult({ toolUseId, content, isError }: BlockOf<"tool_result">, call: ModelCall): Promise<object> {
  const inner =
    typeof content === "string"
      ? content
      : await renderBlocks(
          ownBlocks(content, FROM).filter(({ block }) => block.type !== "tool_use" && block.type !== "tool_result"),
          "user",
          call,
        );
  return {
    type: "tool_result",
    tool_use_id: toolUseId,
    content: inner,
    ...(isError === true ? { is_error: true } : {}),
  };
}

async function renderMedia(block: MediaBlock, call: ModelCall): Promise<object> {
  if (block.type === "audio") return { type: "text", text: describeMedia(block) };
  const media = await loadMedia(block, call);
  const title = block.type === "document" && block.title !== undefined ? { title: block.title } : {};
  if ("url" in media) return { type: block.type, source: { type: "url", url: media.url }, ...title };
  const { mediaType, base64, bytes } = media;
  if (block.type === "document" && mediaType.startsWith("text/")) {
    const data = new TextDecoder().decode(bytes);
    return { type: "document", source: { type: "text", media_type: "text/plain", data }, ...title };
  }
  return { type: block.type, source: { type: "base64", media_type: mediaType, data: base64 }, ...title };
}

export interface AnthropicOptions extends ChatModelOptions {
  readonly model: string;
  /** The most tokens of one reply. */
  readonly maxTokens: number;
  /** Marks system prompt, tools and the last message for the provider's prompt cache. */
  readonly cache?: boolean;
}
