// holdfast run: a coding agent whose session outlives its machine.

import * as path from "node:path";
import { agentHere, type FoundHere, type Here } from "../../coding/here.ts";
import type { Saved } from "../../coding/saver.ts";
import type { RequestClaim } from "../../contracts/captures.ts";

import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { realEnvironment } from "../../core/environment.ts";
import { hidePassword } from "../../core/store-url.ts";
import * as lines from "../coding/agent-line.ts";
import { type Child, type Ended, exitCodeOf, type StartOptions, startAgent } from "../coding/child.ts";
import { lineFor } from "../coding/final-line.ts";
import { Follower, type Log } from "../coding/follow.ts";
import { Grace } from "../coding/grace.ts";
import { type Handed, handedOver } from "../coding/handed.ts";
import { readAgentLine } from "../coding/launchers.ts";
import { saveUnsaved, type UnsavedOptions } from "../coding/leftover.ts";
import { logTo } from "../coding/log.ts";
import { checkOut, type WrittenBundle, writeBundle } from "../coding/out.ts";
import { type ClaimedRequest, claimRequest } from "../coding/request-claim.ts";
import { begin, type Start } from "../coding/start.ts";
import { isSameFile, type StoreFile, storeFile } from "../coding/store-file.ts";
import { Interrupted, type OpenedStore, openPatiently } from "../coding/store-opening.ts";
import { untilEnd, withinGrace } from "../coding/supervise.ts";
import { stepsAfter, tell } from "../coding/tell.ts";
import { unsavedMessages } from "../coding/unsaved-messages.ts";
import { hasSessions } from "../coding/whose.ts";
import type { Command, Context } from "../command.ts";
import { EXIT } from "../exit.ts";
import { UsageError } from "../failure.ts";
import { reportFailure } from "../failure-report.ts";
import { GLOBAL_OPTIONS, type OptionSpec } from "../option.ts";
import { quoted } from "../terminal.ts";
import { formatSpan, parseDuration, parseDurationOrNever } from "../units.ts";

/** Less than what orchestrators give a container to end: 10 s (docker) and more. */
const GRACE_MS = 10_000;
/** As shells tell a command that cannot be started. */
const NOT_STARTED = 127;

