// What a coding agent said and did, in one form for all of them: the line it stands on now, its requests to models, its
// sub-agents. Whoever reads one never throws on what it finds; what could not be read is counted.
import type { CodingAgent } from "../../contracts/captures.ts";
import type { ContentBlockInput, Role } from "../../contracts/messages.ts";

export interface Conversation {
  readonly agent: CodingAgent;
  /** As the agent calls it; null when nothing says. */
  readonly sessionId: string | null;
  readonly cwd: string | null;
  readonly version: string | null;
  readonly startedAt: number | null;
  readonly title: string | null;
  /** The line that ends in what came last, oldest first. What the agent went back from is not in it. */
  readonly messages: readonly ConversationMessage[];
  /** Those whose answers are on the line, in order. */
  readonly calls: readonly ConversationCall[];
  readonly subagents: readonly Subagent[];
  readonly compactions: readonly ConversationCompaction[];
  /** Which tool call launched which sub-agent, as far as the conversation itself says. */
  readonly launches: ReadonlyMap<string, string>;
  /** What the agent itself says that all of it cost; null: it does not say. */
  readonly reportedCostUsd: number | null;
}

export interface ConversationMessage {
  /** The same however often it is read, and of no other message of the conversation. */
  readonly key: string;
  readonly role: Role;
  readonly at: number | null;
  readonly content: readonly ContentBlockInput[];
  readonly parentKey: string | null;
  readonly model: string | null;
  /** The key of the call whose answer it is, or is part of. */
  readonly call: string | null;
  /** It asks for something: a turn begins with it. */
  readonly isPrompt: boolean;
  /** Put in by the agent's program, not said by anybody. */
  readonly isMeta: boolean;
  /** It stands for what came before. */
  readonly isSummary: boolean;
}

export interface ConversationCall {
  readonly key: string;
  readonly model: string | null;
  readonly provider: string | null;
  /** All of the request, what came out of the provider's cache included. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedTokens: number | null;
  /** null: unknown, which is not 0. */
  readonly costUsd: number | null;
  readonly at: number | null;
  /** started: it was under way when the conversation was read. */
  readonly status: "started" | "done" | "failed";
  /** The model had nothing more to do: neither a tool nor the rest of its answer is waited for. */
  readonly isEnd: boolean;
}

export interface ConversationCompaction {
  /** The message that is the summary. */
  readonly key: string;
  /** The last message it stands for; null when that is not known. */
  readonly upTo: string | null;
}

export interface Subagent {
  readonly id: string;
  readonly toolUseId: string | null;
  readonly type: string | null;
  readonly description: string | null;
  readonly conversation: Conversation;
}

/** What was not as it should be. None of it keeps the rest from being read. */
export interface Damage {
  /** Lines (Claude Code) or messages and parts (OpenCode) that are no JSON, or not what they should be. */
  readonly broken: number;
  /** The last line has no end yet: it is read when it has one. */
  readonly torn: boolean;
  /** Entries whose predecessor is not there; they were taken to follow what stands before them. */
  readonly orphaned: number;
  /** Kinds that this version does not know, and how many of each. */
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

/** Tool calls on the line that have no result: the agent was cut off there, or is still at work. */
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

/** It ended well: the last word is the model's, and nothing is waited for. */
export function isAtRest({ messages, calls }: Conversation): boolean {
  const last = messages.findLast(({ isMeta }) => !isMeta);
  if (last === undefined || last.role !== "assistant" || last.content.every(({ type }) => type === "thinking")) {
    return false;
  }
  return calls.find(({ key }) => key === last.call)?.isEnd ?? false;
}
