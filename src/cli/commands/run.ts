// holdfast run: a coding agent whose session outlives its machine.
import { access, stat } from "node:fs/promises";
import * as path from "node:path";
import { agentHere, type Here } from "../../coding/here.ts";
import type { CodingAgent } from "../../contracts/captures.ts";
import type { Environment } from "../../contracts/environment.ts";
import { isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { isSessionIdOf } from "../../core/agent-sessions.ts";
import { realEnvironment } from "../../core/environment.ts";
import * as lines from "../coding/agent-line.ts";
import { type Child, type Ended, startAgent } from "../coding/child.ts";
import { Follower, type Log } from "../coding/follow.ts";
import { type Handed, handedOver } from "../coding/handed.ts";
import { logTo } from "../coding/log.ts";
import { writeBundle } from "../coding/out.ts";
import { begin, type Start } from "../coding/start.ts";
import { tell } from "../coding/tell.ts";
import { hasSessions } from "../coding/whose.ts";
import type { Command, Context } from "../command.ts";
import { report, UsageError } from "../failure.ts";
import { parseDuration, parseDurationOrNever } from "../units.ts";

/** How often a session is looked at while its agent works: an export of OpenCode takes seconds of a processor. */
const EVERY_MS: Readonly<Record<CodingAgent, number>> = { "claude-code": 2000, opencode: 60_000 };
/** How often the agent is asked which session it is in: that is a look at one small file. */
const LOOK_MS = 200;
/** The longest that a timer can wait. */
const LONGEST_MS = 2 ** 31 - 1;
/** The agent has ended, and its exit code is waited for: the store has so long to answer. */
const PATIENCE_MS = 120_000;
/** As shells tell a command that cannot be started. */
const NOT_STARTED = 127;

export const run: Command = {
  name: "run",
  summary: "run Claude Code or OpenCode, with a session that stays",
  usage: [
    "run [--request ID] [--from FILE] [--out FILE] [--ttl TIME] [--every TIME] [--rewrite-paths] [--overwrite] " +
      "[--mask-secrets] [--log FILE] [--] claude|opencode …",
  ],
  description:
    "Puts the request's session back, runs the agent with its own resume flag, saves the session while it works and when it " +
    "ends, also when it is killed, and ends as the agent ended. When the session cannot be put back, the agent is told the " +
    "stored conversation instead, and that is said. The store is made when it is not there. A container without a store is handed " +
    "a bundle with --from (or AGENT_SESSION_FILE, or as base64 in AGENT_SESSION_BLOB: Linux takes at most 128 KiB of that), and " +
    "leaves one with --out; an --out file that is there already is gone on from. With the agent's own session flag (--resume ID, " +
    "--session ID, --continue) nothing is added to its command line; that session is put back when it is in the store and not " +
    "here. The exit code is the agent's; 127 when it cannot be started, and 1 to 6 (see holdfast --help) when nothing was.",
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
      summary: "how often it is saved while the agent works (default 2s; OpenCode 1m)",
    },
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
  means: { json: "what was done as one JSON document on stderr: stdout is the agent's" },
  operands: [{ name: "claude … or opencode …", need: "some" }],
  rest: true,
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
    const [program = "", ...rest] = args.operands;
    const agent = lines.agentOf(program);
    if (agent === undefined) {
      throw new UsageError(
        `${JSON.stringify(program)} is no agent that is known: give claude … or opencode … after --`,
      );
    }
    const line = { agent, program, args: rest };
    const log = logTo(args.text("log"), io.cwd);
    const environment: Environment = { ...realEnvironment(), log };
    const here: Here = { env: io.env, cwd: io.cwd, environment, ...(agent === "opencode" ? { command: program } : {}) };
    const asked = lines.understand(line);
    const times = timesOf(context, agent);
    if (!asked.converses) {
      log("info", "capture.start", { agent, cwd: io.cwd, resumes: false, captures: false });
      const child = await started(context, line, null);
      return typeof child === "number" ? child : (await child.ended).code;
    }
    const request = requestOf(context);
    const hasStore = args.text("store") !== undefined || Boolean(io.env.HOLDFAST_STORE);
    const handed = await handedOver(io, { from: args.text("from"), out: args.text("out"), hasStore });
    const needsStore = hasStore || (handed.source === null && args.text("out") === undefined);
    const isNew = needsStore && !hasStore && (await isMissing(path.resolve(io.cwd, context.storeName)));
    const store = needsStore ? await context.open({ create: true, environment }) : null;
    const file = await storeFile(context, store);
    return work(context, { line, here, handed, store, file, isNew, log, asked, request, ...times });
  },
};

