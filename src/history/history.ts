// History: the transcript of an agent in a session.
import { HoldfastError } from "../contracts/errors.ts";
import type { Erasure, History } from "../contracts/history.ts";
import type { Message } from "../contracts/messages.ts";
import type { Payloads, Prepare } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { HISTORY_VERBS } from "../contracts/verbs/history.ts";
import { sameBytes, toRef } from "../core/bytes.ts";
import { invalid } from "../core/check.ts";
import { type Decision, decide, type FinalAnswer, refusalError } from "../core/decide.ts";
import { noteDirectRead } from "../core/direct-reads.ts";
import { SerialQueue } from "../core/serial-queue.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { refuseAlias } from "../core/session-lookup.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { bindVerbs } from "../core/verbs.ts";
import {
  type AgentScope,
  type Appending,
  appendCommit,
  appendedMessage,
  carrying,
  inlineCommit,
  keyConflict,
  type PreparedMessage,
  prepareMessage,
  type ReadyMessage,
  readyMessage,
} from "./append.ts";
import { eraseMessages } from "./erase.ts";
import { messageOf, readContent, readRows } from "./messages.ts";
import { countMessages, findKeyed, readHistory } from "./read.ts";

const NOTHING: readonly never[] = [];

export function createHistory(storage: Storage, payloads: Payloads, lookup: SessionLookup): History {
  const queue = new SerialQueue();
  const stores: AppendStores = { storage, payloads, queue };
  return bindVerbs(HISTORY_VERBS, lookup, {
    async append({ session, agent }, message, { run }) {
      const ready = readyMessage(message);
      const appending = { session, agent, run, at: storage.environment.now() };
      // The usual case: nothing to prepare, to await or to release.
      const isSelfContained = ready.key === undefined && ready.named.length === 0 && ready.carried.length === 0;
      const payload = isSelfContained && !queue.isBusy(session) ? payloads.prepareInline(ready.bytes) : null;
      if (payload !== null) {
        const prepared = { ready, payload, carried: NOTHING, sources: NOTHING };
        const outcome = await storage.commit(inlineCommit(appending, prepared));
        if (!outcome.ok) throw refusalError(outcome.refused);
        return appendedMessage(appending, prepared, outcome.events[0]?.seq ?? 0);
      }
      const [appended] = await payloads.preparing((prepare) => appendPrepared(stores, appending, [ready], prepare));
      return appended as Message;
    },
    async appendMany({ session, agent }, messages, { run }) {
      if (messages.length === 0) return [];
      const ready = messages.map(readyMessage);
      checkKeys(ready.map((one) => one.key));
      const appending = { session, agent, run, at: storage.environment.now() };
      return payloads.preparing((prepare) => appendPrepared(stores, appending, ready, prepare));
    },
    async get(scope, range) {
      noteDirectRead("hf.history.get()");
      const messages = await readHistory(storage, payloads, scope, range);
      if (messages.length === 0) await refuseAlias(storage, scope.session);
      return messages;
    },
    async count({ session, agent }, { run }) {
      noteDirectRead("hf.history.count()");
      const count = await countMessages(storage, { session, agent, run });
      if (count === 0) await refuseAlias(storage, session);
      return count;
    },
    clear: (scope) => clear(storage, payloads, scope, undefined),
    clearRun: (scope, run) => clear(storage, payloads, scope, run),
    async session(session, range) {
      noteDirectRead("hf.history.session()");
      const messages = await readHistory(storage, payloads, { session }, range);
      if (messages.length === 0) await refuseAlias(storage, session);
      return messages;
    },
    async byAgent(agent, { limit, since, until }) {
      noteDirectRead("hf.history.byAgent()");
      const rows = await storage.query("history.byAgent", { agent, since, until, limit });
      return readRows(rows, payloads, new TimeSlice(storage.environment));
    },
  });
}

interface AppendStores {
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly queue: SerialQueue;
}

/** Appends messages of which some must be prepared or looked up first, in the order of the calls. */
async function appendPrepared(
  { storage, payloads, queue }: AppendStores,
  scope: Appending,
  inputs: readonly ReadyMessage[],
  prepare: Prepare,
): Promise<readonly Message[]> {
  const made = inputs.map((one) => prepareMessage(one, prepare));
  const ready = made.filter((one): one is PreparedMessage => !(one instanceof Promise));
  if (ready.length === made.length && ready.every(isUnguarded) && !queue.isBusy(scope.session)) {
    return appendUnguarded(storage, scope, ready);
  }
  return queue.prepareAndRun(scope.session, Promise.all(made), (prepared, release) => {
    // The entry keeps its place in the queue until its commit is done, because content that it names may have to be
    // copied.
    if (prepared.some(({ ready }) => ready.named.length > 0)) {
      return appendNaming(storage, payloads, prepare, scope, prepared);
    }
    if (!prepared.every(isUnguarded)) return appendKeyed(storage, payloads, scope, prepared, release);
    const appending = appendUnguarded(storage, scope, prepared);
    release();
    return appending;
  });
}

