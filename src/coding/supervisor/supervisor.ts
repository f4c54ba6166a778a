// Runs a coding agent and records its session: saves the work that earlier runs left, restores the session, starts the agent, and saves
// its sessions while it works and, within the grace time, after its end. The caller parses options, prints and chooses the exit code.
import type { RequestClaim } from "../../contracts/captures.ts";
import { type HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import { realEnvironment } from "../../core/environment.ts";
import { formatSpan } from "../../core/format-numbers.ts";
import { type AgentHost, type LocalSession, localAgent } from "../local-agent.ts";
import type { Saved } from "../saver.ts";
import { type AgentEnd, type AgentProcess, Grace, type LaunchContext, startAgent } from "./agent-process.ts";
import { type AgentCommand, type CommandPurpose, finalCommand } from "./command-line.ts";
import { SessionRecorder } from "./recorder.ts";
import { hasSessions } from "./session-ownership.ts";
import {
  type ClaimedRequest,
  type SessionStart,
  type StartOptions,
  saveUnsaved,
  startSession,
  type UnsavedOptions,
} from "./session-start.ts";

/** How often the recorder reads which session the agent names. It reads one small file. */
const OBSERVE_MS = 200;
/** How often the recorder looks whether the agent has written anything, until the first save. */
const FIRST_LOOK_MS = 25;
/** After this time without a message, the agent waits for its user, and the recorder looks less often. */
const IDLE_AFTER_MS = 30_000;
const IDLE_LOOK_MS = 200;
const SAVE_EVERY_MS = 2000;
/** Saving takes at most a twentieth of the time: starting the OpenCode program for it costs seconds of a processor. */
const REST_PER_SAVE = 20;
/** The longest that a timer can wait. */
const LONGEST_MS = 2 ** 31 - 1;

/** Called before the agent starts, for earlier work that could not be saved. */
type LeftoverCallbacks = Pick<UnsavedOptions, "onUnsaved" | "onAmbiguous">;

export interface SupervisedRun
  extends LeftoverCallbacks,
    Pick<
      StartOptions,
      "store" | "request" | "input" | "inputProblem" | "rewritePaths" | "overwrite" | "ttlMs" | "mask" | "log"
    >,
    Pick<StartOptions, "openScratch"> {
  readonly command: AgentCommand;
  readonly purpose: CommandPurpose;
  readonly host: AgentHost;
  readonly stdin: LaunchContext["stdin"];
  /** The store as messages name it. */
  readonly storeName: string;
  /** null: other runs may work on the request at the same time. */
  readonly claimed: ClaimedRequest | null;
  /** How often sessions are saved; null: every two seconds, and less often if a save takes long. */
  readonly everyMs: number | null;
  readonly graceMs: number;
  /** Makes the error of a run that must resume and cannot; null: a new session may begin. */
  readonly refuseNewSession: ((start: SessionStart) => HoldfastError) | null;
  /** Writes the session as one file; null: no file is wanted. */
  readonly writeBundle: ((found: LocalSession, recorder: SessionRecorder) => Promise<void>) | null;
  /** Whether the store's file was removed while the agent worked. */
  readonly isStoreRemoved: () => Promise<boolean>;
}

export type SupervisedEnd =
  /** The agent's program could not be started. */
  | { readonly status: "not-started"; readonly error: HoldfastError }
  | {
      readonly status: "ended";
      readonly start: SessionStart;
      readonly recorder: SessionRecorder;
      readonly end: AgentEnd;
      /** How long the agent had after a signal, in milliseconds, before it was killed; null: it ended by itself. */
      readonly killedAfterMs: number | null;
      /** The store answered until the end. If not, closing it would not end either. */
      readonly isAnswered: boolean;
    };

export async function superviseAgent(run: SupervisedRun): Promise<SupervisedEnd> {
  const { command, purpose, host, store, log, request, claimed, ttlMs, mask } = run;
  const { agent } = command;
  log("info", "capture.start", {
    agent,
    request,
    cwd: host.cwd,
    resumes: !purpose.choosesSession,
    captures: store !== null,
  });
  const leftovers: Saved[] = [];
  const start = await findStart(run, (saved) => void leftovers.push(saved));
  if (run.refuseNewSession !== null && !(await canResume(run, start))) throw run.refuseNewSession(start);
  const describe = (work: Parameters<RequestClaim["describe"]>[0]) => {
    claimed?.claim.describe(work).catch((error: unknown) => log("warn", "capture.claim", { error: String(error) }));
  };
  const resume = start.how === "resumed" ? start.restored.sessionId : null;
  const digest = start.how === "told" ? start.digest : null;
  const isTerminal = process.stdin.isTTY === true;
  const final = finalCommand(command, purpose, { resume, digest, isTerminal }, host.environment);
  const { sessionId } = final;
  const recorder = new SessionRecorder({
    agent,
    host,
    log,
    sessionId,
    store,
    request,
    ttlMs,
    mask,
    follows: start.how === "told" ? start.session : null,
    resumed: start.how === "resumed" || purpose.choosesSession,
    several: agent === "opencode" && command.args[0] !== "run",
    basis: basisOfStart(start, purpose),
    onSaved: ({ id, sessionId }) => describe({ sessionId, capture: id }),
  });
  for (const { secrets } of leftovers) recorder.addSecrets(secrets);
  await recorder.prepare();
  if (sessionId !== null) log("info", "capture.session-id", { sessionId });
  claimed?.claim.lost.addEventListener("abort", () => log("warn", "capture.claim-lost", { request, agent }));
  const grace = new Grace(run.graceMs, host.environment);
  const context = { cwd: host.cwd, env: host.env, stdin: run.stdin };
  const child = await startAgent(final.command, context, {
    stdinPrefix: final.stdinPrefix,
    onStop: () => grace.beginUrgent(),
  }).catch(catchStartFailure);
  if ("error" in child) return { status: "not-started", error: child.error };
  const basis = start.how === "resumed" ? start.basis?.id : undefined;
  describe({
    workerPid: child.pid,
    ...(sessionId === null ? {} : { sessionId }),
    ...(basis === undefined ? {} : { capture: basis }),
  });
  const { wasKilled, ...end } = await recordUntilEnd(child, recorder, grace, run.everyMs);
  log("info", "capture.ended", { code: end.code, signal: end.signal });
  const isAnswered = await finishWithin(grace, run, recorder);
  return { status: "ended", start, recorder, end, killedAfterMs: wasKilled ? grace.agentMs : null, isAnswered };
}

export function catchStartFailure(error: unknown): { readonly error: HoldfastError } {
  if (isHoldfastError(error) && error.code === "MissingDependency") return { error };
  throw error;
}

async function findStart(run: SupervisedRun, onSaved: (saved: Saved) => void): Promise<SessionStart> {
  const { command, purpose, host, input, store, claimed, request, ttlMs, mask, log, onUnsaved, onAmbiguous } = run;
  const agent = localAgent(command.agent, host);
  const common = { agent, request, ttlMs, mask, log, onSaved, onUnsaved };
  // Earlier runs may have been killed while their agents continued to work.
  const left =
    store === null || claimed === null ? null : await saveUnsaved({ ...common, ...claimed, store, host, onAmbiguous });
  // The command continues the latest session without naming it. If this directory has one, the agent takes it.
  const isHere = purpose.choosesSession && purpose.sessionId === null && (await hasSessions(command.agent, host));
  if (isHere) return { how: "new", why: null, diverged: null };
  const sessionId = purpose.sessionId ?? (input === null ? host.env.AGENT_SESSION_ID || null : null);
  const isNamed = purpose.choosesSession || (sessionId !== null && claimed?.hasWaited !== true);
  const { inputProblem, rewritePaths, overwrite, openScratch } = run;
  return startSession({
    ...common,
    store,
    input,
    inputProblem,
    sessionId,
    rewritePaths,
    overwrite,
    openScratch,
    capture: isNamed ? null : left,
    allowsDigest: !purpose.choosesSession,
  });
}

/** A session that the command line names, or the latest one, is resumed by the agent itself if this machine has it. */
async function canResume({ command, purpose, host }: SupervisedRun, start: SessionStart): Promise<boolean> {
  if (start.how === "resumed") return true;
  const { choosesSession, sessionId } = purpose;
  if (!choosesSession) return false;
  if (sessionId === null) return hasSessions(command.agent, host);
  return localAgent(command.agent, host)
    .find(sessionId)
    .then((found) => found.done().then(() => true))
    .catch(() => false);
}

/** The capture that the agent's session continues; undefined: the saver looks for it. */
function basisOfStart(start: SessionStart, { choosesSession, sessionId }: CommandPurpose) {
  if (start.how === "resumed") return start.basis;
  if (!choosesSession) return null;
  return start.diverged?.sessionId === sessionId ? (start.diverged?.capture ?? undefined) : undefined;
}

/** Saves the sessions repeatedly until the agent ends. It does not wait for a save that is in progress then. */
async function recordUntilEnd(
  child: AgentProcess,
  recorder: SessionRecorder,
  grace: Grace,
  everyMs: number | null,
): Promise<AgentEnd & { readonly wasKilled: boolean }> {
  const over = new AbortController();
  let wasKilled = false;
  recorder.agentStarted(child.pid);
  void repeat(over.signal, OBSERVE_MS, () => recorder.observe());
  void saveFirst(over.signal, recorder);
  void repeat(
    over.signal,
    everyMs ?? SAVE_EVERY_MS,
    () => recorder.save("while"),
    everyMs === null ? REST_PER_SAVE : 0,
  );
  void grace.waitForAgentDeadline(over.signal).then(() => {
    if (over.signal.aborted) return;
    wasKilled = true;
    child.kill();
  });
  const end = await child.ended;
  over.abort();
  return { ...end, wasKilled };
}

/** Saves as soon as the agent has written something, so that a kill before the end of the first interval loses no earlier message. */
async function saveFirst(over: AbortSignal, recorder: SessionRecorder): Promise<void> {
  const { sleep, monotonic } = realEnvironment();
  const from = monotonic();
  let [seen, tookMs] = [recorder.stampBefore, 0];
  while (!over.aborted && recorder.isStored && recorder.saved.length === 0) {
    const lookMs = monotonic() - from > IDLE_AFTER_MS ? IDLE_LOOK_MS : FIRST_LOOK_MS;
    // An export of OpenCode takes seconds of a processor, and is useless before there is a message.
    await sleep(Math.max(lookMs, tookMs), over);
    const stamp = await recorder.writeStamp();
    if (over.aborted || stamp === seen) continue;
    seen = stamp;
    const began = monotonic();
    await recorder.save("first");
    tookMs = monotonic() - began;
  }
}

/** After an act that took long, it rests `restPerAct` times as long. */
async function repeat(over: AbortSignal, everyMs: number, act: () => Promise<void>, restPerAct = 0): Promise<void> {
  const { sleep, monotonic } = realEnvironment();
  let tookMs = 0;
  while (!over.aborted) {
    await sleep(Math.min(Math.max(everyMs, tookMs * restPerAct), LONGEST_MS), over);
    if (over.aborted) return;
    const began = monotonic();
    await act();
    tookMs = monotonic() - began;
  }
}

/** Bundle, last save and import after the agent's end. False: the grace time was over, or a second signal came, before all was done. */
async function finishWithin(grace: Grace, run: SupervisedRun, recorder: SessionRecorder): Promise<boolean> {
  const { writeBundle, storeName, claimed } = run;
  const outcome = await withinGrace(grace, async () => {
    await recorder.finish(writeBundle === null ? null : (found) => writeBundle(found, recorder), grace);
    if (await run.isStoreRemoved()) recorder.loseStore(storeName);
    await claimed?.claim.release().catch(() => {});
  });
  if (outcome === "done") return true;
  recorder.giveUp(storeName, formatSpan(run.graceMs), outcome === "interrupted");
  return false;
}

/** Runs until the act is done, the grace time is over or a second signal comes. Signals no longer reach the agent. */
async function withinGrace(grace: Grace, act: () => Promise<void>): Promise<"done" | "late" | "interrupted"> {
  const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
  const over = new AbortController();
  let count = 0;
  const listen = () => {
    count += 1;
    grace.beginUrgent();
    if (count > 1) over.abort();
  };
  for (const signal of signals) process.on(signal, listen);
  try {
    const done = act().then(() => "done" as const);
    const late = grace
      .waitForDeadline(over.signal)
      .then(() => (count > 1 ? ("interrupted" as const) : ("late" as const)));
    return await Promise.race([done, late]);
  } finally {
    over.abort();
    for (const signal of signals) process.removeListener(signal, listen);
  }
}
