// Decides how an agent's session begins. If the files of a capture can be restored, the agent resumes it; otherwise the agent gets a digest
// of the stored conversation, or begins a new session. The result says which of the three it was, and why.
import type { Capture, CaptureWithFiles, CodingAgent, RequestClaim, UnsavedWork } from "../../contracts/captures.ts";
import type { CaptureSource, Restored } from "../../contracts/coding.ts";
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { AGENT_NAMES, AGENTS } from "../../core/agent-sessions.ts";
import { sourceOfCapture } from "../capture-source.ts";
import { digest } from "../conversation/digest.ts";
import { importConversation } from "../conversation/import.ts";
import { readConversation } from "../conversation/read-conversation.ts";
import { explainMissingCapture, findConversation, isExpired, noCapture } from "../find-capture.ts";
import { type AgentHost, hasMessages, type LocalAgent, type LocalSession } from "../local-agent.ts";
import { captureContaining } from "../save-basis.ts";
import { type Saved, Saver } from "../saver.ts";
import type { Log } from "./recorder.ts";
import { listCreatedSessions } from "./session-ownership.ts";

export type SessionStart =
  | {
      readonly how: "resumed";
      readonly restored: Restored;
      /** The capture that the next save continues; undefined: the saver looks for it. */
      readonly basis: CaptureWithFiles | null | undefined;
    }
  | {
      readonly how: "told";
      readonly digest: string;
      readonly why: string;
      /** The store's session that the digest is of; null: it is of a bundle. */
      readonly session: string | null;
      /** The agent of that conversation. */
      readonly from: CodingAgent;
      readonly diverged: DivergedSession | null;
    }
  | { readonly how: "new"; readonly why: string | null; readonly diverged: DivergedSession | null };

/** A session that cannot be restored, because this machine has a version of it that continued differently. */
interface DivergedSession {
  readonly sessionId: string;
  /** That version is in this directory, not in another one of this machine. */
  readonly isHere: boolean;
  /** The capture of that version; null: the store has none. */
  readonly capture: CaptureWithFiles | null;
}

export interface StartOptions extends Omit<LeftoverOptions, "store" | "sessionId" | "basis"> {
  readonly store: Holdfast | null;
  readonly agent: LocalAgent;
  /** The session that the caller passed in as a file instead of a store. */
  readonly input: CaptureSource | null;
  /** Why what the caller passed in cannot be used. */
  readonly inputProblem: string | null;
  /** This session of the agent; null: the newest of the request. */
  readonly sessionId: string | null;
  /** The agent's command line has room for a digest. */
  readonly allowsDigest: boolean;
  /** Resume this capture if it still exists: it is that of the run for which this run waited. */
  readonly capture: string | null;
  readonly rewritePaths: boolean;
  readonly overwrite: boolean;
  /** An empty store for the time of a call; a digest of `input` is made in it. */
  readonly openScratch: () => Promise<Holdfast>;
}

/** Why no restore has succeeded so far. */
interface FailedAttempts {
  why: string | null;
  diverged: DivergedSession | null;
}

export async function startSession(options: StartOptions): Promise<SessionStart> {
  const { store, request, input } = options;
  const failed: FailedAttempts = { why: options.inputProblem, diverged: null };
  if (input !== null) {
    const restored = await tryRestore(options, input, failed);
    if (restored !== null) return { how: "resumed", restored, basis: store === null ? null : undefined };
  }
  const capture = store === null ? null : await chooseCapture(options, store, failed);
  if (store !== null && capture !== null) {
    const source = await openSource(options, store, capture, failed);
    const restored = source === null ? null : await tryRestore(options, source, failed);
    if (source !== null && restored !== null) {
      if (capture.request !== request) return { how: "resumed", restored, basis: undefined };
      return { how: "resumed", restored, basis: await saveNewerFiles(options, store, restored, source) };
    }
  }
  return startWithoutFiles(options, capture, failed);
}

