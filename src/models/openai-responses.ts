// Adapts the OpenAI SDK's client to a chat model: the streaming Responses API. Each request has the whole conversation; the provider stores
// nothing unless `params` ask for it.
import type { ChatModel, ChatModelOptions, ChatReply, ChatRequest, StreamingEndpoint } from "../contracts/chat.ts";
import type { ContextMessage } from "../contracts/context.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { ModelCall } from "../contracts/models.ts";
import { copyJson, isObject } from "../core/check.ts";
import {
  type BlockOf,
  isAssistant,
  keepBlock,
  keepFields,
  mediaIn,
  type OwnBlock,
  ownBlocks,
  resultText,
} from "./content.ts";
import { ModelError, streamCut, withFailures } from "./failure.ts";
import { dataUrl, describeMedia, isMedia, loadMedia, type MediaBlock } from "./media.ts";
import type { OpenAIOptions } from "./openai-chat.ts";
import { readToolInput } from "./tool-input.ts";
import { usageOf } from "./usage.ts";

/** The members that the adapter uses. `new OpenAI()` of the package openai has them. */
export interface OpenAIResponsesClient {
  readonly responses: StreamingEndpoint;
}

export interface OpenAIResponsesOptions extends OpenAIOptions {
  /** Requests encrypted reasoning from a reasoning model, which is stored and sent back. Other models refuse the request. */
  readonly keepReasoning?: boolean;
}

export interface OpenAIResponseEvent {
  readonly type: string;
  readonly output_index?: number;
  readonly delta?: unknown;
  readonly item?: object;
  readonly code?: string | null;
  readonly message?: string;
  readonly response?: {
    readonly error?: { readonly code: string; readonly message: string } | null;
    readonly incomplete_details?: { readonly reason?: string } | null;
    readonly usage?: {
      readonly input_tokens?: number;
      readonly output_tokens?: number;
      readonly input_tokens_details?: { readonly cached_tokens?: number; readonly cache_write_tokens?: number };
    } | null;
  };
}

const FROM = "openai-responses";
/** Errors inside a stream have no status. */
const RETRYABLE: ReadonlySet<string> = new Set(["server_error", "rate_limit_exceeded", "vector_store_timeout"]);

export function openaiResponsesModel(client: OpenAIResponsesClient, options: OpenAIResponsesOptions): ChatModel {
  const { model, price, retry, maxTokens, provider = "openai", params = {}, keepReasoning = false } = options;
  return {
    provider,
    model,
    ...(retry === undefined ? {} : { retry }),
    generate: (request, call) =>
      withFailures(provider, call.signal, async () => {
        const { system } = request;
        const body = {
          store: false,
          ...(keepReasoning ? { include: ["reasoning.encrypted_content"] } : {}),
          ...params,
          ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
          model,
          stream: true as const,
          input: await renderInput(request.messages, call),
          ...(system === undefined || system === "" ? {} : { instructions: system }),
          ...(request.tools.length === 0 ? {} : { tools: toolsOf(request) }),
        };
        const stream = await client.responses.create(body, { signal: call.signal, maxRetries: 0 });
        return gather(stream as AsyncIterable<OpenAIResponseEvent>, call, provider, price);
      }),
  };
}

function toolsOf({ tools }: ChatRequest): readonly object[] {
  return tools.map(({ name, description, inputSchema }) => ({
    type: "function",
    name,
    parameters: inputSchema,
    strict: false,
    ...(description === undefined ? {} : { description }),
  }));
}

async function renderInput(messages: readonly ContextMessage[], call: ModelCall): Promise<readonly object[]> {
  const rendered = await Promise.all(
    messages.map((one) =>
      isAssistant(one) ? ownBlocks(one.content, FROM).flatMap(renderAssistant) : renderOther(one, call),
    ),
  );
  return rendered.flat();
}

function renderAssistant({ block, adds }: OwnBlock): readonly object[] {
  switch (block.type) {
    case "text":
      return [{ type: "message", role: "assistant", content: [{ type: "output_text", text: block.text }], ...adds }];
    case "tool_use": {
      const { id, name, input } = block;
      return [{ type: "function_call", call_id: id, name, arguments: JSON.stringify(input) }];
    }
    case "opaque":
      return [adds];
    case "image":
    case "audio":
    case "document":
      return [{ type: "message", role: "assistant", content: [{ type: "output_text", text: describeMedia(block) }] }];
    default:
      return [];
  }
}

async function renderOther({ role, content }: ContextMessage, call: ModelCall): Promise<readonly object[]> {
  const results = content.filter((block) => block.type === "tool_result");
  const others = content.filter((block) => block.type === "text" || isMedia(block));
  const outputs = await Promise.all(results.map((block) => renderResult(block, call)));
  const parts = await Promise.all(
    others.map((block) =>
      block.type === "text" ? { type: "input_text", text: block.text } : renderMedia(block, call),
    ),
  );
  if (parts.length === 0) return outputs;
  return [...outputs, { type: "message", role: role === "tool" ? "user" : role, content: parts }];
}

