// Appends messages: checks their content, makes payloads from it, and writes the messages as events of one commit. The
// result is made from the written rows; nothing is read back.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { ContentBlock, Message, Role } from "../contracts/messages.ts";
import type { BlobWrite, Commit, EventDraft, Guard, SessionUse, Write } from "../contracts/storage/commit.ts";
import type { InlineContent, PayloadOptions, Prepare, PreparedPayload } from "../contracts/storage/payloads.ts";
import { sameBytes, sha256, toHex, toRef } from "../core/bytes.ts";
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

/** The part of a message that is stored as its content. */
interface StoredMessage {
  readonly content: readonly ContentBlock[];
  readonly metadata?: JsonObject;
}

export interface ReadyMessage {
  readonly role: Role;
  readonly key: string | undefined;
  readonly stored: StoredMessage;
  readonly bytes: Uint8Array;
  readonly chars: number;
  /** Blobs that the content names and that must exist already. */
  readonly named: readonly Uint8Array[];
  /** Bytes in the content, which become blobs that it refers to. */
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
  // Unknown fields would be lost, so they are refused. Callers can use metadata.
  const message = checkRecord(input, "message", ["role", "content", "key", "metadata"]);
  const role = checkOneOf(message.role, "message.role", ROLES);
  const key = message.key === undefined ? undefined : checkId(message.key, "message.key");
  // Most messages are a text. Their content is made here, so it need not be checked or copied.
  if (typeof message.content === "string" && message.metadata === undefined)
    return textMessage(role, key, message.content);
  const gathered: GatheredContent = { named: [], carried: [], chars: 0 };
  const content = blocksOf(message.content, "message.content", gathered, 0);
  const metadata = message.metadata;
  if (metadata !== undefined) checkRecord(metadata, "message.metadata");
  // A private copy: later changes of the caller's object affect neither the stored message nor the result.
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

/** Content blocks, checked and copied, with the blobs that they name and the bytes that become blobs. */
export interface CheckedContent extends Pick<ReadyMessage, "named" | "carried"> {
  readonly content: readonly unknown[];
}

/** Checks content that is not of a message. */
export function checkContent(value: unknown, what: string): CheckedContent {
  const gathered: GatheredContent = { named: [], carried: [], chars: 0 };
  const content = blocksOf(value, what, gathered, 0);
  return { content, named: gathered.named, carried: gathered.carried };
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
    // A copy, because the caller may change its bytes.
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

/** The agent and session of new messages. */
export type AgentScope = Pick<Message, "session" | "agent">;

export interface Appending extends AgentScope {
  readonly run: string | undefined;
  readonly at: number;
}

export interface PreparedMessage {
  readonly ready: ReadyMessage;
  readonly payload: PreparedPayload;
  readonly carried: readonly PreparedPayload[];
  /** Rows from which inline content was copied. The commit checks that they still have it. */
  readonly sources: readonly InlineContent[];
}

/** Synchronous if nothing has to be awaited, which is the usual case: a small message in a database. */
export function prepareMessage(ready: ReadyMessage, prepare: Prepare): PreparedMessage | Promise<PreparedMessage> {
  const children = [...ready.named, ...ready.carried.map((one) => one.sha256)];
  const options: PayloadOptions = {
    media: "application/json",
    utf8: true,
    inline: true,
    owned: true,
    ...(children.length === 0 ? {} : { children }),
  };
  const payload = prepare(ready.bytes, options);
  if (ready.carried.length === 0 && !(payload instanceof Promise)) return { ready, payload, carried: [], sources: [] };
  return (async () => {
    const carried: PreparedPayload[] = [];
    for (const one of ready.carried) carried.push(await prepareCarried(one, prepare));
    return { ready, payload: await payload, carried, sources: [] };
  })();
}

export async function prepareCarried(carried: CarriedMedia, prepare: Prepare): Promise<PreparedPayload> {
  const payload = await prepare(carried.bytes, { media: carried.media, utf8: false });
  // The content's link to the blob keeps it alive, so no row counts as a reference.
  return { ...payload, blobs: payload.blobs.map((blob) => ({ ...blob, refs: 0 })) };
}

/**
 * The same message, together with a blob of content that it names and that was only inline in another message's row.
 */
export async function carrying(
  message: PreparedMessage,
  source: InlineContent,
  digest: Uint8Array,
  prepare: Prepare,
): Promise<PreparedMessage> {
  const named = message.ready.named.filter((one) => !sameBytes(one, digest));
  if (named.length === message.ready.named.length) return message;
  const carried = await prepareCarried({ bytes: source.bytes, sha256: digest, media: "application/json" }, prepare);
  return {
    ...message,
    ready: { ...message.ready, named },
    carried: [...message.carried, carried],
    sources: [...message.sources, source],
  };
}

export function appendCommit(scope: Appending, messages: readonly PreparedMessage[]): Commit {
  const blobs: BlobWrite[] = [];
  const writes: Write[] = [];
  const guards: Guard[] = [];
  const locked: SessionUse[] = [];
  const uses = new Map<string, NonNullable<Commit["uses"]>[number]>();
  const events = messages.map((message) => {
    const { ready, payload, carried, sources } = message;
    for (const one of [...carried, payload]) {
      blobs.push(...one.blobs);
      writes.push(...one.writes);
      for (const use of one.uses) uses.set(toHex(use[0]), use);
    }
    for (const { session, guard } of sources) {
      guards.push(guard);
      if (session !== scope.session) locked.push({ id: session, mode: "lock", at: scope.at });
    }
    for (const named of ready.named) uses.set(toHex(named), [named, 0]);
    if (ready.key !== undefined) guards.push({ check: "message.key", key: [scope.session, ready.key], expect: null });
    return messageEvent(scope, message);
  });
  const own: SessionUse = { id: scope.session, mode: "ensure", agent: scope.agent, at: scope.at };
  return {
    sessions: [own, ...locked],
    agents: [{ id: scope.agent, at: scope.at }],
    blobs,
    events,
    ...(writes.length === 0 ? {} : { writes }),
    ...(guards.length === 0 ? {} : { guards }),
    ...(uses.size === 0 ? {} : { uses: [...uses.values()] }),
  };
}

/** The commit of one message with only inline content, as in most appends. */
export function inlineCommit(scope: Appending, message: PreparedMessage): Commit {
  return {
    sessions: [{ id: scope.session, mode: "ensure", agent: scope.agent, at: scope.at }],
    agents: [{ id: scope.agent, at: scope.at }],
    events: [messageEvent(scope, message)],
  };
}

function messageEvent(scope: Appending, { ready, payload }: PreparedMessage): EventDraft {
  return {
    session: scope.session,
    type: "message/added",
    at: scope.at,
    agent: scope.agent,
    ...(scope.run === undefined ? {} : { run: scope.run }),
    data: ready.key === undefined ? { role: ready.role } : { key: ready.key, role: ready.role },
    payloads: { content: payload },
    messages: 1,
    message: {
      role: ready.role,
      ...(ready.key === undefined ? {} : { key: ready.key }),
      sha256: payload.sha256,
      salt: payload.salt,
      inline: payload.inline,
      chars: ready.chars,
    },
  };
}

export function appendedMessage(scope: Appending, { ready, payload }: PreparedMessage, seq: number): Message {
  return {
    id: `${scope.session}#${seq}`,
    session: scope.session,
    agent: scope.agent,
    seq,
    role: ready.role,
    content: ready.stored.content,
    at: scope.at,
    ...(scope.run === undefined ? {} : { run: scope.run }),
    ...(ready.key === undefined ? {} : { key: ready.key }),
    ...(ready.stored.metadata === undefined ? {} : { metadata: ready.stored.metadata }),
    ref: toRef(payload.sha256),
  };
}

export function keyConflict(scope: AgentScope, key: string): HoldfastError {
  return new HoldfastError("Conflict", `the session has another message with the key ${JSON.stringify(key)}`, {
    details: { session: scope.session, key },
    hint: "A key names one message until that is cleared; use a new one for other content.",
  });
}
