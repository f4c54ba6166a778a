// Chat models: what a tool loop needs of a model, whichever provider or SDK is behind it.
// Promise: one `generate` is one request. It retries nothing by itself, so that every try is recorded; what it throws says
// whether another try makes sense (ModelFailure).
import type { ContextMessage } from "./context.ts";
import type { JsonObject } from "./json.ts";
import type { ContentBlock } from "./messages.ts";
import type { ModelCall, ModelUsage } from "./models.ts";
import type { RetryPolicy } from "./steps.ts";
import type { DescribedTool } from "./tool-schemas.ts";

export interface ChatModel {
  /** As it is recorded with every call: "anthropic", "openai", … */
  readonly provider: string;
  readonly model: string;
  /** 4 tries when not given. */
  readonly retry?: RetryPolicy;
  /** Text is given to `call.token` as it comes. */
  generate(request: ChatRequest, call: ModelCall): Promise<ChatReply>;
}

export interface ChatRequest {
  readonly system: string | undefined;
  /** Oldest first, as `it.context()` gives them: every tool call is followed by its result. */
  readonly messages: readonly ContextMessage[];
  readonly tools: readonly DescribedTool[];
}

export interface ChatReply extends ModelUsage {
  readonly content: readonly Extract<ContentBlock, { type: "text" | "thinking" | "tool_use" | "opaque" }>[];
  /**
   * stop: the model has ended its turn. tools: it waits for results. length: it ran out of tokens. refusal: it or a filter
   * declined. continue: the provider paused, and another request continues. other: anything else.
   */
  readonly finish: "stop" | "tools" | "length" | "refusal" | "continue" | "other";
}

/** A model that is a function of the request; a text is short for a reply with this text that ends the turn. */
export type ChatFunction = (request: ChatRequest, call: ModelCall) => ChatReply | string | Promise<ChatReply | string>;

/** What every adapter of a provider takes. */
export interface ChatModelOptions {
  /** Without it the cost of a call is unknown (null). USD per million tokens. */
  readonly price?: {
    readonly inputPerMTok: number;
    readonly outputPerMTok: number;
    /** Input that came from the provider's cache; like other input when not given. */
    readonly cachedInputPerMTok?: number;
    /** Input that went into the provider's cache; like other input when not given. */
    readonly cacheWritePerMTok?: number;
  };
  readonly retry?: RetryPolicy;
  /** Further fields of the request, as the API or the AI SDK names them: `temperature`, `reasoning_effort`, … */
  readonly params?: Readonly<Record<string, unknown>>;
}

/** The part of a client of a model SDK that sends a request and streams the answer. */
export interface StreamingEndpoint {
  create(
    body: { readonly stream: true },
    options: { readonly signal: AbortSignal; readonly maxRetries: number },
  ): PromiseLike<AsyncIterable<object>>;
}

/**
 * The value of an opaque block that an adapter made. `block` is a whole block of the provider, `adds` are fields of the
 * block before it. Both are sent back exactly, and only to the interface they came from.
 */
export type ProviderContent = { readonly from: string } & (
  | { readonly block: JsonObject }
  | { readonly adds: JsonObject }
);

/** The input of a tool call whose arguments were no JSON object: what the model wrote. The tool is not called. */
export interface InvalidToolInput {
  readonly $invalid: string;
}

/** What the error of a failed model call may say about itself; runs.execute acts on it. */
export interface ModelFailure {
  /** HTTP status. */
  readonly status?: number;
  /** The next try waits at least so long. */
  readonly retryAfterMs?: number;
  /** false: another try would fail likewise. */
  readonly retryable?: boolean;
}
