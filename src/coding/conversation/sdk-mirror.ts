// Sessions that the Claude Agent SDK mirrored. Every message contains one entry of a transcript; together they are read like Claude
// Code's own file.
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { JsonObject } from "../../contracts/json.ts";
import type { MessageInput } from "../../contracts/messages.ts";
import type { Session } from "../../contracts/session.ts";
import { isObject } from "../../core/check.ts";
import { textOf } from "./agent-content.ts";
import { readClaude } from "./claude.ts";
import type { Conversation } from "./conversation.ts";

/** The origin of such a session. */
export const MIRROR = "claude-agent-sdk";

/** The value of `metadata.claude` if the entry is the message's only content. */
export const AS_CONTENT = "content";

/** Whether the session is a main transcript. Transcripts of sub-agents are other sessions. */
export function isMirror({ origin, metadata }: Pick<Session, "origin" | "metadata">): boolean {
  return origin === MIRROR && mirroredId(metadata) !== null;
}

/** The agent's own id of the session; null when it is not a main transcript. */
export function mirroredId({ claude }: JsonObject): string | null {
  return isObject(claude) && claude.subpath === undefined ? textOf(claude.sessionId) : null;
}

/** undefined for a message that the SDK did not mirror. */
export function entryIn({ content, metadata }: Pick<MessageInput, "content" | "metadata">): JsonObject | undefined {
  const kept = metadata?.claude;
  if (kept !== AS_CONTENT) return isObject(kept) ? (kept as JsonObject) : undefined;
  const [block] = content;
  return typeof block === "object" && block.type === "opaque" && isObject(block.value)
    ? (block.value as JsonObject)
    : undefined;
}

export async function mirroredConversation(
  { history }: Pick<Holdfast, "history">,
  { id }: Pick<Session, "id">,
): Promise<Conversation> {
  const entries = (await history.session(id)).flatMap((message) => entryIn(message) ?? []);
  return readClaude(entries.map((entry) => `${JSON.stringify(entry)}\n`).join("")).conversation;
}
