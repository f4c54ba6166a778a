// Models that iterations call, and their replies as a run records them.
import type { Json } from "./json.ts";
import type { RetryPolicy, StepCall } from "./steps.ts";

/** The tokens and the cost of a model call, as far as they are known. */
export interface ModelUsage {
  /** Tokens of the whole request, including cached ones. */
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** The input tokens that came from the provider's cache. */
  readonly cachedTokens?: number;
  /** null if unknown. */
  readonly costUsd?: number | null;
}

export interface ModelReply extends ModelUsage {
  readonly output: Json;
}

export interface ModelCall extends StepCall {
  /** Shown to watchers in this process; never stored. */
  token(text: string): void;
  /** The verified bytes of a blob, such as an image or a document of a message. */
  readBlob(ref: string): Promise<Uint8Array>;
}

export interface Model {
  readonly provider?: string;
  readonly model?: string;
  readonly retry?: RetryPolicy;
  call(request: Json, call: ModelCall): Promise<ModelReply> | ModelReply;
}

/** A reply as the iteration receives it. */
export interface RecordedReply extends ModelReply {
  /**
   * The id of the recorded call, `session#seq`, for hf.calls.get(), and for `message()` to record which call wrote a
   * message.
   */
  readonly call: string;
}