export const run: Command = {
  name: "run",
  summary: "run Claude Code or OpenCode, with a session that stays",
  usage: [
    "run [--request ID] [--from FILE] [--out FILE] [--ttl TIME] [--every TIME] [--grace TIME] [--wait-store TIME] " +
      "[--wait | --beside] [--must-resume] [--must-save] [--rewrite-paths] [--overwrite] [--mask-secrets] [--log FILE] [--] " +
      "claude|opencode …",
  ],
  description:
    "Puts the request's session back, runs the agent with its own resume flag, saves the session while it works and when it " +
    "ends, also when it is killed, and ends as the agent ended. When the session cannot be put back, the agent is told the " +
    "stored conversation instead, and that is said. The store is made when it is not there. A container without a store is handed " +
    "a bundle with --from (or AGENT_SESSION_FILE, or as base64 in AGENT_SESSION_BLOB: Linux takes at most 128 KiB of that), and " +
    "leaves one with --out; an --out file that is there already is gone on from. With the agent's own session flag (--resume ID, " +
    "--session ID, --continue) nothing is added to its command line; that session is put back when it is in the store and not " +
    "here. The agent may be started by npx or by bash -c. Only one run at a time works on a request, unless --beside is given. " +
    "When the agent has ended, or a signal asked for the end, everything is over within --grace: what was saved and what was " +
    "not is said. The exit code is the agent's. When that is 0 and a signal asked for the end, it is 128 and the signal's number: " +
    "130 after Ctrl-C, 143 after SIGTERM (the end by a real-time signal, 34 and up, counts as 0: Node does not tell of it); " +
    "with --must-save it is 8 when the session is not saved. 127 says that the agent's program " +
    "cannot be started, 1 to 7 and 9 (see holdfast --help) that the agent was not started. kill -9 of this command alone leaves the " +
    "agent working: the next run of the request then names it, and waits for its end with --wait.",
  options: {
    request: {
      type: "text",
      value: "ID",
      summary:
        "the piece of work the session belongs to (default $HOLDFAST_REQUEST, else the directory; a shared store needs one)",
    },
    from: { type: "text", value: "FILE", summary: "go on with the session in this bundle, without a store" },
    out: { type: "text", short: "o", value: "FILE", summary: "write the session as one file when the agent has ended" },
    ttl: {
      type: "text",
      value: "TIME",
      summary: "how long to keep it: 12h, 7d or never (default: as before, else 7d)",
    },
    every: {
      type: "text",
      value: "TIME",
      summary: "how often it is saved while the agent works (default 2s, less often where a save takes long)",
    },
    grace: {
      type: "text",
      value: "TIME",
      summary: "all is over so long after the agent has ended, or a signal came (default 10s)",
    },
    "wait-store": {
      type: "text",
      value: "TIME",
      summary: "wait so long for a store that cannot be reached, before the agent starts",
    },
    wait: {
      type: "flag",
      summary: "wait until another run of this request, or its agent, has ended, and resume what it left",
    },
    beside: { type: "flag", summary: "work beside another run of this request: both results are kept" },
    "must-resume": { type: "flag", summary: "do not start the agent (exit 7) when its session cannot be restored" },
    "must-save": { type: "flag", summary: "exit 8 when the agent ended with 0 and its session is not saved" },
    "rewrite-paths": {
      type: "flag",
      summary: "make paths of the session's files in the conversation lead to where they are now",
    },
    overwrite: {
      type: "flag",
      summary: "replace a session that went on apart here; it is kept beside (Claude Code)",
    },
    "mask-secrets": {
      type: "flag",
      summary: "replace likely secrets in what is saved: what comes back is not what was there",
    },
    log: { type: "text", value: "FILE", summary: "append what happens to this file, one JSON object a line" },
  },
  globalOptionHelp: { json: "what was done as one JSON document on stderr: stdout is the agent's" },
  operands: [{ name: "claude … or opencode …", need: "some" }],
  passesArguments: true,
  examples: [
    { command: "holdfast run --request fix-42 -- claude -p 'fix the test'", does: "a new session, kept under fix-42" },
    {
      command: "holdfast run --request fix-42 -- claude -p 'now the docs'",
      does: "goes on with it, here or on another machine",
    },
    {
      command: "holdfast run --request r --store postgres://db/a -- opencode run hi",
      does: "a store that machines share",
    },
    { command: "holdfast run --out s.hfcap -- claude -p 'go on'", does: "a file instead of a store, again and again" },
  ],
  next: "holdfast captures ls shows what is kept; holdfast handover tells people what the agent did.",
  run: async (context) => {
    const { args, io } = context;
    const line = readAgentLine(args.operands, optionsGiven(args));
    const { agent } = line;
    if (args.flag("wait") && args.flag("beside")) throw new UsageError("give --wait or --beside, not both");
    const log = logTo(args.text("log"), io.cwd);
    const environment: Environment = { ...realEnvironment(), log };
    const command = [line.program, ...(line.launcher ?? [])] as const;
    const here: Here = { env: io.env, cwd: io.cwd, environment, ...(agent === "opencode" ? { command } : {}) };
    const asked = lines.understand(line);
    const times = timesOf(context);
    if (!asked.converses) {
      log("info", "capture.start", { agent, cwd: io.cwd, resumes: false, captures: false });
      const child = await started(context, line, { before: null });
      return typeof child === "number" ? child : (await child.ended).code;
    }
    const request = requestOf(context);
    const out = args.text("out");
    if (out !== undefined) await checkOut(out, io);
    const hasStore = args.text("store") !== undefined || Boolean(io.env.HOLDFAST_STORE);
    const handed = await handedOver(io, { from: args.text("from"), out, hasStore });
    const needsStore = hasStore || (handed.source === null && out === undefined);
    const { store, isNew } = needsStore ? await openOrExit(context, environment, times) : NO_STORE;
    const file = await storeFile(context, store);
    const work: Work = { line, here, handed, store, file, isNew, log, asked, request, ...times };
    try {
      const isClaimed = store !== null && !args.flag("beside");
      return await supervise(context, work, isClaimed ? await claimRequest(context, store, request, agent) : null);
    } catch (error) {
      if (error instanceof Interrupted) return error.exitCode;
      throw error;
    }
  },
};

const NO_STORE = { store: null, isNew: false } as const;

/** A store that does not answer would not let the process end either. */
async function openOrExit(
  context: Context,
  environment: Environment,
  { graceMs, waitMs }: Times,
): Promise<OpenedStore> {
  try {
    return await openPatiently(context, environment, { graceMs, waitMs });
  } catch (error) {
    const code =
      error instanceof Interrupted
        ? error.exitCode
        : await reportFailure(error, context.output, Boolean(context.io.env.HOLDFAST_DEBUG));
    process.exit(code);
  }
}

/** As they were given, for a line that works; a store with a password is left to the environment. */
function optionsGiven(args: Context["args"]): string {
  const options = Object.entries<OptionSpec>({ store: GLOBAL_OPTIONS.store, ...run.options }).flatMap(([name, one]) => {
    if (one.type === "flag") return args.flag(name) ? [`--${name}`] : [];
    const value = args.text(name);
    return value === undefined || hidePassword(value) !== value ? [] : [`--${name} ${quoted(value)}`];
  });
  return options.map((option) => ` ${option}`).join("");
}

