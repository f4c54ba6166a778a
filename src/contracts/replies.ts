// Replies of models as a run records them, and the messages they wrote.
import type { ModelReply } from "./runs.ts";

/** A reply as the iteration gets it. */
export interface RecordedReply extends ModelReply {
  /** The recorded call, `session#seq`: what hf.calls.get() takes, and `message()` to say which call wrote a message. */
  readonly call: string;
}

export interface MessageOptions {
  /** The model call that wrote it: `reply.call`. */
  readonly call?: string;
}
