// Converts an entry of a transcript to a message and back. The text becomes content that people and queries can read; the entry itself
// is stored in the metadata, because load() must return it unchanged.
import { AS_CONTENT, entryIn } from "../../coding/conversation/sdk-mirror.ts";
import type { Json, JsonObject } from "../../contracts/json.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { ContentBlockInput, MediaInput, MessageInput } from "../../contracts/messages.ts";
import type { SessionStoreEntry } from "../../contracts/session-store.ts";
import { encodeText, sha256, toHex } from "../../core/bytes.ts";
import { checkArray, checkPlain, copyJson, invalid, isObject } from "../../core/check.ts";

/** A larger entry is not stored a second time as readable content: both together would exceed the limit of a message. */
const READABLE_CHARS = 4_194_304;

/** Converts the entries. An entry with the key of an earlier one is dropped. */
export function messagesOf(entries: unknown): readonly MessageInput[] {
  const seen = new Set<string>();
  return checkArray(entries, "entries", "messagesPerAppend").flatMap((given, i) => {
    checkPlain(given, `entries[${i}]`);
    const message = messageOf(copyJson(given, `entries[${i}]`, "messageBytes") as JsonObject, `entries[${i}]`);
    if (message.key !== undefined && seen.has(message.key)) return [];
    if (message.key !== undefined) seen.add(message.key);
    return [message];
  });
}

function messageOf(entry: JsonObject, what: string): MessageInput {
  if (typeof entry.type !== "string") throw invalid(`${what}.type`, "a string", entry.type);
  const named = typeof entry.uuid === "string" && entry.uuid !== "" ? { key: keyOf(entry.uuid) } : {};
  const content = contentOf(entry);
  const role = roleOf(entry, content);
  if (content === null) {
    return { role, content: [{ type: "opaque", value: entry }], metadata: { claude: AS_CONTENT }, ...named };
  }
  return { role, content, metadata: { claude: entry }, ...named };
}

/** undefined for a message that did not come from the SDK. */
export function entryOf(message: Pick<MessageInput, "content" | "metadata">): SessionStoreEntry | undefined {
  return entryIn(message) as SessionStoreEntry | undefined;
}

/** The SDK accepts any text as uuid. A text of another form is replaced by its hash, with a prefix that no uuid has. */
function keyOf(uuid: string): string {
  return /^[0-9a-z-]{1,64}$/i.test(uuid) ? uuid : `uuid:${toHex(sha256(encodeText(JSON.stringify(uuid))))}`;
}

function roleOf({ type }: JsonObject, content: readonly ContentBlockInput[] | null): MessageInput["role"] {
  if (type === "assistant") return "assistant";
  if (type !== "user") return "system";
  const answers = content !== null && content.length > 0 && content.every((block) => block.type === "tool_result");
  return answers ? "tool" : "user";
}

/** null when the entry has no content of a known form. */
function contentOf({ type, message }: JsonObject): readonly ContentBlockInput[] | null {
  if ((type !== "user" && type !== "assistant") || !isObject(message)) return null;
  const { content } = message;
  if (JSON.stringify(content ?? null).length > READABLE_CHARS) return null;
  if (typeof content === "string") return [{ type: "text", text: content }];
  return isList(content) && content.length <= LIMITS.blocksPerMessage ? content.map(blockOf) : null;
}

function blockOf(block: Json): ContentBlockInput {
  return (
    (isObject(block) ? (contentBlockOf(block) ?? toolResultOf(block)) : undefined) ?? { type: "opaque", value: block }
  );
}

function contentBlockOf(block: JsonObject): ContentBlockInput | undefined {
  const { type, text, thinking, signature, id, name, input } = block;
  if (type === "text" && typeof text === "string") return { type, text };
  if (type === "thinking" && typeof thinking === "string") {
    return typeof signature === "string" ? { type, thinking, signature } : { type, thinking };
  }
  if (type === "tool_use" && typeof id === "string" && typeof name === "string" && input !== undefined) {
    return { type, id, name, input };
  }
  const source = type === "image" || type === "document" ? mediaOf(block.source) : undefined;
  if (source === undefined) return undefined;
  if (type === "image") return { type, source };
  return { type: "document", source, ...(typeof block.title === "string" ? { title: block.title } : {}) };
}

/** A tool result has no tool results inside. */
function toolResultOf({ type, tool_use_id: toolUseId, content, is_error }: JsonObject): ContentBlockInput | undefined {
  if (type !== "tool_result" || typeof toolUseId !== "string") return undefined;
  const failed = typeof is_error === "boolean" ? { isError: is_error } : {};
  if (content === undefined || typeof content === "string") {
    return { type, toolUseId, content: content ?? "", ...failed };
  }
  if (!isList(content) || content.length > LIMITS.blocksPerMessage) return undefined;
  const blocks = content.map(
    (one): ContentBlockInput => (isObject(one) ? contentBlockOf(one) : undefined) ?? { type: "opaque", value: one },
  );
  return { type, toolUseId, content: blocks, ...failed };
}

function mediaOf(source: Json | undefined): MediaInput | undefined {
  if (!isObject(source)) return undefined;
  const { type, data, media_type: mediaType, url } = source;
  if (type === "url" && typeof url === "string") return { url };
  if (type !== "base64" || typeof data !== "string" || typeof mediaType !== "string") return undefined;
  const bytes = Buffer.from(data, "base64");
  const isSound = /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/.test(mediaType) && bytes.toString("base64") === data;
  return isSound ? { data: bytes, mediaType } : undefined;
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