interface Times {
  readonly everyMs: number | null;
  readonly graceMs: number;
  /** For a store that cannot be reached; undefined: not at all. */
  readonly waitMs: number | undefined;
  /** null: never; undefined: as before. */
  readonly ttlMs: number | null | undefined;
}

function timesOf({ args }: Context): Times {
  const [ttl, every, grace, wait] = ["ttl", "every", "grace", "wait-store"].map((name) => args.text(name));
  return {
    graceMs: grace === undefined ? GRACE_MS : parseDuration(grace, "--grace"),
    waitMs: wait === undefined ? undefined : parseDuration(wait, "--wait-store"),
    everyMs: every === undefined ? null : parseDuration(every, "--every"),
    ttlMs: ttl === undefined ? undefined : parseDurationOrNever(ttl, "--ttl"),
  };
}

interface Work extends Times {
  readonly request: string;
  readonly line: lines.AgentLine;
  readonly asked: lines.Understood;
  readonly here: Here;
  readonly handed: Handed;
  readonly store: Holdfast | null;
  /** Where it is kept; null: in no file of its own. */
  readonly file: StoreFile | null;
  /** The store was made now. */
  readonly isNew: boolean;
  readonly log: Log;
}

async function supervise(context: Context, given: Work, claimed: ClaimedRequest | null): Promise<number> {
  try {
    const { code, isAnswered } = await work(context, given, claimed);
    // A store that does not answer would not be closed either.
    if (!isAnswered) process.exit(code);
    return code;
  } finally {
    await claimed?.claim.release().catch(() => {});
  }
}

interface WorkEnd {
  readonly code: number;
  /** The store answered until the end. */
  readonly isAnswered: boolean;
}

async function work(context: Context, given: Work, claimed: ClaimedRequest | null): Promise<WorkEnd> {
  const { line, asked, here, store, log, request, ttlMs } = given;
  const { args, io } = context;
  const { agent } = line;
  log("info", "capture.start", {
    ...{ agent, request, cwd: io.cwd, resumes: !asked.choosesSession, captures: store !== null },
  });
  const leftovers: Saved[] = [];
  const unsaved = unsavedMessages(context, request);
  const start = await startOf(context, given, claimed, { ...unsaved, onSaved: (saved) => void leftovers.push(saved) });
  if (args.flag("must-resume")) await requireResumed(context, start, given);
  const describe = (work: Parameters<RequestClaim["describe"]>[0]) => {
    claimed?.claim.describe(work).catch((error: unknown) => log("warn", "capture.claim", { error: String(error) }));
  };
  const { line: final, sessionId, before } = lineFor(line, start, asked, here.environment);
  const follower = new Follower({
    ...{ agent, here, log, sessionId, store, request, ttlMs, mask: args.flag("mask-secrets") },
    follows: start.how === "told" ? start.session : null,
    resumed: start.how === "resumed" || asked.choosesSession,
    several: agent === "opencode" && line.args[0] !== "run",
    basis: basisFor(start, asked),
    onSaved: ({ id, sessionId }) => describe({ sessionId, capture: id }),
  });
  for (const { secrets } of leftovers) follower.addSecrets(secrets);
  await follower.ready();
  if (sessionId !== null) log("info", "capture.session-id", { sessionId });
  claimed?.claim.lost.addEventListener("abort", () => log("warn", "capture.claim-lost", { request, agent }));
  const grace = new Grace(given.graceMs, here.environment);
  const child = await started(context, final, { before, onStop: () => grace.beginUrgent() });
  if (typeof child === "number") return { code: child, isAnswered: true };
  const basis = start.how === "resumed" ? start.basis?.id : undefined;
  describe({
    ...{ workerPid: child.pid, ...(sessionId === null ? {} : { sessionId }) },
    ...(basis === undefined ? {} : { capture: basis }),
  });
  const ended = await untilEnd({ child, follower, grace, everyMs: given.everyMs });
  log("info", "capture.ended", { code: ended.code, signal: ended.signal });
  const out = args.text("out");
  let bundle: WrittenBundle | null = null;
  const write = async (found: FoundHere, file: string) => {
    bundle = await writeBundle(context, found, file, follower, log);
  };
  const outcome = await withinGrace(grace, async () => {
    await follower.finish(out === undefined ? null : (found) => write(found, out), grace);
    if (given.file !== null && !(await isSameFile(given.file))) follower.lost(context.storeName);
    await claimed?.claim.release().catch(() => {});
  });
  const isAnswered = outcome === "done";
  if (!isAnswered) follower.gaveUp(context.storeName, formatSpan(given.graceMs), outcome === "interrupted");
  const killedAfter = ended.wasKilled ? formatSpan(grace.agentMs) : null;
  const about = { isNew: given.isNew, chose: asked.choosesSession, killedAfter, unsaved: [...unsaved.sessions] };
  await tell(context, { agent, request, start, follower, bundle, ...about });
  return { code: codeOf(context, given, ended, follower, bundle), isAnswered };
}

