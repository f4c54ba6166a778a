// Finds the sessions of a request that have conversations of coding agents, and the order in which they continue each other: an agent
// that could not resume begins a new session with a digest of the earlier ones.
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
/** How many ids are tried for a session of an agent (ID, ID~2, …): other requests, deleted sessions and diverged captures use one each. */
const MOST_NAMES = 10;

/**
 * The id of the request's newest session of that agent, or of any agent when none is named; null when there is none. It imports the
 * request's newest captures first.
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
  /** The session and the earlier ones of which it got a digest, oldest first; empty when the session is missing. */
  readonly sessions: readonly Session[];
  readonly behind: CatchUpProblem;
}

/** Imports the captures of these sessions first. */
export async function catchUpWithEarlier(hf: ImportStores, session: string): Promise<CaughtUpSessions> {
  const behind = await catchUp(hf, session);
  const found = await hf.sessions.get(session);
  if (found === null) return { sessions: [], behind };
  if (found.request !== null) await catchUpRequest(hf, found.request);
  return { sessions: await withEarlier(hf, found), behind };
}

/** The session and the earlier ones of which it got a digest, oldest first. */
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

/** Whether the import recorded an earlier session, or the session's first prompt begins with a digest. */
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
      const candidate = session.messages > 0 ? conversationSession(session) : null;
      if (candidate !== null && (agent === undefined || candidate.agent === agent)) found.push(candidate);
    }
    if (page.next === null) break;
    cursor = page.next;
  }
  const best: ConversationSession[] = [];
  for (const candidate of found) if ((await bestOf(hf, found, candidate)) === candidate) best.push(candidate);
  return best;
}

/**
 * Prefers the imported session to the mirrored one, which has the same messages. Of several imported sessions it prefers the one with the
 * newest capture, which a person may have chosen, and otherwise the oldest, because forks have the same metadata.
 */
async function bestOf(
  hf: Pick<Holdfast, "log">,
  all: readonly ConversationSession[],
  candidate: ConversationSession,
): Promise<ConversationSession | undefined> {
  const same = all.filter((one) => isSame(one, candidate));
  const imported = same.filter(({ session }) => !isMirror(session));
  if (imported.length > 1) {
    for (const one of imported) if (await hasNewestCapture(hf, one.session.id)) return one;
  }
  return imported.at(-1) ?? same.at(-1);
}

/** The store's session with the conversation of an agent's session, in this request or in any; null when there is none. */
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

/** Whether the newest capture was saved or chosen in that session. The log has that also after the capture was removed. */
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
