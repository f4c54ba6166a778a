// Adapts the OpenAI SDK's client to a chat model: the streaming Chat Completions API, which many other servers have too.
import type { ChatModel, ChatModelOptions, ChatReply, ChatRequest, StreamingEndpoint } from "../contracts/chat.ts";
import type { ContextMessage } from "../contracts/context.ts";
import type { ModelCall } from "../contracts/models.ts";
import { type BlockOf, isAssistant, mediaIn, resultText } from "./content.ts";
import { streamCut, withFailures } from "./failure.ts";
import { dataUrl, describeMedia, isMedia, loadMedia, type MediaBlock } from "./media.ts";
import { readToolInput } from "./tool-input.ts";
import { usageOf } from "./usage.ts";

/** The members that the adapter uses. `new OpenAI()` of the package openai has them. */
export interface OpenAIChatClient {
  readonly chat: { readonly completions: StreamingEndpoint };
}

export interface OpenAIOptions extends ChatModelOptions {
  readonly model: string;
  /** The most tokens of one reply; the provider's own limit when not given. */
  readonly maxTokens?: number;
  /** The provider's name in recorded calls; "openai" when not given. For other servers with this API: "groq", "vllm", … */
  readonly provider?: string;
}

export interface OpenAIChunk {
  readonly choices: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly refusal?: string | null;
      readonly tool_calls?: readonly {
        readonly index?: number;
        readonly id?: string;
        readonly function?: { readonly name?: string; readonly arguments?: string };
      }[];
    };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: {
    readonly prompt_tokens?: number;
    readonly completion_tokens?: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number; readonly cache_write_tokens?: number } | null;
  } | null;
}

const FINISH: Readonly<Record<string, ChatReply["finish"]>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tools",
  function_call: "tools",
  content_filter: "refusal",
};

export function openaiChatModel(client: OpenAIChatClient, options: OpenAIOptions): ChatModel {
  const { model, price, retry, maxTokens, provider = "openai", params = {} } = options;
  return {
    provider,
    model,
    ...(retry === undefined ? {} : { retry }),
    generate: (request, call) =>
      withFailures(provider, call.signal, async () => {
        const body = {
          stream_options: { include_usage: true },
          ...params,
          ...(maxTokens === undefined ? {} : { max_completion_tokens: maxTokens }),
          model,
          stream: true as const,
          messages: await renderMessages(request, call),
          ...(request.tools.length === 0 ? {} : { tools: toolsOf(request) }),
        };
        const stream = await client.chat.completions.create(body, { signal: call.signal, maxRetries: 0 });
        return gather(stream as AsyncIterable<OpenAIChunk>, call, provider, price);
      }),
  };
}

function toolsOf({ tools }: ChatRequest): readonly object[] {
  return tools.map(({ name, description, inputSchema }) => ({
    type: "function",
    function: { name, ...(description === undefined ? {} : { description }), parameters: inputSchema },
  }));
}

async function renderMessages({ system, messages }: ChatRequest, call: ModelCall): Promise<readonly object[]> {
  const rendered = await Promise.all(
    messages.map((one) => (isAssistant(one) ? renderAssistant(one) : renderOther(one, call))),
  );
  const first = system === undefined || system === "" ? [] : [{ role: "system", content: system }];
  return [...first, ...rendered.flat()];
}

/** Thinking is never sent, because this API does not accept it. */
function renderAssistant({ content }: ContextMessage): readonly object[] {
  const texts = content.flatMap((block) =>
    block.type === "text" ? [block.text] : isMedia(block) ? [describeMedia(block)] : [],
  );
  const calls = content
    .filter((block) => block.type === "tool_use")
    .map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(input) } }));
  if (texts.length === 0 && calls.length === 0) return [];
  const parts = texts.map((text) => ({ type: "text", text }));
  const said = parts.length === 0 ? null : parts.length === 1 ? texts[0] : parts;
  return [{ role: "assistant", content: said, ...(calls.length === 0 ? {} : { tool_calls: calls }) }];
}

