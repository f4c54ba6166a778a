// holdfast run: a coding agent whose session outlives its machine.
import { appendFile } from "node:fs/promises";
import * as path from "node:path";
import { agentHere, type Here } from "../../coding/here.ts";
import type { CodingAgent } from "../../contracts/captures.ts";
import type { CaptureSource } from "../../contracts/coding.ts";
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { realEnvironment } from "../../core/environment.ts";
import { fileOut } from "../bytes.ts";
import { bundleOfFound } from "../captures/found.ts";
import * as lines from "../coding/agent-line.ts";
import { type Ended, startAgent } from "../coding/child.ts";
import { Follower, type Log } from "../coding/follow.ts";
import { handedOver } from "../coding/handed.ts";
import { begin, type Start } from "../coding/start.ts";
import type { Command, Context } from "../command.ts";
import { UsageError } from "../failure.ts";
import { formatBytes, parseDuration, plural } from "../units.ts";

/** How often a session is looked at while its agent works: an export of OpenCode takes seconds of a processor. */
const EVERY_MS: Readonly<Record<CodingAgent, number>> = { "claude-code": 2000, opencode: 60_000 };

export const run: Command = {
  name: "run",
  summary: "run Claude Code or OpenCode, with a session that stays",
  usage: [
    "run [--request ID] [--out FILE] [--ttl TIME] [--every TIME] [--rewrite-paths] [--mask-secrets] [--log FILE] -- claude|opencode …",
  ],
  description:
    "Puts the request's session back, runs the agent with its own resume flag, saves the session while it works and when it " +
    "ends, also when it is killed, and ends as the agent ended. When the session cannot be put back, the agent is told the " +
    "stored conversation instead, and that is said. The store is made when it is not there. A container without a store is handed " +
    "AGENT_SESSION_ID and AGENT_SESSION_BLOB (base64 of a bundle, or of the compressed transcript), and leaves a bundle with --out. " +
    "Give the agent's own session flag (--resume, --session …) and nothing is added to it.",
  options: {
    request: {
      type: "text",
      value: "ID",
      summary: "the piece of work the session belongs to (default $HOLDFAST_REQUEST, else the directory)",
    },
    out: { type: "text", short: "o", value: "FILE", summary: "write the session as one file when the agent has ended" },
    ttl: { type: "text", value: "TIME", summary: "how long to keep it: 12h, 7d or never (default 7d)" },
    every: {
      type: "text",
      value: "TIME",
      summary: "how often it is saved while the agent works (default 2s; OpenCode 1m)",
    },
    "rewrite-paths": {
      type: "flag",
      summary: "make paths of the session's files in the conversation lead to where they are now",
    },
    "mask-secrets": {
      type: "flag",
      summary: "replace likely secrets in what is saved: what comes back is not what was there",
    },
    log: { type: "text", value: "FILE", summary: "append what happens to this file, one JSON object a line" },
  },
  operands: [{ name: "COMMAND", need: "some" }],
  examples: [
    { command: "holdfast run --request fix-42 -- claude -p 'fix the test'", does: "a new session, kept under fix-42" },
    {
      command: "holdfast run --request fix-42 -- claude -p 'now the docs'",
      does: "goes on with it, here or on another machine",
    },
    {
      command: "holdfast run --request fix-42 --store postgres://db/agents -- opencode run 'go on'",
      does: "a shared store",
    },
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
    const handed = await handedOver(io.env, io.cwd);
    const isStored = args.text("store") !== undefined || Boolean(io.env.HOLDFAST_STORE);
    const log = logTo(args.text("log"), io.cwd);
    const environment: Environment = { ...realEnvironment(), log };
    const store =
      isStored || (handed === null && args.text("out") === undefined)
        ? await context.open({ create: true, environment })
        : null;
    const here: Here = { env: io.env, cwd: io.cwd, environment, ...(agent === "opencode" ? { command: program } : {}) };
    return work(context, { line, here, handed, store, log });
  },
};

interface Work {
  readonly line: lines.AgentLine;
  readonly here: Here;
  readonly handed: CaptureSource | null;
  readonly store: Holdfast | null;
  readonly log: Log;
}

