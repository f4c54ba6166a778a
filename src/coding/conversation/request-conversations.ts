// Which sessions of a request have conversations of coding agents, and in which order they follow each other: an agent that could not
// resume begins a new session with a digest of the earlier ones.
import type { CodingAgent } from "../../contracts/captures.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { Session } from "../../contracts/session.ts";
import { isObject } from "../../core/check.ts";
import { type CatchUpProblem, catchUp, catchUpRequest, type ImportStores } from "../catch-up.ts";
import { textOf } from "./agent-content.ts";
import { withoutDigest } from "./digest-frame.ts";
import { isMirror, mirroredId } from "./sdk-mirror.ts";
import { readStoredMessages } from "./stored-messages.ts";

/** A session with a conversation of a coding agent. */
interface ConversationSession {
  readonly session: Session;
  readonly agent: CodingAgent;
  readonly sessionId: string | null;
}

type Stores = Pick<ImportStores, "sessions" | "history" | "log">;

const PAGE = 100;
/** How many sessions of a request are read, and how many earlier sessions are followed back. */
const MOST = 1000;
const MOST_BEFORE = 20;
/** So many names are tried for a session of an agent: another request's, one that was deleted and those kept beside it have one each. */
const MOST_NAMES = 10;

/**
 * The id of the request's newest session in which that agent spoke, or any when none is named; null when there is none. First the
 * request's newest captures are imported.
 */
export async function conversationOfRequest(
  hf: ImportStores,
  request: string,
  agent?: CodingAgent,
): Promise<string | null> {
  await catchUpRequest(hf, request, agent);
  const [newest] = await listConversations(hf, request, agent);
  return newest?.session.id ?? null;
}

export interface CaughtUpSessions {
  /** The session and the earlier ones that it got a digest of, oldest first; empty when the session is missing. */
  readonly sessions: readonly Session[];
  readonly behind: CatchUpProblem;
}

/** Imports first what was captured of them. */
export async function catchUpWithEarlier(hf: ImportStores, session: string): Promise<CaughtUpSessions> {
  const behind = await catchUp(hf, session);
  const found = await hf.sessions.get(session);
  if (found === null) return { sessions: [], behind };
  if (found.request !== null) await catchUpRequest(hf, found.request);
  return { sessions: await withEarlier(hf, found), behind };
}

/** The session and the earlier ones that it got a digest of, oldest first. */
async function withEarlier(hf: Stores, session: Session): Promise<readonly Session[]> {
  const chain = [session];
  let all: readonly ConversationSession[] | undefined;
  for (let [first] = chain; first !== undefined && chain.length <= MOST_BEFORE; ) {
    const { request, metadata } = first;
    const own = conversationSession(first);
    if (request === null || own === null || !(await startedFromDigest(hf, first))) break;
    all ??= await listConversations(hf, request, undefined);
    const earlier = all.slice(all.findIndex((one) => isSame(one, own)) + 1);
    const before =
      earlier.find((one) => one.session.id === metadata.follows) ?? earlier.find(({ agent }) => agent === own.agent);
    if (before === undefined) break;
    first = before.session;
    chain.unshift(first);
  }
  return chain;
}

function isSame(a: ConversationSession, b: ConversationSession): boolean {
  return a.session.id === b.session.id || (a.sessionId !== null && a.sessionId === b.sessionId && a.agent === b.agent);
}

/** The import noted it, or the session's own first prompt begins with a digest. */
async function startedFromDigest(hf: Stores, session: Session): Promise<boolean> {
  if (textOf(session.metadata.follows) !== null) return true;
  for await (const { metadata, content } of readStoredMessages(hf, session)) {
    if (metadata?.prompt === true) return withoutDigest(content) !== null;
  }
  return false;
}

/** Newest first, each session of the agent once. */
async function listConversations(
  hf: Pick<ImportStores, "sessions" | "log">,
  request: string,
  agent: CodingAgent | undefined,
): Promise<readonly ConversationSession[]> {
  const found: ConversationSession[] = [];
  for (let cursor: string | undefined; found.length < MOST; ) {
    const page = await hf.sessions.list({ request, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    for (const session of page.items) {
      const held = session.messages > 0 ? conversationSession(session) : null;
      if (held !== null && (agent === undefined || held.agent === agent)) found.push(held);
    }
    if (page.next === null) break;
    cursor = page.next;
  }
  const best: ConversationSession[] = [];
  for (const held of found) if ((await bestOf(hf, found, held)) === held) best.push(held);
  return best;
}

/**
 * Prefers the imported session to the mirrored one, which has the same messages; of several, the one with the newest capture, which a
 * person may have chosen; else the first, because forks have the same metadata.
 */
async function bestOf(
  hf: Pick<Holdfast, "log">,
  all: readonly ConversationSession[],
  held: ConversationSession,
): Promise<ConversationSession | undefined> {
  const same = all.filter((one) => isSame(one, held));
  const imported = same.filter(({ session }) => !isMirror(session));
  if (imported.length > 1) {
    for (const one of imported) if (await hasNewestCapture(hf, one.session.id)) return one;
  }
  return imported.at(-1) ?? same.at(-1);
}

/** The session that holds that session of an agent, in this request or in any; null when there is none. */
export async function conversationOfSession(
  hf: ImportStores,
  agent: CodingAgent,
  sessionId: string,
  request?: string,
): Promise<Session | null> {
  let best: Session | null = null;
  for (let n = 1; n <= MOST_NAMES; n++) {
    const id = n === 1 ? `${agent}/${sessionId}` : `${agent}/${sessionId}~${n}`;
    const found = await hf.sessions.get({ session: id });
    if (found === null || (request !== undefined && found.request !== request)) continue;
    if (await hasNewestCapture(hf, id)) return found;
    best ??= found;
  }
  return best;
}

/** Whether the newest capture was saved or chosen in that session. The log knows it also after the capture is gone. */
async function hasNewestCapture({ log }: Pick<Holdfast, "log">, session: string): Promise<boolean> {
  const states = new Map<unknown, unknown>();
  for (let after = 0; ; ) {
    const page = await log.read(
      { session },
      { after, limit: LIMITS.eventsPage, types: ["capture/saved", "capture/changed"] },
    );
    for (const { data } of page) if (data.diverged !== undefined) states.set(data.capture, data.diverged);
    const last = page.at(-1);
    if (last === undefined || page.length < LIMITS.eventsPage) break;
    after = last.seq;
  }
  return [...states.values()].includes(0);
}

/** null: it has no conversation of a coding agent, or that of a sub-agent. */
function conversationSession(session: Session): ConversationSession | null {
  const { kind, metadata } = session;
  if (kind !== "entry") return null;
  if (isMirror(session)) return { session, agent: "claude-code", sessionId: mirroredId(metadata) };
  const { agent, sessionId } = isObject(metadata.coding) ? metadata.coding : {};
  if (agent !== "claude-code" && agent !== "opencode") return null;
  return { session, agent, sessionId: textOf(sessionId) };
}