/** What the session that the agent works in goes on from; undefined: whatever the store has of it. */
function basisFor(start: Start, { choosesSession, sessionId }: lines.Understood) {
  if (start.how === "resumed") return start.basis;
  if (!choosesSession) return null;
  return start.apart?.sessionId === sessionId ? (start.apart?.capture ?? undefined) : undefined;
}

/**
 * The agent's own, unless it ended with 0: because a signal ended it, as shells tell that, or while the caller wants to know that its
 * session is not saved.
 */
function codeOf(
  { args, io }: Context,
  { line }: Work,
  { code, stoppedBy }: Ended,
  follower: Follower,
  bundle: WrittenBundle | null,
): number {
  if (code !== 0) return code;
  // In front of a terminal Ctrl-C may have ended no more than a turn.
  const isTurnOnly = stoppedBy === "SIGINT" && io.stdin.isTTY === true && lines.isInteractive(line);
  if (stoppedBy !== null && !isTurnOnly) return exitCodeOf(stoppedBy);
  if (!args.flag("must-save")) return code;
  const isWritten = args.text("out") === undefined ? follower.isStored : bundle !== null;
  return isWritten && (!follower.isStored || follower.isSaved) ? EXIT.ok : EXIT.notSaved;
}

const WITHOUT_MUST_RESUME =
  "Run it without --must-resume: then the agent begins anew, and is told the stored conversation if there is one";

/** A session that its command line names, or the newest, is resumed by the agent itself when it is here. */
async function requireResumed(context: Context, start: Start, work: Work): Promise<void> {
  const { line, asked, here, request } = work;
  if (start.how === "resumed") return;
  const { choosesSession, sessionId } = asked;
  const isHere =
    choosesSession &&
    (sessionId === null
      ? await hasSessions(line.agent, here)
      : await agentHere(line.agent, here)
          .find(sessionId)
          .then((found) => found.done().then(() => true))
          .catch(() => false));
  if (isHere) return;
  const nothing = `nothing is stored for request ${JSON.stringify(request)}`;
  const why = start.why ?? (sessionId === null ? nothing : `session ${sessionId} is neither here nor in the store`);
  const steps = stepsAfter(context, { start, request, agent: line.agent });
  throw new HoldfastError("NotResumed", `the session cannot be restored (${why}); the agent was not started`, {
    details: { request, sessionId, start: start.how },
    hint: [...steps.map((step) => `T${step.slice(1)}.`), `${WITHOUT_MUST_RESUME}.`].join(" "),
  });
}

/** On one machine, the directory. Others have directories of the same name. */
function requestOf({ args, io, storeName }: Context): string {
  const given = args.text("request") ?? io.env.HOLDFAST_REQUEST;
  if (given) return given;
  if (/^postgres/i.test(storeName))
    throw new UsageError("a store that machines share needs --request ID, or HOLDFAST_REQUEST");
  return path.resolve(io.cwd);
}

async function startOf(
  { args, io }: Context,
  given: Work,
  claimed: ClaimedRequest | null,
  told: Pick<UnsavedOptions, "onSaved" | "onUnsaved" | "onAmbiguous">,
): Promise<Start> {
  const { line, asked, here, handed, store, log, request, ttlMs } = given;
  const agent = agentHere(line.agent, here);
  const common = { agent, request, ttlMs, mask: args.flag("mask-secrets"), log, ...told };
  // Runs before were killed, and their agents may have worked on.
  const goesOn = store === null || claimed === null ? null : await saveUnsaved({ ...common, ...claimed, store, here });
  // Nothing names the session that is gone on with: only when there is none here can it be that of the request.
  const isHere = asked.choosesSession && asked.sessionId === null && (await hasSessions(line.agent, here));
  if (isHere) return { how: "new", why: null, apart: null };
  const sessionId = asked.sessionId ?? (handed.source === null ? io.env.AGENT_SESSION_ID || null : null);
  const isNamed = asked.choosesSession || (sessionId !== null && claimed?.hasWaited !== true);
  return begin({
    ...{ ...common, store, handed: handed.source, why: handed.why, sessionId },
    capture: isNamed ? null : goesOn,
    tells: !asked.choosesSession,
    rewritePaths: args.flag("rewrite-paths"),
    overwrite: args.flag("overwrite"),
  });
}

/** The code to end with when it could not be started. */
async function started({ io, output }: Context, line: lines.AgentLine, options: StartOptions): Promise<Child | number> {
  try {
    return await startAgent(line, io, options);
  } catch (error) {
    if (!isHoldfastError(error) || error.code !== "MissingDependency") throw error;
    await reportFailure(error, output, Boolean(io.env.HOLDFAST_DEBUG));
    return NOT_STARTED;
  }
}
