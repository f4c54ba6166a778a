// Message content: checked at the door, its bytes taken out into blobs, kept as JSON exactly as given otherwise.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { ContentBlock, Role } from "../contracts/messages.ts";
import { sha256, toRef } from "../core/bytes.ts";
import {
  checkArray,
  checkBoolean,
  checkId,
  checkOneOf,
  checkRecord,
  checkRef,
  copyJson,
  encodeCopy,
  invalid,
  isList,
  limitExceeded,
} from "../core/check.ts";

export const ROLES: readonly Role[] = ["user", "assistant", "system", "tool", "developer"];

/** What is kept of a message in its blob. */
export interface StoredMessage {
  readonly content: readonly ContentBlock[];
  readonly metadata?: JsonObject;
}

export interface ReadyMessage {
  readonly role: Role;
  readonly key: string | undefined;
  readonly stored: StoredMessage;
  readonly bytes: Uint8Array;
  readonly chars: number;
  /** Blobs the content names that must be there already. */
  readonly named: readonly Uint8Array[];
  /** Bytes the content carried, which become blobs it refers to. */
  readonly carried: readonly CarriedMedia[];
}

export interface CarriedMedia {
  readonly bytes: Uint8Array;
  readonly sha256: Uint8Array;
  readonly media: string;
}

interface GatheredContent {
  readonly named: Uint8Array[];
  readonly carried: CarriedMedia[];
  chars: number;
}

export function readyMessage(input: unknown): ReadyMessage {
  if (input === undefined) throw invalid("message", "an object", input);
  // What we do not know would be lost; metadata takes anything.
  const message = checkRecord(input, "message", ["role", "content", "key", "metadata"]);
  const role = checkOneOf(message.role, "message.role", ROLES);
  const key = message.key === undefined ? undefined : checkId(message.key, "message.key");
  // Most messages are a text: made by us, there is nothing in it to look through or to copy.
  if (typeof message.content === "string" && message.metadata === undefined)
    return textMessage(role, key, message.content);
  const gathered: GatheredContent = { named: [], carried: [], chars: 0 };
  const content = blocksOf(message.content, "message.content", gathered, 0);
  const metadata = message.metadata;
  if (metadata !== undefined) checkRecord(metadata, "message.metadata");
  // Ours from here on: what the caller does with its own changes neither what is kept nor the answer.
  const stored = copyJson(metadata === undefined ? { content } : { content, metadata }, "message", "messageBytes");
  const bytes = encodeCopy(stored, "message", "messageBytes");
  return {
    role,
    key,
    stored: stored as unknown as StoredMessage,
    bytes,
    chars: gathered.chars,
    named: gathered.named,
    carried: gathered.carried,
  };
}

const NOTHING: readonly never[] = [];

function textMessage(role: ReadyMessage["role"], key: string | undefined, text: string): ReadyMessage {
  if (text.length > LIMITS.messageBytes) throw limitExceeded("messageBytes", "message in bytes", text.length);
  const stored = { content: [{ type: "text", text }] } as const;
  const bytes = encodeCopy(stored as unknown as Json, "message", "messageBytes");
  return { role, key, stored, bytes, chars: text.length, named: NOTHING, carried: NOTHING };
}

function blocksOf(value: unknown, what: string, gathered: GatheredContent, depth: number): readonly unknown[] {
  if (depth > 8) {
    throw new HoldfastError("InvalidArgument", `${what}: tool results are nested deeper than 8 levels`);
  }
  if (typeof value === "string") {
    gathered.chars += value.length;
    return [{ type: "text", text: value }];
  }
  if (!isList(value)) throw invalid(what, "a string or a list of content blocks", value);
  const blocks = checkArray(value, what, "blocksPerMessage");
  return blocks.map((block, i) => blockOf(block, `${what}[${i}]`, gathered, depth));
}

const BLOCK_TYPES = ["text", "image", "audio", "document", "tool_use", "tool_result", "thinking", "opaque"] as const;

function blockOf(value: unknown, what: string, gathered: GatheredContent, depth: number): unknown {
  const block = checkRecord(value, what);
  if (value === undefined) throw invalid(what, "a content block", value);
  switch (checkOneOf(block.type, `${what}.type`, BLOCK_TYPES)) {
    case "text":
      gathered.chars += stringOf(block.text, `${what}.text`).length;
      return block;
    case "thinking":
      gathered.chars += stringOf(block.thinking, `${what}.thinking`).length;
      optionalString(block.signature, `${what}.signature`);
      return block;
    case "image":
    case "audio":
    case "document":
      for (const name of ["alt", "transcript", "title"]) optionalString(block[name], `${what}.${name}`);
      return { ...block, source: mediaOf(block.source, `${what}.source`, gathered) };
    case "tool_use":
      stringOf(block.id, `${what}.id`);
      stringOf(block.name, `${what}.name`);
      if (block.input === undefined) throw invalid(`${what}.input`, "JSON", undefined);
      return block;
    case "tool_result": {
      stringOf(block.toolUseId, `${what}.toolUseId`);
      if (block.isError !== undefined) checkBoolean(block.isError, `${what}.isError`);
      const content = block.content;
      if (typeof content === "string") {
        gathered.chars += content.length;
        return block;
      }
      return { ...block, content: blocksOf(content, `${what}.content`, gathered, depth + 1) };
    }
    case "opaque":
      if (block.value === undefined) throw invalid(`${what}.value`, "JSON", undefined);
      return block;
  }
}

function stringOf(value: unknown, what: string): string {
  if (typeof value !== "string") throw invalid(what, "a string", value);
  return value;
}

function optionalString(value: unknown, what: string): void {
  if (value !== undefined) stringOf(value, what);
}

function mediaOf(value: unknown, what: string, gathered: GatheredContent): Json {
  const source = checkRecord(value, what);
  const { data, ref, url, mediaType } = source;
  if (mediaType !== undefined) stringOf(mediaType, `${what}.mediaType`);
  if (data instanceof Uint8Array) {
    if (data.byteLength > LIMITS.blobInMemoryBytes) throw invalid(`${what}.data`, "smaller", data.byteLength);
    const media = stringOf(mediaType, `${what}.mediaType`);
    // A copy, because the caller may keep writing into its own.
    const bytes = Uint8Array.from(data);
    const digest = sha256(bytes);
    gathered.carried.push({ bytes, sha256: digest, media });
    return { ref: toRef(digest), mediaType: media, size: bytes.byteLength };
  }
  if (ref !== undefined) {
    gathered.named.push(checkRef(ref, `${what}.ref`));
    return source as JsonObject;
  }
  if (typeof url === "string") return source as JsonObject;
  throw invalid(what, "bytes (data and mediaType), a ref, or a url", value);
}
