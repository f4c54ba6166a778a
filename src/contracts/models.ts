// Models that iterations ask, and their replies as a run records them.
import type { Json } from "./json.ts";
import type { RetryPolicy, StepCall } from "./steps.ts";

/** What a call of a model used, as far as it is known. */
export interface ModelUsage {
  /** Of the whole request, cached ones included. */
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** Of the input tokens, those that the provider had in its cache. */
  readonly cachedTokens?: number;
  /** null: not known. */
  readonly costUsd?: number | null;
}

export interface ModelReply extends ModelUsage {
  readonly output: Json;
}

export interface ModelCall extends StepCall {
  /** Shown to watchers in this process; never stored. */
  token(text: string): void;
  /** The bytes of a blob, verified: what an image or a document of a message refers to. */
  readBlob(ref: string): Promise<Uint8Array>;
}

export interface Model {
  readonly provider?: string;
  readonly model?: string;
  readonly retry?: RetryPolicy;
  call(request: Json, call: ModelCall): Promise<ModelReply> | ModelReply;
}

/** A reply as the iteration gets it. */
export interface RecordedReply extends ModelReply {
  /** The recorded call, `session#seq`: what hf.calls.get() takes, and `message()` to say which call wrote a message. */
  readonly call: string;
}