/**
 * A message may name content that is inline in another message's row. Then its commit also writes a blob of this
 * content. Every attempt looks it up again, because the row may have been cleared. If the content does not exist, the
 * commit is refused.
 */
async function appendNaming(
  storage: Storage,
  payloads: Payloads,
  prepare: Prepare,
  scope: Appending,
  prepared: readonly PreparedMessage[],
): Promise<readonly Message[]> {
  try {
    return await appendKeyed(storage, payloads, scope, prepared);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
  return decide(storage, async () =>
    decideKeyed(storage, payloads, scope, await storeMedia(payloads, prepare, prepared)),
  );
}

function isAbsent(error: unknown): boolean {
  return error instanceof HoldfastError && (error.code === "BlobNotFound" || error.code === "BlobExpired");
}

/** Prepares the messages together with all inline content that they name. */
async function storeMedia(
  payloads: Payloads,
  prepare: Prepare,
  messages: readonly PreparedMessage[],
): Promise<readonly PreparedMessage[]> {
  const named = new Map(messages.flatMap(({ ready }) => ready.named.map((digest) => [toRef(digest), digest] as const)));
  let brought = messages;
  for (const digest of named.values()) {
    const source = await payloads.findInline(digest);
    if (source === null) continue;
    brought = await Promise.all(brought.map((one) => carrying(one, source, digest, prepare)));
  }
  return brought;
}

async function clear(
  storage: Storage,
  payloads: Payloads,
  scope: AgentScope,
  run: string | undefined,
): Promise<Erasure> {
  // Reports an alias as such, and not as a session that does not exist.
  const [known] = await storage.query("session.get", { id: scope.session });
  if (known === undefined) await refuseAlias(storage, scope.session);
  return eraseMessages(storage, payloads, scope, run);
}

function checkKeys(keys: readonly (string | undefined)[]): void {
  const seen = new Set<string>();
  for (const key of keys) {
    if (key === undefined) continue;
    if (seen.has(key)) throw invalid("messages", "without the same key twice", key);
    seen.add(key);
  }
}

function isUnguarded({ ready }: PreparedMessage): boolean {
  return ready.key === undefined && ready.named.length === 0;
}

/** The commit of such a message has no guards: it has no key to look up, and names no content that must exist. */
async function appendUnguarded(
  storage: Storage,
  scope: Appending,
  prepared: readonly PreparedMessage[],
): Promise<readonly Message[]> {
  const outcome = await storage.commit(appendCommit(scope, prepared));
  if (!outcome.ok) throw refusalError(outcome.refused);
  return prepared.map((one, i) => appendedMessage(scope, one, outcome.events[i]?.seq ?? 0));
}

/**
 * A single message keeps its position once it is queued: if its key was used meanwhile, the stored message is returned.
 * Several messages may be decided again and then be written later, so later calls wait until they are done.
 */
async function appendKeyed(
  storage: Storage,
  payloads: Payloads,
  scope: Appending,
  prepared: readonly PreparedMessage[],
  release?: () => void,
): Promise<readonly Message[]> {
  const alone = prepared.length === 1 && release !== undefined;
  let attempts = 0;
  const rule = async () => {
    const decision = await decideKeyed(storage, payloads, scope, prepared);
    if (attempts++ > 0 && alone && "commit" in decision) throw keyMoved(scope);
    return decision;
  };
  return decide(storage, rule, alone ? release : undefined);
}

/**
 * If the key exists already with the same content, returns the stored message. With other content, or another agent,
 * role or run, it is another message: Conflict.
 */
async function decideKeyed(
  storage: Storage,
  payloads: Payloads,
  scope: Appending,
  prepared: readonly PreparedMessage[],
): Promise<Decision<readonly Message[]> | FinalAnswer<readonly Message[]>> {
  const known = new Map<number, Message>();
  for (const [i, { ready, payload }] of prepared.entries()) {
    if (ready.key === undefined) continue;
    const row = await findKeyed(storage, scope.session, ready.key);
    if (row === undefined) continue;
    const isSame = row.agent === scope.agent && row.role === ready.role && row.run === (scope.run ?? null);
    if (!isSame || !sameBytes(row.sha256, payload.sha256)) throw keyConflict(scope, ready.key);
    known.set(i, messageOf(row, await readContent(row, payloads)));
  }
  const unwritten = prepared.filter((_, i) => !known.has(i));
  const answer = (events: readonly { readonly seq: number }[]) => {
    const seqs = events.values();
    return prepared.map((one, i) => known.get(i) ?? appendedMessage(scope, one, seqs.next().value?.seq ?? 0));
  };
  if (unwritten.length === 0) return { answer: answer([]) };
  return { commit: appendCommit(scope, unwritten), answer: ({ events }) => answer(events) };
}

/** Another handle used and cleared the key meanwhile, so the message has lost its position among the others. */
function keyMoved({ session }: AgentScope): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `another writer used the message's key in ${JSON.stringify(session)} and cleared it meanwhile`,
    {
      retryable: true,
      details: { session },
      hint: "Append the message again.",
    },
  );
}
