// How an agent's session begins: put back natively when that is possible, told the earlier conversation when it is not, or
// new. Which of the three it was is always said.
import { digest } from "../../coding/conversation/digest.ts";
import { importConversation } from "../../coding/conversation/import.ts";
import { conversationIn } from "../../coding/conversation-in.ts";
import type { AgentHere } from "../../coding/here.ts";
import type { Saved } from "../../coding/saver.ts";
import { sourceOfCapture } from "../../coding/sources.ts";
import type { Capture, CaptureWithFiles, CodingAgent } from "../../contracts/captures.ts";
import type { CaptureSource, Restored } from "../../contracts/coding.ts";
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { open } from "../../open.ts";
import { AGENT_NAMES, AGENTS } from "../captures/agent.ts";
import { conversationOf, noCapture, whyNoCapture } from "../captures/which.ts";
import type { Log } from "./follow.ts";
import { saveLeftover } from "./leftover.ts";

export type Start =
  | {
      readonly how: "resumed";
      readonly restored: Restored;
      /** What it goes on from in the store; undefined: whatever there is. */
      readonly basis: CaptureWithFiles | null | undefined;
    }
  | {
      readonly how: "told";
      readonly words: string;
      readonly why: string;
      /** The session of the store that it was told of; null: it was of none. */
      readonly session: string | null;
      /** The agent whose conversation it is. */
      readonly from: CodingAgent;
      readonly apart: Apart | null;
    }
  | { readonly how: "new"; readonly why: string | null; readonly apart: Apart | null };

/** A session that could not be put back, because another line of it is on this machine. */
export interface Apart {
  readonly sessionId: string;
  /** It is in this directory, and not in another one of this machine. */
  readonly isHere: boolean;
  /** That line in the store; null: it is not there. */
  readonly capture: CaptureWithFiles | null;
}

export interface Beginning {
  readonly store: Holdfast | null;
  readonly agent: AgentHere;
  readonly request: string;
  /** What the container was handed instead of a store. */
  readonly handed: CaptureSource | null;
  /** Why something that was handed over is not in it. */
  readonly why: string | null;
  /** This session of the agent; null: the newest of the request. */
  readonly sessionId: string | null;
  /** The command line leaves room for the conversation to be told. */
  readonly tells: boolean;
  /** This capture, if it is still there: what a run left that was waited for. */
  readonly capture: string | null;
  readonly rewritePaths: boolean;
  readonly overwrite: boolean;
  readonly ttlMs: number | null | undefined;
  readonly mask: boolean;
  readonly log: Log;
  /** What was on this disk only is saved before the agent starts. */
  readonly onSaved: (saved: Saved) => void;
  /** What is on this disk only could not be saved. */
  readonly onUnsaved: (sessionId: string, error: unknown) => void;
}

export async function begin(given: Beginning): Promise<Start> {
  const { store, request, handed } = given;
  const tried: Tried = { why: given.why, apart: null };
  if (handed !== null) {
    const restored = await putBack(given, handed, tried);
    if (restored !== null) return { how: "resumed", restored, basis: store === null ? null : undefined };
  }
  const capture = store === null ? null : await captureIn(given, store, tried);
  if (store !== null && capture !== null) {
    const source = await sourceIn(given, store, capture, tried);
    const restored = source === null ? null : await putBack(given, source, tried);
    if (source !== null && restored !== null) {
      if (capture.request !== request) return { how: "resumed", restored, basis: undefined };
      return { how: "resumed", restored, basis: await withLeftover(given, store, restored, source) };
    }
  }
  const { apart } = tried;
  if (!given.tells) return { how: "new", why: tried.why, apart };
  const { session, words } = await toldByStore(given, capture);
  const from = given.agent.agent;
  const why = async () => tried.why ?? (await whyNone(given));
  if (words !== "") return { how: "told", words, why: await why(), session, from, apart };
  const handedWords = await toldByHanded(given);
  if (handedWords !== "") return { how: "told", words: handedWords, why: await why(), session: null, from, apart };
  const other = await toldByOther(given);
  if (other !== null) return { how: "told", ...other, why: tried.why ?? other.why, apart };
  return { how: "new", why: tried.why, apart };
}

interface Tried {
  why: string | null;
  apart: Apart | null;
}

/** What is here goes on from the capture: the store gets the rest of it before the agent starts. */
async function withLeftover(
  given: Beginning,
  store: Holdfast,
  { sessionId, isAhead }: Restored,
  source: CaptureWithFiles,
): Promise<CaptureWithFiles> {
  if (!isAhead) return source;
  return (await saveLeftover({ ...given, store, sessionId, basis: source })) ?? source;
}

async function apartOf(given: Beginning, sessionId: string, { details }: HoldfastError): Promise<Apart> {
  const { store } = given;
  const capture = store === null ? null : await saveLeftover({ ...given, store, sessionId });
  return { sessionId, isHere: details.isElsewhere !== true, capture };
}

