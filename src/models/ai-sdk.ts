// Adapts a language model of the AI SDK to a chat model: specification versions v2, v3 and v4, through doStream, which does not retry by
// itself.
import type { ChatModel, ChatModelOptions, ChatReply } from "../contracts/chat.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import type { ModelCall } from "../contracts/models.ts";
import { copyJson, isObject } from "../core/check.ts";
import { renderPrompt } from "./ai-sdk-prompt.ts";
import { keepBlock, keepFields } from "./content.ts";
import { failureOf, ModelError, streamCut, withFailures } from "./failure.ts";
import { readToolInput } from "./tool-input.ts";
import { usageOf } from "./usage.ts";

/** The members that the adapter uses. `anthropic("…")`, `openai("…")` and all other language models of the AI SDK have them. */
export interface AiSdkLanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls:
    | PromiseLike<Readonly<Record<string, readonly RegExp[]>>>
    | Readonly<Record<string, readonly RegExp[]>>;
  /** The stream is a ReadableStream. */
  doStream(options: {
    readonly prompt: readonly object[];
    readonly tools?: readonly object[];
    readonly abortSignal?: AbortSignal;
  }): PromiseLike<{
    readonly stream: {
      getReader(): {
        read(): Promise<{ readonly done: boolean; readonly value?: object | undefined }>;
        cancel(): Promise<void>;
      };
    };
  }>;
}

type AiSdkStream = Awaited<ReturnType<AiSdkLanguageModel["doStream"]>>["stream"];

export interface AiSdkStreamPart {
  readonly type: string;
}

export function aiSdkModel(model: AiSdkLanguageModel, { price, retry, params = {} }: ChatModelOptions = {}): ChatModel {
  const { provider, modelId } = model;
  return {
    provider,
    model: modelId,
    ...(retry === undefined ? {} : { retry }),
    generate: (request, call) =>
      withFailures(provider, call.signal, async () => {
        const tools = request.tools.map(({ name, description, inputSchema }) => ({
          type: "function",
          name,
          inputSchema,
          ...(description === undefined ? {} : { description }),
        }));
        const { stream } = await model.doStream({
          ...params,
          prompt: await renderPrompt(request, model, tagOf(provider), call),
          ...(tools.length === 0 ? {} : { tools, toolChoice: { type: "auto" } }),
          abortSignal: call.signal,
        });
        return gather(stream, call, provider, price);
      }),
  };
}

/** The tag of provider-specific content, which only this adapter with this provider understands. */
function tagOf(provider: string): string {
  return `ai-sdk:${provider}`;
}

/** A part of the stream, with the fields of all types. */
type AnyPart = AiSdkStreamPart & Readonly<Record<string, unknown>>;

/** A text or thought that is still being received, or a complete part of another type. */
interface Entry {
  readonly kind: "text" | "reasoning" | "whole";
  text: string;
  metadata: unknown;
  readonly part: AnyPart;
}

async function gather(
  stream: AiSdkStream,
  call: ModelCall,
  provider: string,
  price: ChatModelOptions["price"],
): Promise<ChatReply> {
  const entries: Entry[] = [];
  const open = new Map<unknown, Entry>();
  let finish: AnyPart | undefined;
  for await (const part of partsOf(stream)) {
    if (part.type === "error") throw failureOf(provider, part.error);
    else if (part.type === "finish") finish = part;
    else if (part.type === "text-delta" && typeof part.delta === "string" && part.delta !== "") call.token(part.delta);
    addPart(entries, open, part);
  }
  if (finish === undefined) throw streamCut(provider);
  const usage = usageOf(countsOf(finish.usage), price);
  return {
    content: entries.flatMap((one) => contentOf(one, tagOf(provider))),
    finish: finishOf(finish, provider, usage),
    ...usage,
  };
}

async function* partsOf(stream: AiSdkStream): AsyncGenerator<AnyPart> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (value !== undefined) yield value as AnyPart;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

const WHOLE: ReadonlySet<string> = new Set(["tool-call", "tool-result", "file", "reasoning-file", "custom", "source"]);

