// The title, tags and metadata that an imported session, its messages and its calls get from the agent's conversation.
import { createHash } from "node:crypto";
import { isHoldfastError } from "../../contracts/errors.ts";
import type { JsonObject } from "../../contracts/json.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { SessionBasics } from "../../contracts/sessions.ts";
import { idOf } from "./agent-content.ts";
import type { Conversation, ConversationCall, ConversationMessage } from "./conversation.ts";
import { withoutDigest } from "./digest-frame.ts";
import { firstLine, titleOf } from "./short-text.ts";

/** The session that a conversation is imported into. */
export interface ImportTarget {
  readonly session: string;
  readonly request: string;
  readonly agent: string;
}

/** The prefix of tags: the session gets one for each tool that was called in it, for filters. */
const TOOL = "tool:";
/** A tag is an id, and a session has at most so many of them. */
const MOST_TOOLS = 100;
const LONGEST_TOOL = 128;

interface SessionDescription {
  readonly title?: string;
  readonly tags: readonly string[];
  readonly metadata: JsonObject;
}

export function describeConversation(conversation: Conversation): SessionDescription {
  const { sessionId, cwd, version, startedAt, title, reportedCostUsd } = conversation;
  const shownTitle = titleOf(title ?? firstPrompt(conversation));
  const facts = { agent: conversation.agent, sessionId, cwd, version, startedAt, reportedCostUsd };
  return {
    ...(shownTitle === "" ? {} : { title: shownTitle }),
    tags: toolTags(conversation),
    metadata: { coding: wellFormed(facts) },
  };
}

function toolTags({ messages }: Conversation): readonly string[] {
  const tags = new Set<string>();
  for (const { content } of messages) {
    for (const block of content) {
      const name = block.type === "tool_use" ? idOf(block.name) : null;
      if (name !== null && name.length <= LONGEST_TOOL) tags.add(`${TOOL}${name}`);
    }
  }
  return [...tags].slice(0, MOST_TOOLS);
}

/** The union of both, up to the limit. */
function withTags(found: readonly string[], more: readonly string[]): readonly string[] {
  return [...new Set([...found, ...more])].slice(0, Math.max(found.length, LIMITS.tags));
}

/** The first line of the first prompt, without a digest before it. */
export function firstPrompt({ messages }: Pick<Conversation, "messages">): string {
  const prompts = messages.filter(({ isPrompt }) => isPrompt);
  return prompts.map(({ content }) => firstLine(withoutDigest(content)?.content ?? content)).find((line) => line) ?? "";
}

/** Metadata is text for people, so it must be well-formed Unicode. */
function wellFormed(facts: Readonly<Record<string, string | number | null>>): JsonObject {
  const entries = Object.entries(facts).map(([name, value]) => [
    name,
    typeof value === "string" ? value.toWellFormed().slice(0, 4096) : value,
  ]);
  return Object.fromEntries(entries) as JsonObject;
}

type SessionMetadata = Pick<SessionDescription, "tags" | "metadata">;

/** Whether the session lacks some of these tags or metadata. */
function hasNewMetadata(found: SessionMetadata, { tags, metadata }: SessionMetadata): boolean {
  const isNew = ([name, value]: readonly [string, unknown]) =>
    JSON.stringify(found.metadata[name]) !== JSON.stringify(value);
  return Object.entries(metadata).some(isNew) || withTags(found.tags, tags).length > found.tags.length;
}

/** Ids have a limit, and those of nested sub-agents grow. */
export function subagentSessionId(session: string, id: string): string {
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

/** About how many characters the content takes. */
export function estimateChars(content: ConversationMessage["content"]): number {
  return content.reduce((sum, block) => {
    if (block.type === "text") return sum + block.text.length;
    if (block.type === "tool_result" && typeof block.content === "string") return sum + block.content.length;
    return sum + 1000;
  }, 0);
}

export function callOutcome(call: ConversationCall) {
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

/** The ref of a call's response, by which an import recognises the call. */
export function responseRef({ key }: ConversationCall): string {
  return `sha256:${createHash("sha256")
    .update(JSON.stringify(responseOf(key)))
    .digest("hex")}`;
}

export async function ensureSession(
  hf: { readonly sessions: SessionBasics },
  conversation: Conversation,
  to: ImportTarget,
  follows: string | undefined,
): Promise<void> {
  const { session, request, agent } = to;
  const { metadata, ...rest } = describeConversation(conversation);
  const description = { ...rest, metadata: { ...metadata, ...(follows && { follows }) } };
  const found = await hf.sessions.get({ session });
  if (found === null) {
    const input = { id: session, agent, request, origin: conversation.agent, ...description };
    await hf.sessions.create(input).catch((error: unknown) => {
      if (!isHoldfastError(error) || error.code !== "AlreadyExists") throw error;
    });
    return;
  }
  // A sub-agent's session belongs to the request of the session that it works for.
  const isMoved = found.kind !== "entry" && found.request !== request;
  if (isMoved || hasNewMetadata(found, description)) {
    await hf.sessions.update(session, {
      ...(isMoved ? { request } : {}),
      metadata: { ...found.metadata, ...description.metadata },
      tags: withTags(found.tags, description.tags),
      ...(found.title === null && description.title !== undefined ? { title: description.title } : {}),
    });
  }
}
