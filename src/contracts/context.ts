// The messages a model call needs.
// Promise: the answer depends on nothing but what is stored at that point and the options: no clock, no chance.

import type { ContentBlock, Role } from "./messages.ts";

export interface ContextOptions {
  /** Only this agent's messages, and the summary of a compaction. */
  readonly agent?: string;
  /** The most tokens the messages may have together. */
  readonly budget?: number;
  /**
   * Tokens of one message, for your model. When not given, an estimate: 4 for the message, a token for every four bytes of
   * UTF-8 of its texts, names, ids and JSON, and 1000 for each image, audio or document. What is longer counts no less: a
   * tokenizer of which that is not true may be given fewer messages than would fit, never more.
   */
  readonly tokenizer?: (message: ContextMessage) => number;
}

export interface ContextMessage {
  /** Of the stored message; null for one that a repair put in. */
  readonly id: string | null;
  /** null for one that a repair put in. */
  readonly agent: string | null;
  readonly role: Role;
  readonly content: readonly ContentBlock[];
  /** It is not as it was stored. */
  readonly repaired: boolean;
}

export interface Context {
  /** Oldest first; the summary of a compaction before all others. */
  readonly messages: readonly ContextMessage[];
  /**
   * How many stored messages the budget had no room for; they are counted, not read. Messages covered by a compaction
   * are not among them.
   */
  readonly leftOut: { readonly messages: number };
  readonly tokens: number;
  /** The one that holds at this point. */
  readonly compaction: {
    /** The message that says in short what came before. */
    readonly summary: string;
    /** The last message that it covers. */
    readonly upTo: string;
    /** Earlier summaries that come after that, with what was kept: contexts leave them out. */
    readonly over?: readonly string[];
  } | null;
}
