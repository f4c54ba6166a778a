// holdfast run: runs a coding agent and keeps its session in the store, so that it outlives the machine.
import { appendFile } from "node:fs/promises";
import * as path from "node:path";
import type { AgentHost } from "../../coding/local-agent.ts";
import { type AgentEnd, exitCodeOf, startAgent } from "../../coding/supervisor/agent-process.ts";
import {
  type AgentCommand,
  CommandLineRefused,
  isInteractive,
  readAgentCommand,
  readPurpose,
} from "../../coding/supervisor/command-line.ts";
import type { Log, SessionRecorder } from "../../coding/supervisor/recorder.ts";
import type { ClaimedRequest, SessionStart } from "../../coding/supervisor/session-start.ts";
import { catchStartFailure, type SupervisedRun, superviseAgent } from "../../coding/supervisor/supervisor.ts";
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { realEnvironment } from "../../core/environment.ts";
import { hidePassword } from "../../core/store-url.ts";
import { open } from "../../open.ts";
import { checkOut, type WrittenBundle, writeBundle } from "../captures/session-bundle.ts";
import { readSessionInput } from "../captures/session-input.ts";
import {
  claimWithMessages,
  InterruptedWait,
  isSameFile,
  type OpenedStore,
  openStore,
  type StoreFile,
  storeFile,
} from "../coding/run-preparation.ts";
import { printSummary, stepsAfter, unsavedMessages } from "../coding/run-summary.ts";
import type { Command, Context } from "../command-line.ts";
import { EXIT } from "../exit.ts";
import { UsageError } from "../failure.ts";
import { reportFailure } from "../failure-report.ts";
import { GLOBAL_OPTIONS, type OptionSpec } from "../option.ts";
import { quoted } from "../terminal.ts";
import { formatSpan, parseDuration, parseDurationOrNever } from "../units.ts";

/** Orchestrators give a container at least this long to end: docker 10 s. */
const GRACE_MS = 10_000;
/** The exit code that shells use for a command that cannot be started. */
const NOT_STARTED = 127;

