// The messages a model call needs. Promise: they depend only on the stored session at that position and on the options, not on a
// clock or on chance. What comes before them, blocks and memories, is as it is at the time of the call.
import type { ContentBlock, Role } from "./messages.ts";

export interface ContextOptions {
  /** Only this agent's messages, and the summary of a compaction. */
  readonly agent?: string;
  /** The maximum number of tokens of all messages together, with blocks and memories if they are asked for. */
  readonly budget?: number;
  /**
   * Counts the tokens of one message for your model. Default: an estimate of 4 for the message, one for every four
   * bytes of UTF-8 of its texts, names, ids and JSON, and 1000 for each image, audio or document. The count must not
   * shrink when a message gets longer; with a tokenizer for which that is not true, the context may have fewer messages
   * than would fit, never more.
   */
  readonly tokenizer?: (message: ContextMessage) => number;
  /**
   * Also the system prompt of an agent and its core blocks: all of them (true), or those with these labels. The agent is the one
   * named here, else the option `agent`, else in a run the run's own.
   */
  readonly blocks?: boolean | { readonly agent?: string; readonly labels?: readonly string[] };
  /** Also memories that match a query: of the agent that `blocks` would take, or if there is none, of those without an agent. */
  readonly memory?: string | ContextMemoryQuery;
}

/** Which memories a context shows; see memory.search(). */
export interface ContextMemoryQuery {
  readonly query: string;
  readonly namespace?: string;
  /** null: memories that belong to no agent. */
  readonly agent?: string | null;
  readonly kind?: string;
  /** Default 10. */
  readonly limit?: number;
  /** The maximum number of tokens of the memories; half of what the budget leaves by default. */
  readonly tokens?: number;
}

/** What a model is told before the messages. */
export interface ContextSystem {
  /**
   * The agent's system prompt, its blocks, and the memories, best first. Every line of a memory is quoted, and a sentence says that
   * they are data and not instructions.
   */
  readonly text: string;
  readonly tokens: number;
  readonly blocks: readonly { readonly id: string; readonly label: string; readonly version: number }[];
  readonly memories: readonly { readonly id: string; readonly version: number }[];
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
  /** Of the messages and of `system`. */
  readonly tokens: number;
  /** Only with the options `blocks` or `memory`. It is never cut: the budget leaves the rest to the messages. */
  readonly system?: ContextSystem;
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
