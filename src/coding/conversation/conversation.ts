// The conversation of a coding agent in one form for all agents: the messages of its current branch, its calls of models, its
// sub-agents. Readers never throw on damaged input; they count what could not be read.
import type { Call } from "../../contracts/calls.ts";
import type { CodingAgent } from "../../contracts/captures.ts";
import type { ContentBlockInput, Role } from "../../contracts/messages.ts";

export interface Conversation {
  readonly agent: CodingAgent;
  /** The agent's own id of the session; null when it is unknown. */
  readonly sessionId: string | null;
  readonly cwd: string | null;
  readonly version: string | null;
  readonly startedAt: number | null;
  readonly title: string | null;
  /** The branch that ends in the newest message, oldest message first, without messages that the user rewound. */
  readonly messages: readonly ConversationMessage[];
  /** The calls with answers on that branch, in order. */
  readonly calls: readonly ConversationCall[];
  readonly subagents: readonly Subagent[];
  readonly compactions: readonly ConversationCompaction[];
  /** Which tool call launched which sub-agent, as far as it is known. */
  readonly launches: ReadonlyMap<string, string>;
  /** The total cost that the agent reports; null: it reports none. */
  readonly reportedCostUsd: number | null;
}

export interface ConversationMessage {
  /** Unique in the conversation, and the same each time the conversation is read. */
  readonly key: string;
  readonly role: Role;
  readonly at: number | null;
  readonly content: readonly ContentBlockInput[];
  readonly parentKey: string | null;
  readonly model: string | null;
  /** The key of the call that the message answers. */
  readonly call: string | null;
  /** A prompt begins a turn. */
  readonly isPrompt: boolean;
  /** The agent's program added it; neither a person nor the model wrote it. */
  readonly isMeta: boolean;
  /** It is a summary of the messages before. */
  readonly isSummary: boolean;
}

export interface ConversationCall
  extends Pick<Call, "model" | "provider" | "inputTokens" | "outputTokens" | "cachedTokens" | "costUsd"> {
  readonly key: string;
  readonly at: number | null;
  /** started: it had no end yet when the conversation was read. */
  readonly status: "started" | "done" | "failed";
  /** The model has finished: neither a tool call nor the rest of its answer is pending. */
  readonly isEnd: boolean;
}

export interface ConversationCompaction {
  /** The message that is the summary. */
  readonly key: string;
  /** The last message that the summary covers; null when it is unknown. */
  readonly upTo: string | null;
}

export interface Subagent {
  readonly id: string;
  readonly toolUseId: string | null;
  readonly type: string | null;
  readonly description: string | null;
  readonly conversation: Conversation;
}

/** Damage in the input. Everything else was read. */
export interface Damage {
  /** Lines (Claude Code) or messages and parts (OpenCode) that are not valid. */
  readonly broken: number;
  /** The last line is incomplete; a later reading reads it. */
  readonly torn: boolean;
  /** Entries with a missing predecessor; they continue the previous entry of the file. */
  readonly orphaned: number;
  /** Unknown kinds, and how many there are of each. */
  readonly unknown: Readonly<Record<string, number>>;
}

export interface Reading {
  readonly conversation: Conversation;
  readonly damage: Damage;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** Tool calls without a result: the agent was cut off there, or still works. */
export function openToolCalls({ messages }: Pick<Conversation, "messages">): readonly ToolCall[] {
  const open = new Map<string, ToolCall>();
  for (const { content } of messages) {
    for (const block of content) {
      if (block.type === "tool_use") open.set(block.id, { id: block.id, name: block.name, input: block.input });
      else if (block.type === "tool_result") open.delete(block.toolUseId);
    }
  }
  return [...open.values()];
}

/** Whether the last message is the model's, and nothing is pending. */
export function isAtRest({ messages, calls }: Conversation): boolean {
  const last = messages.findLast(({ isMeta }) => !isMeta);
  if (last === undefined || last.role !== "assistant" || last.content.every(({ type }) => type === "thinking")) {
    return false;
  }
  return calls.find(({ key }) => key === last.call)?.isEnd ?? false;
}