export const run: Command = {
  name: "run",
  summary: "run Claude Code or OpenCode and keep its session",
  usage: [
    "run [--request ID] [--from FILE] [--out FILE] [--ttl TIME] [--every TIME] [--grace TIME] [--wait-store TIME] " +
      "[--wait | --beside] [--must-resume] [--must-save] [--rewrite-paths] [--overwrite] [--mask-secrets] [--log FILE] [--] " +
      "claude|opencode …",
  ],
  description:
    "Restores the request's session, runs the agent with its own resume flag, saves the session while the agent works and when it " +
    "ends, also when it is killed, and exits as the agent exited. If the session cannot be restored, the agent gets the " +
    "stored conversation instead, and the last line says so. If there is no store, run creates one. A container without a store gets " +
    "a bundle with --from (or AGENT_SESSION_FILE, or as base64 in AGENT_SESSION_BLOB, which Linux limits to 128 KiB) and " +
    "writes one with --out; if the --out file exists, the run continues its session. With the agent's own session flag (--resume ID, " +
    "--session ID, --continue) run adds nothing to its command line and restores that session if the store has it and this machine does " +
    "not. The agent may be started by npx or by bash -c. Only one run at a time works on a request, unless --beside is given. " +
    "When the agent has ended, or a signal stops the run, run exits within --grace and says what it saved and what " +
    "it did not. The exit code is the agent's. If that is 0 and a signal stopped the run, it is 128 plus the signal's number: " +
    "130 after Ctrl-C, 143 after SIGTERM (an agent killed by a real-time signal, 34 and up, counts as 0, because Node does " +
    "not report it); " +
    "with --must-save it is 8 if the session is not saved. 127 means that the agent's program " +
    "cannot be started, 1 to 7 and 9 (see holdfast --help) that run did not start the agent. If kill -9 ends only this command, the " +
    "agent keeps working: the next run of the request then names it, and with --wait waits until it ends.",
  options: {
    request: {
      type: "text",
      value: "ID",
      summary:
        "the piece of work the session belongs to (default $HOLDFAST_REQUEST, else the directory; a shared store needs one)",
    },
    from: { type: "text", value: "FILE", summary: "continue the session in this bundle, without a store" },
    out: { type: "text", short: "o", value: "FILE", summary: "write the session to one file when the agent has ended" },
    ttl: {
      type: "text",
      value: "TIME",
      summary: "how long to keep it: 12h, 7d or never (default: as before, else 7d)",
    },
    every: {
      type: "text",
      value: "TIME",
      summary: "how often to save while the agent works (default 2s, less often if saving takes long)",
    },
    grace: {
      type: "text",
      value: "TIME",
      summary: "exit within TIME after the agent has ended or a signal has arrived (default 10s)",
    },
    "wait-store": {
      type: "text",
      value: "TIME",
      summary: "wait up to TIME for a store that cannot be reached, before the agent starts",
    },
    wait: {
      type: "flag",
      summary: "wait until another run of this request, or its agent, has ended, and resume its session",
    },
    beside: { type: "flag", summary: "work in parallel with another run of this request: both results are kept" },
    "must-resume": { type: "flag", summary: "do not start the agent (exit 7) when its session cannot be restored" },
    "must-save": { type: "flag", summary: "exit 8 when the agent ended with 0 and its session is not saved" },
    "rewrite-paths": {
      type: "flag",
      summary: "rewrite the paths of the session's files in the conversation to their new locations",
    },
    overwrite: {
      type: "flag",
      summary: "replace a session that continued here separately, and keep a copy of it (Claude Code)",
    },
    "mask-secrets": {
      type: "flag",
      summary: "replace likely secrets in the saved copy: a restored session then differs from the original",
    },
    log: { type: "text", value: "FILE", summary: "append log entries to this file, one JSON object per line" },
  },
  globalOptionHelp: { json: "print the summary as one JSON document on stderr: stdout is the agent's" },
  operands: [{ name: "claude … or opencode …", need: "one-or-more" }],
  passesArguments: true,
  examples: [
    {
      command: "holdfast run --request fix-42 -- claude -p 'fix the test'",
      does: "start a session, kept under fix-42",
    },
    {
      command: "holdfast run --request fix-42 -- claude -p 'now the docs'",
      does: "continue it, here or on another machine",
    },
    {
      command: "holdfast run --request r --store postgres://db/a -- opencode run hi",
      does: "use a store that machines share",
    },
    {
      command: "holdfast run --out s.hfcap -- claude -p 'go on'",
      does: "use a file instead of a store, run after run",
    },
  ],
  next: "holdfast captures lists the saved sessions; holdfast handover summarises what the agent did.",
  run: async (context) => {
    const { args, io } = context;
    const command = readCommand(args);
    const { agent } = command;
    if (args.flag("wait") && args.flag("beside")) throw new UsageError("give --wait or --beside, not both");
    const log = logTo(args.text("log"), io.cwd);
    const environment: Environment = { ...realEnvironment(), log };
    const program = [command.program, ...(command.launcher ?? [])] as const;
    const host: AgentHost = {
      env: io.env,
      cwd: io.cwd,
      environment,
      ...(agent === "opencode" ? { command: program } : {}),
    };
    const purpose = readPurpose(command);
    const times = timesOf(context);
    if (!purpose.converses) {
      log("info", "capture.start", { agent, cwd: io.cwd, resumes: false, captures: false });
      const child = await startAgent(command, io, { stdinPrefix: null }).catch(catchStartFailure);
      return "error" in child ? reportNotStarted(context, child.error) : (await child.ended).code;
    }
    const request = requestOf(context);
    const out = args.text("out");
    if (out !== undefined) await checkOut(out, io);
    const hasStore = args.text("store") !== undefined || Boolean(io.env.HOLDFAST_STORE);
    const { source, why } = await readSessionInput(io, { from: args.text("from"), out, hasStore });
    const needsStore = hasStore || (source === null && out === undefined);
    const { store, isNew } = needsStore ? await openOrExit(context, environment, times) : NO_STORE;
    const file = await storeFile(context, store);
    const work: RunWork = {
      command,
      host,
      input: source,
      inputProblem: why,
      store,
      file,
      isNew,
      log,
      purpose,
      request,
      ...times,
    };
    try {
      const isClaimed = store !== null && !args.flag("beside");
      return await superviseClaimed(
        context,
        work,
        isClaimed ? await claimWithMessages(context, store, request, agent) : null,
      );
    } catch (error) {
      if (error instanceof InterruptedWait) return error.exitCode;
      throw error;
    }
  },
};

/** Reports a command line that cannot be supervised as a usage error. */
function readCommand(args: Context["args"]): AgentCommand {
  try {
    return readAgentCommand(args.operands, optionsGiven(args));
  } catch (error) {
    throw error instanceof CommandLineRefused ? new UsageError(error.message) : error;
  }
}

const NO_STORE = { store: null, isNew: false } as const;

/** Exits the process on failure, because waiting for a store that does not answer would keep it alive. */
async function openOrExit(
  context: Context,
  environment: Environment,
  { graceMs, waitMs }: Times,
): Promise<OpenedStore> {
  try {
    return await openStore(context, environment, { graceMs, waitMs });
  } catch (error) {
    const code =
      error instanceof InterruptedWait
        ? error.exitCode
        : await reportFailure(error, context.output, Boolean(context.io.env.HOLDFAST_DEBUG));
    process.exit(code);
  }
}

/** The options as the user gave them, for a suggested command line. A value with a password is left out. */
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
  /** How long to wait for a store that cannot be reached; undefined: do not wait. */
  readonly waitMs: number | undefined;
  /** null: never expires; undefined: keep the previous setting. */
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

interface RunWork extends Times, Pick<SupervisedRun, "command" | "purpose" | "host" | "input" | "inputProblem"> {
  readonly request: string;
  readonly store: Holdfast | null;
  /** The store's file; null if the store is not a SQLite file. */
  readonly file: StoreFile | null;
  /** This run created the store. */
  readonly isNew: boolean;
  readonly log: Log;
}

