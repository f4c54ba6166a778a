// Reads one line of a Claude Code transcript (2.0 to 2.1): an entry of the chain of messages, other information, or nothing that concerns
// the conversation. The formats differ by version and are not documented, so every field is checked.
import { createHash } from "node:crypto";
import type { ContentBlockInput } from "../../contracts/messages.ts";
import { isObject } from "../../core/check.ts";
import { contentOf, idOf, isProgramText, type LooseObject, textOf, wholeOf } from "./agent-content.ts";

/** A line with a uuid. It names its predecessor in the chain. */
export interface Entry {
  readonly key: string;
  readonly parent: string | null;
  readonly at: number | null;
  readonly kind: "message" | "boundary" | "other";
  readonly message: EntryMessage | null;
  /** At a boundary of a compaction: the messages that it did not compact. */
  readonly preserved: readonly string[];
}

export interface EntryMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly content: readonly ContentBlockInput[];
  readonly answer: Answer | null;
  readonly isPrompt: boolean;
  readonly isMeta: boolean;
  readonly isSummary: boolean;
}

/** The call to a model that the line answers. Every line of an answer repeats it. */
export interface Answer {
  readonly call: string;
  readonly model: string | null;
  readonly usage: Usage | null;
  readonly costUsd: number | null;
  readonly stop: string | null;
  readonly isFailed: boolean;
}

interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
}

/** Types of lines that have no uuid and are not part of the conversation. */
const NO_ENTRY_TYPES = [
  "queue-operation",
  "last-prompt",
  "mode",
  "atis-latch",
  "tools-used",
  "file-history-snapshot",
  "file-history-delta",
  "agent_metadata",
  "agent-name",
  "custom-title",
  "tag",
  "pr-link",
  "permission-mode",
  "api-request-shape",
  "api-request-blob",
  "api-request",
  "worktree-state",
  "agent-setting",
  "task-summary",
] as const;

/** Types of lines with a uuid that are not messages. They are links of the chain. */
const LINK_TYPES = ["attachment", "system", "progress"];

export function isKnownType(type: string): boolean {
  return (NO_ENTRY_TYPES as readonly string[]).includes(type) || LINK_TYPES.includes(type);
}

function timeOf(value: unknown): number | null {
  if (typeof value !== "string") return null;
  const at = Date.parse(value);
  return Number.isSafeInteger(at) && at >= 0 ? at : null;
}

/** null when the line is not part of the chain. */
export function entryOf(line: LooseObject): Entry | null {
  if (typeof line.uuid !== "string" || line.uuid === "") return null;
  const isBoundary = line.type === "system" && line.subtype === "compact_boundary";
  const parent = textOf(line.parentUuid) ?? (isBoundary ? textOf(line.logicalParentUuid) : null);
  const message = messageOf(line);
  return {
    key: keyOf(line.uuid),
    parent: parent === null || parent === "" ? null : keyOf(parent),
    at: timeOf(line.timestamp),
    kind: message !== null ? "message" : isBoundary ? "boundary" : "other",
    message,
    preserved: isBoundary ? preservedOf(line.compactMetadata) : [],
  };
}

/** The uuid if it is a valid id, otherwise its hash. */
function keyOf(uuid: string): string {
  return idOf(uuid) ?? `line-${createHash("sha256").update(uuid).digest("hex").slice(0, 32)}`;
}

function preservedOf(metadata: unknown): readonly string[] {
  const kept = isObject(metadata) && isObject(metadata.preservedMessages) ? metadata.preservedMessages.uuids : null;
  return Array.isArray(kept) ? kept.flatMap((uuid) => (typeof uuid === "string" ? [keyOf(uuid)] : [])) : [];
}

function messageOf(line: LooseObject): EntryMessage | null {
  const { type, message } = line;
  if (type === "attachment") return queuedPrompt(line.attachment);
  if ((type !== "user" && type !== "assistant") || !isObject(message)) return null;
  const content = contentOf(message.content);
  const isSummary = line.isCompactSummary === true;
  if (type === "assistant")
    return { ...plainMessage("assistant", content), isSummary, answer: answerOf(line, message) };
  const isResult = content.length > 0 && content.every((block) => block.type === "tool_result");
  const isMeta = line.isMeta === true || isFromProgram(line) || isProgramText(content);
  return {
    ...plainMessage(isResult ? "tool" : "user", content),
    isSummary,
    isMeta,
    isPrompt: !isResult && !isMeta && !isSummary && content.length > 0,
  };
}

function plainMessage(role: EntryMessage["role"], content: readonly ContentBlockInput[]): EntryMessage {
  return { role, content, answer: null, isPrompt: false, isMeta: false, isSummary: false };
}

/** Whether the program wrote the prompt: Claude Code reports the end of a background task as a prompt. */
function isFromProgram({ promptSource, origin }: LooseObject): boolean {
  return promptSource === "system" || (isObject(origin) && origin.kind === "task-notification");
}

/** Claude Code writes a prompt that a person typed while the agent worked as an attachment. Other attachments are not messages. */
function queuedPrompt(attachment: unknown): EntryMessage | null {
  if (!isObject(attachment) || attachment.type !== "queued_command") return null;
  const mode = attachment.commandMode;
  if (mode !== undefined && mode !== "prompt") return null;
  const content = contentOf(attachment.prompt);
  return content.length === 0 ? null : { ...plainMessage("user", content), isPrompt: true };
}

function answerOf(line: LooseObject, message: LooseObject): Answer | null {
  const isFailed = line.isApiErrorMessage === true;
  const call = idOf(message.id) ?? idOf(line.requestId);
  // "<synthetic>": the program wrote the text instead of a model. It counts as a call only if a request failed.
  const isSynthetic = message.model === "<synthetic>";
  if (call === null || (isSynthetic && !isFailed)) return null;
  return {
    call,
    model: isSynthetic ? null : (idOf(message.model) ?? idOf(line.requestedModel)),
    usage: isSynthetic ? null : usageOf(message.usage),
    costUsd: typeof line.costUSD === "number" && line.costUSD > 0 ? line.costUSD : null,
    stop: textOf(message.stop_reason),
    isFailed,
  };
}

function usageOf(usage: unknown): Usage | null {
  if (!isObject(usage)) return null;
  const [input, output] = [wholeOf(usage.input_tokens), wholeOf(usage.output_tokens)];
  if (input === null || output === null) return null;
  const cached = wholeOf(usage.cache_read_input_tokens) ?? 0;
  const inputTokens = input + cached + (wholeOf(usage.cache_creation_input_tokens) ?? 0);
  return Number.isSafeInteger(inputTokens) ? { inputTokens, outputTokens: output, cachedTokens: cached } : null;
}

/** The sub-agent that a tool's result names, and the tool call that launched it. */
export function launchOf(line: LooseObject): readonly [agent: string, toolUse: string] | null {
  const { toolUseResult: result, message } = line;
  if (!isObject(result) || typeof result.agentId !== "string" || !isObject(message)) return null;
  const [block] = Array.isArray(message.content) ? message.content : [];
  return isObject(block) && typeof block.tool_use_id === "string" ? [result.agentId, block.tool_use_id] : null;
}