async function renderResult(block: BlockOf<"tool_result">, call: ModelCall): Promise<object> {
  const media = await Promise.all(mediaIn(block).map((one) => renderMedia(one, call)));
  const text = resultText(block);
  const output = media.length === 0 ? text : [{ type: "input_text", text }, ...media];
  return { type: "function_call_output", call_id: block.toolUseId, output };
}

async function renderMedia(block: MediaBlock, call: ModelCall): Promise<object> {
  if (block.type === "audio") return { type: "input_text", text: describeMedia(block) };
  const media = await loadMedia(block, call);
  if (block.type === "image") {
    return { type: "input_image", detail: "auto", image_url: "url" in media ? media.url : dataUrl(media) };
  }
  return "url" in media
    ? { type: "input_file", file_url: media.url }
    : { type: "input_file", filename: block.title ?? "document", file_data: dataUrl(media) };
}

async function gather(
  stream: AsyncIterable<OpenAIResponseEvent>,
  call: ModelCall,
  provider: string,
  price: ChatModelOptions["price"],
): Promise<ChatReply> {
  const items = new Map<number, JsonObject>();
  let end: OpenAIResponseEvent | undefined;
  for await (const event of stream) {
    const { type, delta } = event;
    if (type === "response.output_text.delta" && typeof delta === "string") call.token(delta);
    else if (type === "response.output_item.done") {
      const item = copyJson(event.item ?? {}, "item");
      if (isObject(item)) items.set(event.output_index ?? items.size, item);
    } else if (type === "error") throw failed(provider, event.code, event.message);
    else if (type === "response.failed")
      throw failed(provider, event.response?.error?.code, event.response?.error?.message);
    else if (type === "response.completed" || type === "response.incomplete") end = event;
  }
  if (end === undefined) throw streamCut(provider);
  const ordered = [...items].sort(([a], [b]) => a - b).map(([, item]) => item);
  const { input_tokens: input, output_tokens: output, input_tokens_details: details } = end.response?.usage ?? {};
  const counts = { input, output, cached: details?.cached_tokens, written: details?.cache_write_tokens };
  return { content: ordered.flatMap(contentOf), finish: finishOf(end, ordered), ...usageOf(counts, price) };
}

function failed(provider: string, code: string | null | undefined, message = "the response failed"): ModelError {
  const retryable = code === undefined || code === null || RETRYABLE.has(code);
  return new ModelError(code ?? "response_failed", `${provider}: ${message}`, { retryable });
}

function finishOf({ type, response }: OpenAIResponseEvent, items: readonly JsonObject[]): ChatReply["finish"] {
  if (type === "response.incomplete") {
    const reason = response?.incomplete_details?.reason;
    return reason === "max_output_tokens" ? "length" : reason === "content_filter" ? "refusal" : "other";
  }
  if (items.some((item) => item.type === "function_call")) return "tools";
  const isRefusal = items.some((item) => partsOf(item.content).some(({ type: part }) => part === "refusal"));
  return isRefusal ? "refusal" : "stop";
}

function contentOf(item: JsonObject): readonly ChatReply["content"][number][] {
  switch (item.type) {
    case "message": {
      const text = partsOf(item.content)
        .map((part) => textOf(part.text) + textOf(part.refusal))
        .join("")
        .toWellFormed();
      const { phase } = item;
      const adds = phase === undefined || phase === null ? {} : { phase };
      return [{ type: "text", text }, ...keepFields(FROM, adds)];
    }
    case "function_call": {
      const { call_id, name, arguments: json } = item;
      return [{ type: "tool_use", id: textOf(call_id), name: textOf(name), input: readToolInput(textOf(json)) }];
    }
    case "reasoning":
      return reasoningOf(item);
    default:
      return [keepBlock(FROM, item)];
  }
}

/** The summary becomes a thinking block for people; the encrypted reasoning, which only the model can read, an opaque block. */
function reasoningOf(item: JsonObject): readonly ChatReply["content"][number][] {
  const thinking = partsOf(item.summary)
    .map(({ text }) => textOf(text))
    .join("\n\n")
    .toWellFormed();
  const { status: _, ...kept } = item;
  return [
    ...(thinking === "" ? [] : [{ type: "thinking" as const, thinking }]),
    ...(typeof item.encrypted_content === "string" ? [keepBlock(FROM, kept)] : []),
  ];
}

function partsOf(value: JsonObject[string] | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((one): one is JsonObject => isObject(one)) : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
