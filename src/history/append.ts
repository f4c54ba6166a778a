// Appending: messages become payloads, rows and events of one commit. The answer is made from what was written; nothing
// is read back.
import { HoldfastError } from "../contracts/errors.ts";
import type { HistoryScope } from "../contracts/history.ts";
import type { Message } from "../contracts/messages.ts";
import type { InlineContent, Prepare, PreparedPayload } from "../contracts/payloads.ts";
import type { BlobWrite, Commit, EventDraft, Guard, SessionUse, Write } from "../contracts/storage.ts";
import { sameBytes, toHex, toRef } from "../core/bytes.ts";
import type { CarriedMedia, ReadyMessage } from "./content.ts";

export interface Appending extends HistoryScope {
  readonly run: string | undefined;
  readonly at: number;
}

export interface PreparedMessage {
  readonly ready: ReadyMessage;
  readonly payload: PreparedPayload;
  readonly carried: readonly PreparedPayload[];
  /** Rows from which some of it was carried: they must have it still. */
  readonly sources: readonly InlineContent[];
}

/** At once when nothing has to be waited for, which is the rule: a small message in a database. */
export function prepareMessage(ready: ReadyMessage, prepare: Prepare): PreparedMessage | Promise<PreparedMessage> {
  const children = [...ready.named, ...ready.carried.map((one) => one.sha256)];
  const options = {
    media: "application/json",
    utf8: true,
    inRow: true,
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

async function prepareCarried(carried: CarriedMedia, prepare: Prepare): Promise<PreparedPayload> {
  const payload = await prepare(carried.bytes, { media: carried.media, utf8: false });
  // It lives by the link from the content, not by a row.
  return { ...payload, blobs: payload.blobs.map((blob) => ({ ...blob, refs: 0 })) };
}

/** The same message with a blob of content it names, which so far stands in another message's row. */
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
  const still: SessionUse[] = [];
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
      if (session !== scope.session) still.push({ id: session, mode: "still", at: scope.at });
    }
    for (const named of ready.named) uses.set(toHex(named), [named, 0]);
    if (ready.key !== undefined) guards.push({ check: "message.key", key: [scope.session, ready.key], expect: null });
    return messageEvent(scope, message);
  });
  const own: SessionUse = { id: scope.session, mode: "ensure", agent: scope.agent, at: scope.at };
  return {
    sessions: [own, ...still],
    agents: [{ id: scope.agent, at: scope.at }],
    blobs,
    events,
    ...(writes.length === 0 ? {} : { writes }),
    ...(guards.length === 0 ? {} : { guards }),
    ...(uses.size === 0 ? {} : { uses: [...uses.values()] }),
  };
}

/** The same for one message that neither has nor names anything beside its words: the way of most appends. */
export function plainCommit(scope: Appending, message: PreparedMessage): Commit {
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

export function keyTaken(scope: HistoryScope, key: string): HoldfastError {
  return new HoldfastError("Conflict", `the session has another message with the key ${JSON.stringify(key)}`, {
    details: { session: scope.session, key },
    hint: "A key names one message until that is cleared; use a new one for other content.",
  });
}