async function startWithoutFiles(
  options: StartOptions,
  capture: Capture | null,
  { why, diverged }: FailedAttempts,
): Promise<SessionStart> {
  if (!options.allowsDigest) return { how: "new", why, diverged };
  const stored = await digestOfStore(options, capture);
  const explained = async () => why ?? (await explainNoCapture(options));
  const from = options.agent.agent;
  if (stored.digest !== "") return { how: "told", ...stored, why: await explained(), from, diverged };
  const ofInput = await digestOfInput(options);
  if (ofInput !== "") {
    return { how: "told", digest: ofInput, why: await explained(), session: null, from, diverged };
  }
  const other = await digestOfOtherAgent(options);
  if (other !== null) return { how: "told", ...other, why: why ?? other.why, diverged };
  return { how: "new", why, diverged };
}

/** If this machine has more than the capture, the rest is saved before the agent starts. */
async function saveNewerFiles(
  options: StartOptions,
  store: Holdfast,
  { sessionId, isAhead }: Restored,
  source: CaptureWithFiles,
): Promise<CaptureWithFiles> {
  if (!isAhead) return source;
  return (await saveLeftover({ ...options, store, sessionId, basis: source })) ?? source;
}

async function saveDiverged(
  options: StartOptions,
  sessionId: string,
  { details }: HoldfastError,
): Promise<DivergedSession> {
  const { store } = options;
  const capture = store === null ? null : await saveLeftover({ ...options, store, sessionId });
  return { sessionId, isHere: details.isElsewhere !== true, capture };
}

/** The newest capture of the request. If a session is named and the request has none of it, one of another request. */
async function chooseCapture(
  { agent: { agent }, request, sessionId, capture, log }: StartOptions,
  store: Holdfast,
  failed: FailedAttempts,
): Promise<Capture | null> {
  const { captures } = store;
  try {
    const awaited = capture === null ? null : await captures.get(capture);
    const isKept = awaited !== null && !isExpired(store, awaited);
    if (isKept && awaited.agent === agent && awaited.request === request) return awaited;
    if (sessionId === null) return await captures.latest(request, agent);
    const [own] = (await captures.list({ request, sessionId, agent, limit: 1 })).items;
    return own ?? (await captures.bySession(sessionId, agent));
  } catch (error) {
    // The agent starts also when the store's captures cannot be read.
    failed.why = messageOf(error);
    log("error", "capture.restore", { error: failed.why, sessionId });
    return null;
  }
}

async function tryRestore(
  options: StartOptions,
  source: CaptureSource,
  failed: FailedAttempts,
): Promise<Restored | null> {
  const { agent, rewritePaths, overwrite, log } = options;
  try {
    const restored = await agent.restore(source, { rewritePaths, overwrite });
    if (restored.messages === 0)
      throw new HoldfastError("NotFound", `the stored session ${source.sessionId} has no messages`);
    const { sessionId, cwd, files, bytes, messages, left } = restored;
    log("info", "capture.restored", { sessionId, cwd, files, bytes, messages, left: left.length });
    return restored;
  } catch (error) {
    failed.why = messageOf(error);
    log("error", "capture.restore", { error: failed.why, sessionId: source.sessionId });
    if (isHoldfastError(error) && error.code === "Conflict") {
      failed.diverged = await saveDiverged(options, source.sessionId, error);
    }
    return null;
  }
}

