// What a session, a message and a call of Holdfast say of those of a coding agent.
import { createHash } from "node:crypto";
import type { JsonObject } from "../../contracts/json.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { firstLine, titleOf } from "./brief.ts";
import type { Conversation, ConversationCall, ConversationMessage } from "./conversation.ts";

export function described(conversation: Conversation): { title?: string; metadata: JsonObject } {
  const { sessionId, cwd, version, startedAt, title, reportedCostUsd } = conversation;
  const prompt = conversation.messages.find(({ isPrompt }) => isPrompt);
  const called = titleOf(title ?? firstLine(prompt?.content ?? []));
  const facts = { agent: conversation.agent, sessionId, cwd, version, startedAt, reportedCostUsd };
  return { ...(called === "" ? {} : { title: called }), metadata: { coding: wellFormed(facts) } };
}

/** Metadata is text that people read: what is not Unicode is not kept there. */
function wellFormed(facts: Readonly<Record<string, string | number | null>>): JsonObject {
  const entries = Object.entries(facts).map(([name, value]) => [
    name,
    typeof value === "string" ? value.toWellFormed().slice(0, 4096) : value,
  ]);
  return Object.fromEntries(entries) as JsonObject;
}

/** Ids have a limit, and of a sub-agent's sub-agents they grow. */
export function childOf(session: string, id: string): string {
  const name = `${session}/${id.toWellFormed().replaceAll("\0", "")}`;
  if (Buffer.byteLength(name) <= LIMITS.idBytes && !/@hd-/i.test(name)) return name;
  return `${session.slice(0, 100)}/${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
}

export function metadataOf({ at, model, call, isPrompt, isMeta, isSummary }: ConversationMessage): JsonObject {
  return {
    ...(at === null ? {} : { at }),
    ...(model === null ? {} : { model }),
    ...(call === null ? {} : { call }),
    ...(isPrompt ? { prompt: true } : {}),
    ...(isMeta ? { meta: true } : {}),
    ...(isSummary ? { compaction: true } : {}),
  };
}

/** About how many characters it will take. */
export function sizeOf(content: ConversationMessage["content"]): number {
  return content.reduce((sum, block) => {
    if (block.type === "text") return sum + block.text.length;
    if (block.type === "tool_result" && typeof block.content === "string") return sum + block.content.length;
    return sum + 1000;
  }, 0);
}

export function outcomeOf(call: ConversationCall) {
  const { status, inputTokens, outputTokens, cachedTokens, costUsd, key } = call;
  return {
    status: status === "failed" ? ("failed" as const) : ("done" as const),
    // The answer itself is messages of the session.
    response: responseOf(key),
    ...(inputTokens === null ? {} : { inputTokens }),
    ...(outputTokens === null ? {} : { outputTokens }),
    ...(cachedTokens === null ? {} : { cachedTokens }),
    costUsd,
  };
}

function responseOf(key: string): JsonObject {
  return { id: key };
}

/** What the response of a call is kept under: a call is known by it again. */
export function responseRef({ key }: ConversationCall): string {
  return `sha256:${createHash("sha256")
    .update(JSON.stringify(responseOf(key)))
    .digest("hex")}`;
}