async function work(context: Context, { line, here, handed, store, log }: Work): Promise<number> {
  const { args, io } = context;
  const { agent } = line;
  const request = args.text("request") ?? io.env.HOLDFAST_REQUEST ?? path.resolve(io.cwd);
  const asked = lines.understand(line);
  log("info", "capture.start", {
    agent,
    request,
    cwd: io.cwd,
    resumes: !asked.choosesSession,
    captures: store !== null,
  });
  const start: Start = asked.choosesSession
    ? { how: "new", why: null }
    : await begin({
        ...{ store, agent: agentHere(agent, here), request, handed, log },
        rewritePaths: args.flag("rewrite-paths"),
      });
  const { line: final, sessionId, before } = lineFor(line, start, asked, here.environment);
  const ttl = args.text("ttl");
  const follower = new Follower({
    ...{ agent, here, log, sessionId, store, request, mask: args.flag("mask-secrets") },
    basis: start.how === "resumed" ? start.basis : asked.choosesSession ? undefined : null,
    ttlMs: ttl === undefined ? undefined : ttl === "never" ? null : parseDuration(ttl, "--ttl"),
  });
  await follower.ready();
  if (sessionId !== null) log("info", "capture.session-id", { sessionId });
  const every = args.text("every");
  const ended = await untilEnd(
    final,
    context,
    follower,
    every === undefined ? EVERY_MS[agent] : parseDuration(every, "--every"),
    before,
  );
  log("info", "capture.ended", { code: ended.code, signal: ended.signal });
  const out = args.text("out");
  const bundle = out === undefined ? null : await writeBundle(context, follower, out, log);
  await tell(context, start, follower, bundle);
  return ended.code;
}

function lineFor(
  line: lines.AgentLine,
  start: Start,
  asked: lines.Understood,
  environment: Environment,
): { readonly line: lines.AgentLine; readonly sessionId: string | null; readonly before: string | null } {
  if (start.how === "resumed") {
    const { sessionId } = start.restored;
    return { line: lines.resuming(line, sessionId), sessionId, before: null };
  }
  if (asked.choosesSession) return { line, sessionId: asked.forks ? null : asked.sessionId, before: null };
  const sessionId = line.agent === "claude-code" ? newUuid(environment) : null;
  const fresh = sessionId === null ? line : lines.beginning(line, sessionId);
  if (start.how === "new") return { line: fresh, sessionId, before: null };
  const prefixed = lines.prefixed(fresh, start.words);
  if (prefixed !== null) return { line: prefixed, sessionId, before: null };
  const told = process.stdin.isTTY === true ? lines.told(fresh, start.words) : null;
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

/** Saved again and again until the agent ends, and once more then: that it was killed makes no difference. */
async function untilEnd(
  line: lines.AgentLine,
  { io }: Context,
  follower: Follower,
  everyMs: number,
  before: string | null,
): Promise<Ended> {
  const child = await startAgent(line, io, before);
  const over = new AbortController();
  const ended = child.ended.finally(() => over.abort());
  const { sleep } = realEnvironment();
  while (!over.signal.aborted) {
    await sleep(everyMs, over.signal);
    if (!over.signal.aborted) await follower.save("while");
  }
  await follower.save("exit");
  return ended;
}

interface Bundled {
  readonly file: string;
  readonly bytes: number;
}

/** The same files as one; nothing of it is there until all of it is. */
async function writeBundle({ args, io }: Context, follower: Follower, file: string, log: Log): Promise<Bundled | null> {
  try {
    const found = await follower.find();
    if (found === null) return null;
    try {
      const { bundle } = await bundleOfFound(found, args.flag("mask-secrets"));
      const out = await fileOut(file, io, 0o600);
      await out.write(bundle);
      await out.finish();
      log("info", "capture.bundle", { file, bytes: bundle.byteLength, sessionId: found.sessionId });
      return { file, bytes: bundle.byteLength };
    } finally {
      await found.done();
    }
  } catch (error) {
    follower.problem = error;
    log("error", "capture.bundle", { file, error: String(error) });
    return null;
  }
}

/** One line, on stderr: standard output is the agent's. */
async function tell({ output }: Context, start: Start, follower: Follower, bundle: Bundled | null): Promise<void> {
  const { last, sessionId, secrets, problem } = follower;
  const began =
    start.how === "resumed"
      ? `resumed ${start.restored.sessionId} (${plural(start.restored.messages, "message")})`
      : start.how === "told"
        ? `could not resume (${start.why}), told the stored conversation instead`
        : start.why === null
          ? `session ${sessionId ?? "unknown"}`
          : `could not resume (${start.why}), began anew`;
  const kept =
    last === null
      ? []
      : [
          `saved ${plural(last.fileCount, "file")}, ${formatBytes(last.size)}, as generation ${last.generation} of ${last.id}` +
            (last.diverged ? " beside the newest: another machine went on with it" : ""),
        ];
  const written = bundle === null ? [] : [`wrote ${bundle.file} (${formatBytes(bundle.bytes)})`];
  const found = secrets.length === 0 ? [] : [`${plural(secrets.length, "likely secret")} in it`];
  const failed =
    problem === null
      ? []
      : [`not saved as it should be: ${problem instanceof HoldfastError ? problem.message : String(problem)}`];
  await output.note(`holdfast: ${[began, ...kept, ...written, ...found, ...failed].join("; ")}`);
}

function logTo(file: string | undefined, cwd: string): Log {
  if (file === undefined) return () => {};
  const target = path.resolve(cwd, file);
  let turn: Promise<unknown> = Promise.resolve();
  return (level, event, fields) => {
    const text = `${JSON.stringify({ at: new Date().toISOString(), level, event, ...fields })}\n`;
    turn = turn.then(() => appendFile(target, text)).catch(() => {});
  };
}