async function openSource(
  { log }: StartOptions,
  store: Holdfast,
  capture: Capture,
  failed: FailedAttempts,
): Promise<(CaptureSource & CaptureWithFiles) | null> {
  try {
    return await sourceOfCapture(store.captures, capture.id);
  } catch (error) {
    failed.why = messageOf(error);
    log("error", "capture.restore", { error: failed.why, capture: capture.id });
    return null;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof HoldfastError ? error.message : String(error);
}

interface StoredDigest {
  readonly session: string | null;
  /** "" when there is no conversation, or it cannot be read: then a new session begins. */
  readonly digest: string;
}

const NO_DIGEST: StoredDigest = { session: null, digest: "" };

async function digestOfStore(
  { store, request, sessionId, agent, log }: StartOptions,
  capture: Capture | null,
): Promise<StoredDigest> {
  if (store === null) return NO_DIGEST;
  try {
    const session = capture?.session ?? (await sessionForDigest(store, { request, sessionId, agent: agent.agent }));
    return session === null ? NO_DIGEST : { session, digest: await digest(store, session) };
  } catch (error) {
    log("error", "capture.told", { error: messageOf(error), request });
    return NO_DIGEST;
  }
}

/** A digest of the request's newest conversation of another agent, which this agent cannot resume. */
async function digestOfOtherAgent({ store, request, agent, log }: StartOptions) {
  if (store === null) return null;
  for (const from of AGENTS.filter((one) => one !== agent.agent)) {
    try {
      const session = await sessionForDigest(store, { request, sessionId: null, agent: from });
      const text = session === null ? "" : await digest(store, session);
      const [theirs, ours] = [AGENT_NAMES[from], AGENT_NAMES[agent.agent]];
      const why = `request ${JSON.stringify(request)} has a conversation of ${theirs}, which ${ours} cannot resume`;
      if (text !== "") return { digest: text, session, from, why };
    } catch (error) {
      log("error", "capture.told", { error: messageOf(error), request });
    }
  }
  return null;
}

interface DigestSubject {
  readonly request: string;
  readonly sessionId: string | null;
  readonly agent: CodingAgent;
}

/** The session that `holdfast handover` shows, so that people and the agent read the same conversation. */
async function sessionForDigest(store: Holdfast, { request, sessionId, agent }: DigestSubject): Promise<string | null> {
  const own = sessionId === null ? null : await findConversation(store, { request, sessionId }, agent);
  return (own ?? (await findConversation(store, { request, sessionId: undefined }, agent)))?.id ?? null;
}

/** The message that `holdfast restore` would print. */
async function explainNoCapture({ store, request, sessionId, agent }: StartOptions): Promise<string> {
  const selector = { request, sessionId: sessionId ?? undefined, capture: undefined };
  if (store === null) return noCapture(selector, "").message;
  return explainMissingCapture(store, selector, agent.agent).then(messageOf, messageOf);
}

/** A digest of the input that could not be restored; "" when its conversation cannot be read either. */
async function digestOfInput({ input, request, log, openScratch }: StartOptions): Promise<string> {
  if (input === null) return "";
  const scratch = await openScratch();
  try {
    const conversation = await readConversation(input);
    if (conversation === null) return "";
    const { session } = await importConversation(scratch, conversation, { session: "handed", request });
    return await digest(scratch, session);
  } catch (error) {
    log("error", "capture.told", { error: messageOf(error), sessionId: input.sessionId });
    return "";
  } finally {
    await scratch.close();
  }
}

/** An agent creates its session within this time after it was started, also on a busy machine. */
const AGENT_BEGINS_MS = 120_000;

interface LeftoverOptions {
  readonly store: Holdfast;
  readonly agent: LocalAgent;
  readonly request: string;
  readonly sessionId: string;
  /** The capture that the files continue; undefined: it is looked for. */
  readonly basis?: CaptureWithFiles;
  readonly ttlMs: number | null | undefined;
  readonly mask: boolean;
  readonly log: Log;
  readonly onSaved: (saved: Saved) => void;
  /** The files of that session could not be saved. */
  readonly onUnsaved: (sessionId: string, error: unknown) => void;
}

/** The capture that contains all that is here; null: there is nothing, or `onUnsaved` was called because the save failed. */
async function saveLeftover(options: LeftoverOptions): Promise<CaptureWithFiles | null> {
  const outcome = await trySave(options);
  return outcome === "absent" || outcome === "failed" ? null : outcome;
}

/** null: the session has no messages. absent: there is no such session here. */
async function trySave(options: LeftoverOptions): Promise<CaptureWithFiles | null | "absent" | "failed"> {
  const { agent, sessionId, log, onUnsaved } = options;
  try {
    const found = await agent.find(sessionId);
    try {
      return await save(options, found);
    } finally {
      await found.done();
    }
  } catch (error) {
    if (isHoldfastError(error) && error.code === "NotFound") return "absent";
    log("error", "capture.leftover", { error: String(error), sessionId });
    onUnsaved(sessionId, error);
    return "failed";
  }
}

/** The claim of this run on its request. */
export interface ClaimedRequest {
  readonly claim: RequestClaim;
  /** Another run had the claim, and this run waited until that run ended. */
  readonly hasWaited: boolean;
}

export interface UnsavedOptions extends Omit<LeftoverOptions, "sessionId" | "basis">, ClaimedRequest {
  readonly host: AgentHost;
  /** Any of these sessions may be the one that a killed run worked in. */
  readonly onAmbiguous: (sessions: readonly string[]) => void;
}

/**
 * Saves what killed runs left on this disk. What cannot be saved now, and what another machine has, stays in the claim for the next
 * run. Returns the capture to resume; null: the newest.
 */
export async function saveUnsaved(options: UnsavedOptions): Promise<string | null> {
  const { hasWaited, claim, log } = options;
  const { unsaved = [], capture = null, isReleased = false } = claim.previous ?? {};
  // The previous run ended normally. Work that an earlier run left is saved now, but it is not the latest work.
  const isSuperseded = isReleased && capture !== null;
  const newest = isSuperseded && unsaved.length > 0 ? await newestCapture(options) : null;
  let last: CaptureWithFiles | null = null;
  for (const one of unsaved) {
    const outcome = await saveOne(options, one);
    last = typeof outcome === "string" || isSuperseded ? null : outcome;
    const isElsewhere = outcome === "absent" && one.isLocal === false;
    try {
      if (last !== null) await claim.describe({ capture: last.id });
      if (outcome !== "failed" && !isElsewhere) await claim.settle(one);
    } catch (error) {
      // The next run looks at it again, and finds it saved.
      log("warn", "capture.claim", { error: String(error) });
    }
  }
  return hasWaited ? (last?.id ?? capture) : newest;
}

async function newestCapture({ store, request, agent: { agent }, log }: UnsavedOptions): Promise<string | null> {
  try {
    return (await store.captures.latest(request, agent))?.id ?? null;
  } catch (error) {
    log("error", "capture.leftover", { error: String(error) });
    return null;
  }
}

async function saveOne(options: UnsavedOptions, unsaved: UnsavedWork): ReturnType<typeof trySave> {
  const { log, onAmbiguous } = options;
  if (unsaved.sessionId !== null) return trySave({ ...options, sessionId: unsaved.sessionId });
  if (unsaved.isLocal !== true) return "absent";
  try {
    const sessions = await unknownSessions(options, unsaved);
    const [sessionId, ...others] = sessions;
    if (sessionId === undefined) return "absent";
    if (others.length === 0) return await trySave({ ...options, sessionId });
    log("warn", "capture.leftover", { sessions });
    onAmbiguous(sessions);
    return null;
  } catch (error) {
    log("error", "capture.leftover", { error: String(error) });
    return "failed";
  }
}

/** OpenCode chooses the ids of sessions itself, so these are the sessions that it created during that run and that no capture has. */
async function unknownSessions(
  { store, agent: { agent }, host }: UnsavedOptions,
  { since, lastSeenAt }: UnsavedWork,
): Promise<readonly string[]> {
  if (agent !== "opencode") return [];
  const { machineAheadMs, uncertaintyMs } = store.clock();
  const from = since + machineAheadMs - uncertaintyMs;
  const begun = await listCreatedSessions(host, from, lastSeenAt + machineAheadMs + uncertaintyMs + AGENT_BEGINS_MS);
  const known = await Promise.all(
    begun.map(async (sessionId) => {
      const { items } = await store.captures.list({ sessionId, agent, diverged: true, limit: 1 });
      return items.length > 0;
    }),
  );
  return begun.filter((_, i) => !known[i]);
}

async function save(options: LeftoverOptions, found: LocalSession): Promise<CaptureWithFiles | null> {
  const { store, request, basis, ttlMs, mask, log, onSaved } = options;
  const { captures, clock } = store;
  if (!(await hasMessages(found))) return null;
  const known = basis === undefined ? await captureContaining({ captures, request }, found) : null;
  if (known !== null) return known;
  const saver = new Saver({
    captures,
    clock,
    request,
    mask,
    ...(basis === undefined ? {} : { basis }),
    ...(ttlMs === undefined ? {} : { ttlMs }),
  });
  const saved = await saver.save(found);
  if (saved !== null) {
    const { id, generation, diverged } = saved.capture;
    log("info", "capture.leftover", { capture: id, generation, diverged, sessionId: found.sessionId });
    onSaved(saved);
  }
  return saver.current;
}