interface Times {
  readonly everyMs: number;
  /** null: never; undefined: as before. */
  readonly ttlMs: number | null | undefined;
}

function timesOf({ args }: Context, agent: CodingAgent): Times {
  const [ttl, every] = [args.text("ttl"), args.text("every")];
  return {
    everyMs: every === undefined ? EVERY_MS[agent] : parseDuration(every, "--every"),
    ttlMs: ttl === undefined ? undefined : parseDurationOrNever(ttl, "--ttl"),
  };
}

async function isMissing(file: string): Promise<boolean> {
  return access(file).then(
    () => false,
    () => true,
  );
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

async function work(context: Context, given: Work): Promise<number> {
  const { line, asked, here, store, log, request, ttlMs } = given;
  const { args, io } = context;
  const { agent } = line;
  log("info", "capture.start", {
    ...{ agent, request, cwd: io.cwd, resumes: !asked.choosesSession, captures: store !== null },
  });
  const start = await startOf(context, given);
  const { line: final, sessionId, before } = lineFor(line, start, asked, here.environment);
  const follower = new Follower({
    ...{ agent, here, log, sessionId, store, request, ttlMs, mask: args.flag("mask-secrets") },
    follows: start.how === "told" ? start.session : null,
    resumed: start.how === "resumed" || asked.choosesSession,
    several: agent === "opencode" && line.args[0] !== "run",
    basis: start.how === "resumed" ? start.basis : asked.choosesSession ? undefined : null,
  });
  await follower.ready();
  if (sessionId !== null) log("info", "capture.session-id", { sessionId });
  const child = await started(context, final, before);
  if (typeof child === "number") return child;
  const ended = await untilEnd(child, follower, given.everyMs);
  log("info", "capture.ended", { code: ended.code, signal: ended.signal });
  const [isAnswered, bundle] = await finishing(async (over) => {
    const isSaved = await lastSave(follower, over);
    if (given.file !== null && !(await isSameFile(given.file))) follower.lost(context.storeName);
    return [isSaved, await writeBundle(context, follower, log)] as const;
  });
  await tell(context, {
    start,
    follower,
    bundle,
    isStored: store !== null,
    isNew: given.isNew,
    chose: asked.choosesSession,
  });
  // A store that does not answer would not be closed either.
  if (!isAnswered) process.exit(ended.code);
  return ended.code;
}

/** On one machine, the directory. Others have directories of the same name. */
function requestOf({ args, io, storeName }: Context): string {
  const given = args.text("request") ?? io.env.HOLDFAST_REQUEST;
  if (given) return given;
  if (/^postgres/i.test(storeName))
    throw new UsageError("a store that machines share needs --request ID, or HOLDFAST_REQUEST");
  return path.resolve(io.cwd);
}

async function startOf({ args, io }: Context, given: Work): Promise<Start> {
  const { line, asked, here, handed, store, log, request } = given;
  // Nothing names the session that is gone on with: only when there is none here can it be that of the request.
  const isHere = asked.choosesSession && asked.sessionId === null && (await hasSessions(line.agent, here));
  if (isHere) return { how: "new", why: null };
  return begin({
    ...{ store, agent: agentHere(line.agent, here), request, log, handed: handed.source, why: handed.why },
    sessionId: asked.sessionId ?? (handed.source === null ? io.env.AGENT_SESSION_ID || null : null),
    tells: !asked.choosesSession,
    rewritePaths: args.flag("rewrite-paths"),
    overwrite: args.flag("overwrite"),
  });
}

/** The code to end with when it could not be started. */
async function started({ io, output }: Context, line: lines.AgentLine, before: string | null): Promise<Child | number> {
  try {
    return await startAgent(line, io, before);
  } catch (error) {
    if (!isHoldfastError(error) || error.code !== "MissingDependency") throw error;
    await report(error, output, Boolean(io.env.HOLDFAST_DEBUG));
    return NOT_STARTED;
  }
}

function lineFor(
  line: lines.AgentLine,
  start: Start,
  asked: lines.Understood,
  environment: Environment,
): { readonly line: lines.AgentLine; readonly sessionId: string | null; readonly before: string | null } {
  // It may also be called by its title: then the agent says which one that is.
  const named = asked.sessionId !== null && isSessionIdOf(line.agent, asked.sessionId) ? asked.sessionId : null;
  if (asked.choosesSession) return { line, sessionId: asked.forks ? null : named, before: null };
  if (start.how === "resumed") {
    const { sessionId } = start.restored;
    return { line: lines.resuming(line, sessionId), sessionId: asked.forks ? null : sessionId, before: null };
  }
  const sessionId = line.agent === "claude-code" ? newUuid(environment) : null;
  const fresh = sessionId === null ? line : lines.beginning(line, sessionId);
  if (start.how === "new") return { line: fresh, sessionId, before: null };
  const prefixed = lines.prefixed(fresh, start.words);
  if (prefixed !== null) return { line: prefixed, sessionId, before: null };
  // Its standard input is a person at a terminal, or no text.
  const isOther = process.stdin.isTTY === true || lines.readsJson(line);
  const told = isOther ? lines.told(fresh, start.words) : null;
  return told === null ? { line: fresh, sessionId, before: start.words } : { line: told, sessionId, before: null };
}

/** Version 4. */
function newUuid(environment: Environment): string {
  const bytes = environment.random(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Buffer.from(bytes).toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Saved again and again until the agent ends. A save that is under way then is not waited for here. */
async function untilEnd(child: Child, follower: Follower, everyMs: number): Promise<Ended> {
  const over = new AbortController();
  follower.started(child.pid);
  void again(over.signal, LOOK_MS, () => follower.look());
  void again(over.signal, everyMs, () => follower.save("while"));
  const ended = await child.ended;
  over.abort();
  return ended;
}

/** A signal no longer reaches the agent: the first lets this be finished, a second one ends it. */
async function finishing<T>(act: (over: AbortSignal) => Promise<T>): Promise<T> {
  const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
  const over = new AbortController();
  let count = 0;
  const listen = () => {
    count += 1;
    if (count > 1) over.abort();
  };
  for (const signal of signals) process.on(signal, listen);
  try {
    return await act(over.signal);
  } finally {
    for (const signal of signals) process.removeListener(signal, listen);
  }
}

/** Once more, now that it has ended; false when the store gave no answer in time. */
async function lastSave(follower: Follower, over: AbortSignal): Promise<boolean> {
  const isDone = new AbortController();
  const saved = follower.save("exit").then(() => true);
  const late = realEnvironment()
    .sleep(PATIENCE_MS, AbortSignal.any([over, isDone.signal]))
    .then(() => false);
  const isAnswered = await Promise.race([saved, late]);
  if (!isAnswered) follower.gaveUp();
  isDone.abort();
  return isAnswered;
}

/** The file of a store, as it was when it was opened: agents clean up their directory, and the store may lie in it. */
interface StoreFile {
  readonly path: string;
  readonly ino: number;
}

async function storeFile({ io, storeName }: Context, store: Holdfast | null): Promise<StoreFile | null> {
  if (store === null || store.info.engine !== "sqlite") return null;
  const file = path.resolve(io.cwd, storeName);
  const { ino } = await stat(file).catch(() => ({ ino: null }));
  return ino === null ? null : { path: file, ino };
}

async function isSameFile({ path: file, ino }: StoreFile): Promise<boolean> {
  return stat(file).then(
    (now) => now.ino === ino,
    () => false,
  );
}

async function again(over: AbortSignal, everyMs: number, act: () => Promise<void>): Promise<void> {
  const { sleep } = realEnvironment();
  while (!over.aborted) {
    await sleep(Math.min(everyMs, LONGEST_MS), over);
    if (!over.aborted) await act();
  }
}