/** Types of parts for the SDK's callers. The model does not get them back. */
const MESSAGE_START = "anthropic.message_start";

/** Deltas of one part have the same id; a text and a thought may have the same id too. */
function addPart(entries: Entry[], open: Map<unknown, Entry>, part: AnyPart): void {
  const [, kind, step] = /^(text|reasoning)-(start|delta|end)$/.exec(part.type) ?? [];
  if (kind === "text" || kind === "reasoning") {
    const key = `${kind} ${String(part.id)}`;
    const entry = open.get(key) ?? { kind, text: "", metadata: undefined, part };
    if (!open.has(key)) entries.push(entry);
    open.set(key, entry);
    if (typeof part.delta === "string") entry.text += part.delta;
    entry.metadata = part.providerMetadata ?? entry.metadata;
    if (step === "end") open.delete(key);
  } else if (WHOLE.has(part.type) && part.kind !== MESSAGE_START) {
    entries.push({ kind: "whole", text: "", metadata: part.providerMetadata, part });
  }
}

function contentOf({ kind, text, metadata, part }: Entry, from: string): readonly ChatReply["content"][number][] {
  const adds = keepFields(from, metadata === undefined ? {} : { providerOptions: copyJson(metadata, "metadata") });
  if (kind === "text") return text === "" ? [] : [{ type: "text", text: text.toWellFormed() }, ...adds];
  if (kind === "reasoning") {
    return text === "" && adds.length === 0 ? [] : [{ type: "thinking", thinking: text }, ...adds];
  }
  if (part.type === "tool-call" && part.providerExecuted !== true) {
    const { toolCallId, toolName, input } = part;
    const use = { type: "tool_use", id: String(toolCallId), name: String(toolName) } as const;
    return [{ ...use, input: readToolInput(String(input)) }, ...adds];
  }
  const block = plainJson(part);
  return isObject(block) ? [keepBlock(from, block)] : [];
}

/** Bytes as base64, URLs as text. */
function plainJson(value: unknown): Json {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof URL) return value.href;
  if (Array.isArray(value)) return value.map(plainJson);
  if (typeof value !== "object" || value === null) return copyJson(value ?? null, "part");
  const fields = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(fields.map(([name, one]) => [name, plainJson(one)]));
}

const FINISH: Readonly<Record<string, ChatReply["finish"]>> = {
  stop: "stop",
  length: "length",
  "tool-calls": "tools",
  "content-filter": "refusal",
};

/** A stream that was cut off ends as "interrupted" in v4; in v2 and v3 with a reason that the SDK makes up, and without usage. */
function finishOf(
  { finishReason }: AnyPart,
  provider: string,
  { outputTokens }: Partial<ChatReply>,
): ChatReply["finish"] {
  const { unified, raw } = reasonOf(finishReason);
  if (unified === "error") throw new ModelError("error", `${provider}: the reply ended with an error`);
  if (unified === "interrupted") throw streamCut(provider);
  const isMadeUp = (unified === "other" || unified === "unknown") && raw === undefined;
  if (isMadeUp && outputTokens === undefined) throw streamCut(provider);
  if (raw === "pause_turn") return "continue";
  return FINISH[unified] ?? "other";
}

/** The reason is a string in v2, and an object in later versions. */
function reasonOf(value: unknown): { readonly unified: string; readonly raw: unknown } {
  if (typeof value === "string") return { unified: value, raw: undefined };
  const { unified, raw } = fieldsOf(value);
  return { unified: String(unified), raw };
}

/** Counts are numbers in v2, and objects in later versions. */
function countsOf(value: unknown): { input?: number; output?: number; cached?: number; written?: number } {
  const { inputTokens, outputTokens, cachedInputTokens } = fieldsOf(value);
  const [input, output] = [fieldsOf(inputTokens), fieldsOf(outputTokens)];
  const counts = {
    input: input.total ?? inputTokens,
    output: output.total ?? outputTokens,
    cached: input.cacheRead ?? cachedInputTokens,
    written: input.cacheWrite,
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => typeof count === "number"));
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as JsonObject) : {};
}