/** Each tool result becomes a message of text; its media follow as a user's message. */
async function renderOther({ role, content }: ContextMessage, call: ModelCall): Promise<readonly object[]> {
  const results = content.filter((block) => block.type === "tool_result");
  const inResults = results.flatMap(mediaIn);
  const others = content.filter((block) => block.type === "text" || isMedia(block));
  const parts = await Promise.all(
    [...inResults, ...others].map((block) =>
      block.type === "text" ? { type: "text", text: block.text } : renderMedia(block, call),
    ),
  );
  const tools = results.map((block: BlockOf<"tool_result">) => ({
    role: "tool",
    tool_call_id: block.toolUseId,
    content: resultText(block),
  }));
  if (parts.length === 0) return tools;
  const [only] = others;
  const said = parts.length === 1 && only?.type === "text" ? only.text : parts;
  return [...tools, { role: role === "tool" ? "user" : role, content: said }];
}

async function renderMedia(block: MediaBlock, call: ModelCall): Promise<object> {
  const text = { type: "text", text: describeMedia(block) };
  const media = await loadMedia(block, call);
  if ("url" in media) return block.type === "image" ? { type: "image_url", image_url: { url: media.url } } : text;
  if (block.type === "image") return { type: "image_url", image_url: { url: dataUrl(media) } };
  if (block.type === "document") {
    return { type: "file", file: { filename: block.title ?? "document", file_data: dataUrl(media) } };
  }
  const format = media.mediaType.includes("wav") ? "wav" : /mpeg|mp3/.test(media.mediaType) ? "mp3" : undefined;
  return format === undefined ? text : { type: "input_audio", input_audio: { data: media.base64, format } };
}

interface PartialCall {
  id: string;
  name: string;
  json: string;
}

async function gather(
  stream: AsyncIterable<OpenAIChunk>,
  call: ModelCall,
  provider: string,
  price: ChatModelOptions["price"],
): Promise<ChatReply> {
  const calls = new Map<number, PartialCall>();
  let [text, refusal] = ["", ""];
  let finish: string | undefined;
  let usage: OpenAIChunk["usage"];
  for await (const chunk of stream) {
    usage = chunk.usage ?? usage;
    const choice = chunk.choices[0];
    if (choice === undefined) continue;
    finish = choice.finish_reason ?? finish;
    const { content, refusal: declined, tool_calls = [] } = choice.delta ?? {};
    if (content) call.token(content);
    text += content ?? "";
    refusal += declined ?? "";
    for (const one of tool_calls) addCall(calls, one);
  }
  if (finish === undefined) throw streamCut(provider);
  const said = (text + refusal).toWellFormed();
  const content: readonly ChatReply["content"][number][] = [
    ...(said === "" ? [] : [{ type: "text" as const, text: said }]),
    ...[...calls.values()].map(({ id, name, json }, i) => ({
      type: "tool_use" as const,
      id: id === "" ? `call_${call.idempotencyKey.slice(0, 12)}_${i}` : id,
      name,
      input: readToolInput(json),
    })),
  ];
  const { prompt_tokens: input, completion_tokens: output, prompt_tokens_details: details } = usage ?? {};
  const counts = { input, output, cached: details?.cached_tokens, written: details?.cache_write_tokens };
  return { content, finish: refusal === "" ? (FINISH[finish] ?? "other") : "refusal", ...usageOf(counts, price) };
}

type CallDelta = NonNullable<NonNullable<OpenAIChunk["choices"][number]["delta"]>["tool_calls"]>[number];

function addCall(calls: Map<number, PartialCall>, { index, id = "", function: named = {} }: CallDelta): void {
  // Servers that omit the index send each call in one piece.
  const place = index ?? calls.size;
  const one = calls.get(place) ?? { id: "", name: "", json: "" };
  if (one.id === "") one.id = id;
  if (one.name === "") one.name = named.name ?? "";
  one.json += named.arguments ?? "";
  calls.set(place, one);
}
