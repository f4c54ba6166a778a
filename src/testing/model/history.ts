// The model's history.
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { HoldfastError } from "../../contracts/errors.ts";
import type { History, HistoryRange, HistoryScope } from "../../contracts/history.ts";
import type { At } from "../../contracts/locators.ts";
import type { ContentBlock, ContentBlockInput, Message, MessageInput } from "../../contracts/messages.ts";
import { idOf, type ModelMessage, type ModelSession, type ModelStore } from "./store.ts";

export function modelHistory(store: ModelStore): History {
  const appendMany: History["appendMany"] = async (scope, inputs, { run } = {}) => {
    if (inputs.length === 0) return [];
    const session = store.ensure(scope.session, scope.agent);
    const messages = inputs.map((input) => draft(scope, input as MessageInput, run, store.now()));
    // All inputs are checked before anything changes: all or nothing.
    const known = messages.map((message) => alreadyThere(session, message));
    return messages.map((message, n) => structuredClone(known[n] ?? remember(store, session, message)));
  };
  const erase = (session: ModelSession | undefined, goes: (message: Message) => boolean) => {
    const kept = session?.messages.filter(({ message }) => !goes(message)) ?? [];
    const removed = (session?.messages.length ?? 0) - kept.length;
    if (session !== undefined && removed > 0) {
      session.messages = kept;
      session.seq++;
    }
    return { removed: { messages: removed }, kept: {} };
  };
  const all = (session: At) => store.find(session)?.messages.map(({ message }) => message) ?? [];
  const own = ({ session, agent }: HistoryScope) => all(session).filter((message) => message.agent === agent);
  return {
    append: async (scope, input, options) => (await appendMany(scope, [input], options))[0] as Message,
    appendMany,
    get: async (scope, range) => inRange(own(scope), range),
    count: async (scope, { run } = {}) => own(scope).filter((one) => run === undefined || one.run === run).length,
    clear: async ({ session, agent }) => erase(store.find(session), (one) => one.agent === agent),
    clearRun: async ({ session, agent }, run) =>
      erase(store.find(session), (one) => one.agent === agent && one.run === run),
    session: async (session, range) => inRange(all(session), range),
    byAgent: async (agent, { limit = 1000, since = 0, until = Number.MAX_SAFE_INTEGER } = {}) => {
      const found = store.sessions
        .flatMap((session): readonly ModelMessage[] => session.messages)
        .filter(({ message }) => message.agent === agent && message.at >= since && message.at <= until)
        .toSorted((a, b) => a.no - b.no)
        .map(({ message }) => message);
      return structuredClone(limit === 0 ? [] : found.slice(-limit));
    },
  };
}

function inRange(messages: readonly Message[], range: HistoryRange = {}): readonly Message[] {
  const { limit = Number.POSITIVE_INFINITY, offset = 0, after = 0, since = 0, last, run } = range;
  if (last !== undefined && (range.limit !== undefined || range.offset !== undefined)) {
    throw new HoldfastError("InvalidArgument", "last goes with neither limit nor offset");
  }
  const found = messages
    .filter((message) => message.seq > Number(after) && message.at >= since)
    .filter((message) => run === undefined || message.run === run);
  if (last !== undefined) return structuredClone(last === 0 ? [] : found.slice(-last));
  return structuredClone(found.slice(offset, offset + limit));
}

type Draft = Omit<Message, "id" | "seq">;

function draft({ session, agent }: HistoryScope, input: MessageInput, run: string | undefined, at: number): Draft {
  const blocks: readonly ContentBlockInput[] =
    typeof input.content === "string" ? [{ type: "text", text: input.content }] : input.content;
  const content = structuredClone(blocks).map(stored);
  const { role, key, metadata } = input;
  const kept = metadata === undefined ? { content } : { content, metadata: structuredClone(metadata) };
  return {
    session: idOf(session),
    agent,
    role,
    at,
    ...kept,
    ...(run === undefined ? {} : { run }),
    ...(key === undefined ? {} : { key }),
    ref: refOf(JSON.stringify(kept)),
  };
}

/** Replaces bytes by refs, at any depth. */
function stored(block: ContentBlockInput): ContentBlock {
  if (block.type === "tool_result" && typeof block.content !== "string") {
    return { ...block, content: block.content.map(stored) };
  }
  if (!("source" in block) || block.source.data === undefined) return block as ContentBlock;
  const { data, mediaType } = block.source;
  return { ...block, source: { ref: refOf(data), mediaType, size: data.byteLength } };
}

function refOf(bytes: string | Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function alreadyThere(session: ModelSession, drafted: Draft): Message | undefined {
  if (drafted.key === undefined) return undefined;
  const found = session.messages.find(({ message }) => message.key === drafted.key)?.message;
  if (found === undefined) return undefined;
  const same = ({ role, agent, run, ref }: Draft) => ({ role, agent, run, ref });
  if (isDeepStrictEqual(same(found), same(drafted))) return found;
  throw new HoldfastError("Conflict", `another message has the key ${drafted.key}`);
}

function remember(store: ModelStore, session: ModelSession, drafted: Draft): Message {
  const seq = ++session.seq;
  const message: Message = { id: `${session.id}#${seq}`, seq, ...drafted };
  session.messages.push({ no: store.next(), message });
  return message;
}
