// Chat models: what a tool loop needs of a model, whichever provider or SDK is behind it. Promise: one call of
// `generate` is one request. It does not retry, so that every try is recorded; its errors say whether another try makes
// sense (ModelFailure).
import type { ContextMessage } from "./context.ts";
import type { JsonObject } from "./json.ts";
import type { ContentBlock } from "./messages.ts";
import type { ModelCall, ModelUsage } from "./models.ts";
import type { RetryPolicy } from "./steps.ts";
import type { DescribedTool } from "./tool-schemas.ts";

export interface ChatModel {
  /** The name that is recorded with every call: "anthropic", "openai", … */
  readonly provider: string;
  readonly model: string;
  /** Default: 4 tries. */
  readonly retry?: RetryPolicy;
  /** Passes text to `call.token` as it arrives. */
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
   * stop: the model has ended its turn. tools: it waits for tool results. length: it reached the token limit. refusal:
   * the model or a filter declined. continue: the provider paused, and another request continues. other: anything else.
   */
  readonly finish: "stop" | "tools" | "length" | "refusal" | "continue" | "other";
}

/**
 * A model that is a function of the request. Returning a text is short for a reply with this text that ends the turn.
 */
export type ChatFunction = (request: ChatRequest, call: ModelCall) => ChatReply | string | Promise<ChatReply | string>;

/** The options of every provider's adapter. */
export interface ChatModelOptions {
  /** USD per million tokens. Without it the cost of a call is unknown (null). */
  readonly price?: {
    readonly inputPerMTok: number;
    readonly outputPerMTok: number;
    /** Input from the provider's cache. Default: the price of other input. */
    readonly cachedInputPerMTok?: number;
    /** Input that is written to the provider's cache. Default: the price of other input. */
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
 * The value of an opaque block that an adapter made. `block` is a whole block of the provider; `adds` are fields of the
 * block before it. Both are sent back unchanged, and only to the API that they came from.
 */
export type ProviderContent = { readonly from: string } & (
  | { readonly block: JsonObject }
  | { readonly adds: JsonObject }
);

/**
 * The input of a tool call whose arguments are not a JSON object: the text that the model wrote. The tool is not
 * called.
 */
export interface InvalidToolInput {
  readonly $invalid: string;
}

/** Fields that the error of a failed model call may have. runs.execute uses them to decide about another try. */
export interface ModelFailure {
  /** HTTP status. */
  readonly status?: number;
  /** The next try waits at least this long. */
  readonly retryAfterMs?: number;
  /** false if another try would fail in the same way. */
  readonly retryable?: boolean;
}