/** The newest of the request; of a session that is named also one of another request, when this one has none. */
async function captureIn(
  { agent: { agent }, request, sessionId, capture, log }: Beginning,
  { captures, clock }: Holdfast,
  tried: Tried,
): Promise<Capture | null> {
  try {
    const awaited = capture === null ? null : await captures.get(capture);
    const isKept = awaited !== null && (awaited.expiresAt === null || awaited.expiresAt > clock().now);
    if (isKept && awaited.agent === agent && awaited.request === request) return awaited;
    if (sessionId === null) return await captures.latest(request, agent);
    const [own] = (await captures.list({ request, sessionId, agent, limit: 1 })).items;
    return own ?? (await captures.bySession(sessionId, agent));
  } catch (error) {
    // One that cannot be read is no reason for the agent not to begin.
    tried.why = wordsOf(error);
    log("error", "capture.restore", { error: tried.why, sessionId });
    return null;
  }
}

async function putBack(given: Beginning, source: CaptureSource, tried: Tried): Promise<Restored | null> {
  const { agent, rewritePaths, overwrite, log } = given;
  try {
    const restored = await agent.restore(source, { rewritePaths, overwrite });
    if (restored.messages === 0)
      throw new HoldfastError("NotFound", `the stored session ${source.sessionId} holds no message`);
    const { sessionId, cwd, files, bytes, messages, left } = restored;
    log("info", "capture.restored", { sessionId, cwd, files, bytes, messages, left: left.length });
    return restored;
  } catch (error) {
    tried.why = wordsOf(error);
    log("error", "capture.restore", { error: tried.why, sessionId: source.sessionId });
    if (isHoldfastError(error) && error.code === "Conflict")
      tried.apart = await apartOf(given, source.sessionId, error);
    return null;
  }
}

async function sourceIn(
  { log }: Beginning,
  store: Holdfast,
  capture: Capture,
  tried: Tried,
): Promise<(CaptureSource & CaptureWithFiles) | null> {
  try {
    return await sourceOfCapture(store.captures, capture.id);
  } catch (error) {
    tried.why = wordsOf(error);
    log("error", "capture.restore", { error: tried.why, capture: capture.id });
    return null;
  }
}

function wordsOf(error: unknown): string {
  return error instanceof HoldfastError ? error.message : String(error);
}

interface Words {
  readonly session: string | null;
  readonly words: string;
}

const NO_WORDS: Words = { session: null, words: "" };

/** "" when there is nothing, or what there is cannot be read: then the agent begins anew. */
async function toldByStore(
  { store, request, sessionId, agent, log }: Beginning,
  capture: Capture | null,
): Promise<Words> {
  if (store === null) return NO_WORDS;
  try {
    const session = capture?.session ?? (await sessionTold(store, { request, sessionId, agent: agent.agent }));
    return session === null ? NO_WORDS : { session, words: await digest(store, session) };
  } catch (error) {
    log("error", "capture.told", { error: wordsOf(error), request });
    return NO_WORDS;
  }
}

/** The newest conversation of the request, of an agent whose session this one cannot resume. */
async function toldByOther(given: Beginning) {
  const { store, request, agent, log } = given;
  if (store === null) return null;
  for (const from of AGENTS.filter((one) => one !== agent.agent)) {
    try {
      const session = await sessionTold(store, { request, sessionId: null, agent: from });
      const words = session === null ? "" : await digest(store, session);
      const [theirs, ours] = [AGENT_NAMES[from], AGENT_NAMES[agent.agent]];
      const why = `request ${JSON.stringify(request)} has a conversation of ${theirs}, which ${ours} cannot resume`;
      if (words !== "") return { words, session, from, why };
    } catch (error) {
      log("error", "capture.told", { error: wordsOf(error), request });
    }
  }
  return null;
}

interface Asked {
  readonly request: string;
  readonly sessionId: string | null;
  readonly agent: CodingAgent;
}

/** The one that `holdfast handover` tells of, so that people and the agent read the same. */
async function sessionTold(store: Holdfast, { request, sessionId, agent }: Asked): Promise<string | null> {
  const own = sessionId === null ? null : await conversationOf(store, { request, sessionId }, agent);
  return (own ?? (await conversationOf(store, { request, sessionId: undefined }, agent)))?.id ?? null;
}

/** In the words of `holdfast restore`. */
async function whyNone({ store, request, sessionId, agent }: Beginning): Promise<string> {
  const which = { request, sessionId: sessionId ?? undefined, capture: undefined };
  if (store === null) return noCapture(which, "").message;
  return whyNoCapture(store, which, agent.agent).then(wordsOf, wordsOf);
}

/** Of what was handed over and could not be put back; "" when that cannot be read either. */
async function toldByHanded({ handed, request, log }: Beginning): Promise<string> {
  if (handed === null) return "";
  const scratch = await open(":memory:");
  try {
    const conversation = await conversationIn(handed);
    if (conversation === null) return "";
    const { session } = await importConversation(scratch, conversation, { session: "handed", request });
    return await digest(scratch, session);
  } catch (error) {
    log("error", "capture.told", { error: wordsOf(error), sessionId: handed.sessionId });
    return "";
  } finally {
    await scratch.close();
  }
}