async function superviseClaimed(context: Context, work: RunWork, claimed: ClaimedRequest | null): Promise<number> {
  try {
    const { code, isAnswered } = await supervise(context, work, claimed);
    // Closing a store that does not answer would never end.
    if (!isAnswered) process.exit(code);
    return code;
  } finally {
    await claimed?.claim.release().catch(() => {});
  }
}

async function supervise(context: Context, work: RunWork, claimed: ClaimedRequest | null): Promise<RunEnd> {
  const { args, io, storeName } = context;
  const { request, file, log, purpose, command } = work;
  const { agent } = command;
  const out = args.text("out");
  const unsaved = unsavedMessages(context, request);
  let bundle: WrittenBundle | null = null;
  const ended = await superviseAgent({
    ...work,
    claimed,
    storeName,
    stdin: io.stdin,
    mask: args.flag("mask-secrets"),
    rewritePaths: args.flag("rewrite-paths"),
    overwrite: args.flag("overwrite"),
    onUnsaved: unsaved.onUnsaved,
    onAmbiguous: unsaved.onAmbiguous,
    openScratch: () => open(":memory:"),
    refuseNewSession: args.flag("must-resume") ? (start) => notResumed(context, start, work) : null,
    isStoreRemoved: async () => file !== null && !(await isSameFile(file)),
    writeBundle:
      out === undefined
        ? null
        : async (found, recorder) => {
            bundle = await writeBundle(context, found, out, recorder, log);
          },
  });
  if (ended.status === "not-started") {
    return { code: await reportNotStarted(context, ended.error), isAnswered: true };
  }
  const { start, recorder, end, killedAfterMs, isAnswered } = ended;
  const killedAfter = killedAfterMs === null ? null : formatSpan(killedAfterMs);
  const about = { isNew: work.isNew, chose: purpose.choosesSession, killedAfter, unsaved: [...unsaved.sessions] };
  await printSummary(context, { agent, request, start, recorder, bundle, ...about });
  return { code: exitCodeFor(context, command, end, recorder, bundle), isAnswered };
}

interface RunEnd {
  readonly code: number;
  /** Whether the store answered until the end. */
  readonly isAnswered: boolean;
}

/**
 * The agent's exit code, unless that is 0: then the code of the signal that stopped the run, or with --must-save the
 * code for a session that is not saved.
 */
function exitCodeFor(
  { args, io }: Context,
  command: AgentCommand,
  { code, stoppedBy }: AgentEnd,
  recorder: SessionRecorder,
  bundle: WrittenBundle | null,
): number {
  if (code !== 0) return code;
  // On a terminal Ctrl-C may only have ended a turn.
  const isTurnOnly = stoppedBy === "SIGINT" && io.stdin.isTTY === true && isInteractive(command);
  if (stoppedBy !== null && !isTurnOnly) return exitCodeOf(stoppedBy);
  if (!args.flag("must-save")) return code;
  const isWritten = args.text("out") === undefined ? recorder.isStored : bundle !== null;
  return isWritten && (!recorder.isStored || recorder.isSaved) ? EXIT.ok : EXIT.notSaved;
}

const WITHOUT_MUST_RESUME =
  "Run it without --must-resume: then the agent starts a new session and gets the stored conversation if there is one";

function notResumed(context: Context, start: SessionStart, { command, purpose, request }: RunWork): HoldfastError {
  const { sessionId } = purpose;
  const nothing = `nothing is stored for request ${JSON.stringify(request)}`;
  const missing = sessionId === null ? nothing : `session ${sessionId} is neither on this machine nor in the store`;
  const why = (start.how === "resumed" ? null : start.why) ?? missing;
  const steps = stepsAfter(context, { start, request, agent: command.agent });
  return new HoldfastError("NotResumed", `the session cannot be restored (${why}); the agent was not started`, {
    details: { request, sessionId, start: start.how },
    hint: [...steps.map((step) => `T${step.slice(1)}.`), `${WITHOUT_MUST_RESUME}.`].join(" "),
  });
}

/** The default request is the directory, which only identifies work on a single machine. */
function requestOf({ args, io, storeName }: Context): string {
  const given = args.text("request") ?? io.env.HOLDFAST_REQUEST;
  if (given) return given;
  if (/^postgres/i.test(storeName)) throw new UsageError("a shared store needs --request ID, or HOLDFAST_REQUEST");
  return path.resolve(io.cwd);
}

async function reportNotStarted({ io, output }: Context, error: HoldfastError): Promise<number> {
  await reportFailure(error, output, Boolean(io.env.HOLDFAST_DEBUG));
  return NOT_STARTED;
}

/** Returns a log that appends one JSON object per line to the file. */
function logTo(file: string | undefined, cwd: string): Log {
  if (file === undefined) return () => {};
  const target = path.resolve(cwd, file);
  let writing: Promise<unknown> = Promise.resolve();
  return (level, event, fields) => {
    const text = `${JSON.stringify({ at: new Date().toISOString(), level, event, ...fields })}\n`;
    writing = writing.then(() => appendFile(target, text, { mode: 0o600 })).catch(() => {});
  };
}
