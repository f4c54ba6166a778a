// Adapts the Anthropic SDK's client to a chat model: the streaming Messages API, one request per call.
import type { ChatModel, ChatModelOptions, ChatReply, StreamingEndpoint } from "../contracts/chat.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { ModelCall } from "../contracts/models.ts";
import { copyJson, isObject } from "../core/check.ts";
import { type AnthropicOptions, renderRequest } from "./anthropic-request.ts";
import { keepBlock, keepFields } from "./content.ts";
import { streamCut, withFailures } from "./failure.ts";
import { readToolInput } from "./tool-input.ts";
import { usageOf } from "./usage.ts";

/** The members that the adapter uses. `new Anthropic()` of @anthropic-ai/sdk and the clients of its platform packages have them. */
export interface AnthropicClient {
  readonly messages: StreamingEndpoint;
}

interface AnthropicUsage {
  readonly input_tokens?: number | null;
  readonly output_tokens?: number | null;
  readonly cache_read_input_tokens?: number | null;
  readonly cache_creation_input_tokens?: number | null;
}

export interface AnthropicEvent {
  readonly type: string;
  readonly index?: number;
  readonly message?: { readonly usage?: AnthropicUsage | null };
  readonly content_block?: object;
  readonly delta?: {
    readonly type?: string;
    readonly text?: string;
    readonly partial_json?: string;
    readonly thinking?: string;
    readonly signature?: string;
    readonly citation?: unknown;
    readonly stop_reason?: string | null;
  };
  readonly usage?: AnthropicUsage | null;
}

const ANTHROPIC = "anthropic";

const FINISH: Readonly<Record<string, ChatReply["finish"]>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tools",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "refusal",
  pause_turn: "continue",
};

export function anthropicModel(client: AnthropicClient, options: AnthropicOptions): ChatModel {
  const { model, price, retry } = options;
  return {
    provider: ANTHROPIC,
    model,
    ...(retry === undefined ? {} : { retry }),
    generate: (request, call) =>
      withFailures(ANTHROPIC, call.signal, async () => {
        const body = await renderRequest(request, options, call);
        const stream = await client.messages.create(body, { signal: call.signal, maxRetries: 0 });
        const message = await gather(stream as AsyncIterable<AnthropicEvent>, call);
        return replyOf(message, price);
      }),
  };
}

/** A content block that is still being received. */
interface PartialBlock {
  readonly start: JsonObject;
  text: string;
  json: string;
  thinking: string;
  signature: string;
  readonly citations: unknown[];
}

interface GatheredReply {
  readonly blocks: readonly PartialBlock[];
  readonly stopReason: string;
  readonly usage: AnthropicUsage;
}

async function gather(stream: AsyncIterable<AnthropicEvent>, call: ModelCall): Promise<GatheredReply> {
  const blocks = new Map<number, PartialBlock>();
  let usage: AnthropicUsage = {};
  let stopReason = "";
  let isComplete = false;
  for await (const event of stream) {
    if (event.type === "message_start") usage = event.message?.usage ?? {};
    else if (event.type === "content_block_start") blocks.set(event.index ?? 0, startBlock(event.content_block));
    else if (event.type === "content_block_delta") addDelta(blocks.get(event.index ?? 0), event.delta ?? {}, call);
    else if (event.type === "message_delta") {
      stopReason = event.delta?.stop_reason ?? stopReason;
      usage = mergeUsage(usage, event.usage ?? {});
    } else if (event.type === "message_stop") isComplete = true;
  }
  if (!isComplete) throw streamCut(ANTHROPIC);
  return { blocks: [...blocks.values()], stopReason, usage };
}

function startBlock(given: unknown): PartialBlock {
  const copy = copyJson(given ?? {}, "content_block");
  const start = isObject(copy) ? copy : {};
  return { start, text: "", json: "", thinking: "", signature: "", citations: [] };
}

function addDelta(block: PartialBlock | undefined, delta: NonNullable<AnthropicEvent["delta"]>, call: ModelCall): void {
  if (block === undefined) return;
  const { text = "", partial_json = "", thinking = "", signature = "", citation } = delta;
  if (text !== "") call.token(text);
  block.text += text;
  block.json += partial_json;
  block.thinking += thinking;
  block.signature += signature;
  if (citation !== undefined) block.citations.push(citation);
}

/** The counts at the end include those at the start; older servers omit unchanged counts. */
function mergeUsage(first: AnthropicUsage, last: AnthropicUsage): AnthropicUsage {
  const known = Object.entries(last).filter(([, value]) => typeof value === "number");
  return { ...first, ...Object.fromEntries(known) };
}

function replyOf({ blocks, stopReason, usage }: GatheredReply, price: ChatModelOptions["price"]): ChatReply {
  const [cached, written] = [usage.cache_read_input_tokens ?? 0, usage.cache_creation_input_tokens ?? 0];
  const { input_tokens: plain, output_tokens: output } = usage;
  const input = typeof plain === "number" ? plain + cached + written : undefined;
  return {
    content: blocks.flatMap(contentOf),
    finish: FINISH[stopReason] ?? "other",
    ...usageOf({ input, output, cached, written }, price),
  };
}

function contentOf({
  start,
  text,
  json,
  thinking,
  signature,
  citations,
}: PartialBlock): readonly ChatReply["content"][number][] {
  switch (start.type) {
    case "text": {
      const adds = citations.length === 0 ? {} : { citations: copyJson(citations, "citations") };
      return [{ type: "text", text: (textOf(start.text) + text).toWellFormed() }, ...keepFields(ANTHROPIC, adds)];
    }
    case "thinking":
      return [
        {
          type: "thinking",
          thinking: textOf(start.thinking) + thinking,
          signature: textOf(start.signature) + signature,
        },
      ];
    case "tool_use": {
      const { id, name, input } = start;
      const parsed = json === "" && input !== undefined ? readToolInput(JSON.stringify(input)) : readToolInput(json);
      return [{ type: "tool_use", id: textOf(id), name: textOf(name), input: parsed }, ...callerFields(start)];
    }
    default:
      return [keepBlock(ANTHROPIC, json === "" ? start : { ...start, input: readToolInput(json) })];
  }
}

/** Fields of a tool call that name another caller than the model. They are sent back with the call. */
function callerFields({ caller, toolset_name }: JsonObject): readonly ChatReply["content"][number][] {
  const isDirect = caller === undefined || caller === null || (isObject(caller) && caller.type === "direct");
  return keepFields(ANTHROPIC, {
    ...(isDirect ? {} : { caller }),
    ...(toolset_name === undefined || toolset_name === null ? {} : { toolset_name }),
  });
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
