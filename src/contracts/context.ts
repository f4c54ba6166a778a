// The messages a model call needs. Promise: the answer depends only on the stored session at that position and on the
// options, not on a clock or on chance.
import type { ContentBlock, Role } from "./messages.ts";

export interface ContextOptions {
  /** Only this agent's messages, and the summary of a compaction. */
  readonly agent?: string;
  /** The maximum number of tokens of all messages together. */
  readonly budget?: number;
  /**
   * Counts the tokens of one message for your model. Default: an estimate of 4 for the message, one for every four
   * bytes of UTF-8 of its texts, names, ids and JSON, and 1000 for each image, audio or document. The count must not
   * shrink when a message gets longer; with a tokenizer for which that is not true, the context may have fewer messages
   * than would fit, never more.
   */
  readonly tokenizer?: (message: ContextMessage) => number;
}

export interface ContextMessage {
  /** The id of the stored message; null for a message that a repair added. */
  readonly id: string | null;
  /** null for a message that a repair added. */
  readonly agent: string | null;
  readonly role: Role;
  readonly content: readonly ContentBlock[];
  /** True if the message differs from the stored one. */
  readonly repaired: boolean;
}

export interface Context {
  /** Oldest first; the summary of a compaction before all others. */
  readonly messages: readonly ContextMessage[];
  /**
   * How many stored messages the budget had no room for. They are counted, not read. Messages covered by a compaction
   * are not included.
   */
  readonly leftOut: { readonly messages: number };
  readonly tokens: number;
  /** The compaction that is valid at this position. */
  readonly compaction: {
    /** The message with the summary. */
    readonly summary: string;
    /** The last message that the summary covers. */
    readonly upTo: string;
    /** Earlier summaries among the messages that were kept: contexts leave them out. */
    readonly over?: readonly string[];
  } | null;
}
