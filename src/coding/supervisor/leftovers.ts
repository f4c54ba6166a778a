// Work that is on this disk and not in the store: an agent went on after its `holdfast run` was killed, or the store did not answer
// when the run ended. It is saved before another agent continues.
import type { CaptureWithFiles, RequestClaim, UnsavedWork } from "../../contracts/captures.ts";
import { isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { type AgentHost, hasMessages, type LocalAgent, type LocalSession } from "../local-agent.ts";
import { captureContaining } from "../save-basis.ts";
import { type Saved, Saver } from "../saver.ts";
import type { Log } from "./recorder.ts";
import { listSessionsBegun } from "./session-ownership.ts";

/** An agent creates its session within this time after it was started, also on a busy machine. */
const AGENT_BEGINS_MS = 120_000;

export interface LeftoverOptions {
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
export async function saveLeftover(options: LeftoverOptions): Promise<CaptureWithFiles | null> {
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

/** The claim on a request that this run has. */
export interface ClaimedRequest {
  readonly claim: RequestClaim;
  /** Another run had the claim, and this run waited for its end. */
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
  // The previous run ended well. What an earlier run left is saved now, but it is not the latest work.
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

/** OpenCode chooses the id of a session itself: the sessions that began while that run had the claim and that no capture has. */
async function unknownSessions(
  { store, agent: { agent }, host }: UnsavedOptions,
  { since, lastSeenAt }: UnsavedWork,
): Promise<readonly string[]> {
  if (agent !== "opencode") return [];
  const { machineAheadMs, uncertaintyMs } = store.clock();
  const from = since + machineAheadMs - uncertaintyMs;
  const begun = await listSessionsBegun(host, from, lastSeenAt + machineAheadMs + uncertaintyMs + AGENT_BEGINS_MS);
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
    ...{ captures, clock, request, mask },
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
