// holdfast capture: saves the session that a coding agent left on this machine.
import * as path from "node:path";
import { importCaptured } from "../../coding/catch-up.ts";
import { configDirOf, findClaudeSession } from "../../coding/claude/session-files.ts";
import { countImportedMessages } from "../../coding/conversation/import.ts";
import type { LocalSession } from "../../coding/local-agent.ts";
import { findLatestSession } from "../../coding/local-sessions.ts";
import { type FileFinding, Saver } from "../../coding/saver.ts";
import type { Capture, CodingAgent } from "../../contracts/captures.ts";
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { AGENTS } from "../../core/agent-sessions.ts";
import { realEnvironment } from "../../core/environment.ts";
import { FORCE_OPTION, fileOut, isFile, refuseOverwrite } from "../bytes.ts";
import {
  AGENT_OPTION,
  agentGiven,
  agentOfId,
  CWD_OPTION,
  hostOf,
  localAgentOf,
  OPENCODE_HELP,
  SESSION_ID_OPTION,
  TTL_OPTION,
  ttlGiven,
} from "../captures/agent.ts";
import { type CaptureEvent, eventLines, foundEvents, savedWords, secretWords } from "../captures/events.ts";
import { bundleSession, findSecrets } from "../captures/session-bundle.ts";
import type { Command, Context } from "../command.ts";
import { EXIT, exitOf } from "../exit.ts";
import { UsageError } from "../failure.ts";
import { createStore, openIfThere } from "../store.ts";
import { quoted, safe, wrapWords } from "../terminal.ts";
import { formatBytes, plural } from "../units.ts";

export const capture: Command = {
  name: "capture",
  summary: "save a coding agent's session of this machine",
  usage: [
    "capture --session-id ID --request ID [--agent A] [--cwd DIR] [--ttl TIME] [--mask-secrets] [--no-session] [--out FILE|-]",
    "capture --latest --request ID …",
    "capture --transcript PATH --request ID …",
    "capture --session-id ID --out FILE|- [--force] [--mask-secrets]",
    "capture … --dry-run",
  ],
  description:
    "Saves all files of a session of Claude Code or OpenCode under a request's id, so that holdfast restore can put it back on " +
    "another machine, byte for byte; credentials are never taken. Saved again, what was added is stored. The conversation " +
    "becomes a session of the store as well, which outlives the capture; a store that is not there is made. Likely secrets in it are " +
    "reported, never shown. With --out it becomes one file instead, or besides; that needs no store. --json prints one event a " +
    `line. With --dry-run the same events tell what would be saved, and nothing is written. ${OPENCODE_HELP}`,
  options: {
    agent: AGENT_OPTION,
    "session-id": SESSION_ID_OPTION,
    latest: { type: "flag", summary: "the session of this directory (--cwd) that changed last" },
    transcript: { type: "text", value: "PATH", summary: "Claude Code's transcript instead, as its hooks are told it" },
    request: { type: "text", value: "ID", summary: "your id of the work it is for" },
    cwd: CWD_OPTION,
    ttl: TTL_OPTION,
    "mask-secrets": { type: "flag", summary: "replace likely secrets; what is put back is then not what was there" },
    out: { type: "text", short: "o", value: "FILE", summary: "a bundle of it in this file; - is standard output" },
    force: FORCE_OPTION,
    "dry-run": { type: "flag", short: "n", summary: "tell what would be saved, write nothing" },
    "no-session": { type: "flag", summary: "without bringing its conversation into the store" },
  },
  globalOptionHelp: { json: "print one event a line; errors are JSON on stderr" },
  operands: [],
  examples: [
    { command: "holdfast capture --latest --request issue-7", does: "what was worked on here, for 7 days" },
    { command: 'holdfast capture --session-id "$ID" --request issue-7 --ttl never', does: "by the id that it printed" },
    { command: 'holdfast capture --transcript "$TRANSCRIPT" --out session.hfcap', does: "to a file, without a store" },
  ],
  next: "holdfast restore --request ID puts it back; holdfast captures lists what there is.",
  run: async (context) => {
    const { args, output } = context;
    const [request, out] = [args.text("request"), args.text("out")];
    checkOptions(context, request, out);
    const named = await parseSession(context);
    await refuseOverwrite(context);
    const tell = teller(context);
    await tell({ event: "start", agent: named.agent, ...nulls(request, out), dryRun: args.flag("dry-run") });
    const isStored = request !== undefined && !args.flag("dry-run");
    // The store is opened first, so that a problem with it is reported at once. It is created when there is something to save.
    const there = isStored ? await openIfThere(context) : null;
    await output.progress("looking for the session …");
    const found = await findSession(context, named);
    try {
      for (const one of foundEvents(found)) await tell(one);
      if (args.flag("dry-run")) await foresee(found, context, tell);
      else await take(found, isStored ? (there ?? (await createStore(context))) : null, context, tell);
    } finally {
      await found.done();
    }
    return undefined;
  },
};

/** The session that the options name. */
type NamedSession =
  | { readonly agent: CodingAgent; readonly sessionId: string }
  | { readonly agent: "claude-code"; readonly transcript: string };

async function parseSession(context: Context): Promise<NamedSession> {
  const { args, io } = context;
  const [sessionId, transcript] = [args.text("session-id"), args.text("transcript")];
  const agent = agentGiven(context);
  const named = [sessionId !== undefined, transcript !== undefined, args.flag("latest")];
  if (named.filter(Boolean).length !== 1) {
    throw new UsageError(
      "name the session: --session-id ID, --transcript PATH of Claude Code, or --latest of this directory, one of them",
    );
  }
  if (args.flag("latest")) return findLatestSession(agent === undefined ? AGENTS : [agent], hostOf(context));
  if (transcript === undefined) return { agent: agentOfId(sessionId ?? "", agent), sessionId: sessionId ?? "" };
  if (agent === "opencode") throw new UsageError("--transcript is of Claude Code; name OpenCode's by --session-id");
  if (!(await isFile(transcript, io))) {
    throw new HoldfastError("NotFound", `no file ${transcript}`, { details: { file: transcript } });
  }
  return { agent: "claude-code", transcript: path.resolve(io.cwd, transcript) };
}

/** The caller calls done() of it. */
async function findSession(context: Context, named: NamedSession): Promise<LocalSession> {
  if ("sessionId" in named) return localAgentOf(context, named.agent).find(named.sessionId);
  const { env, cwd } = hostOf(context);
  const { transcript: transcriptPath } = named;
  const found = await findClaudeSession({ transcriptPath, configDir: configDirAbove(transcriptPath, env), cwd });
  return { ...found, done: async () => {} };
}

/** From a path <config directory>/projects/<key>/<session>.jsonl; for any other path the user's config directory. */
function configDirAbove(transcript: string, env: Context["io"]["env"]): string {
  const projects = path.dirname(path.dirname(transcript));
  return path.basename(projects) === "projects" ? path.dirname(projects) : configDirOf(env);
}

type Tell = (one: CaptureEvent) => Promise<void>;

function nulls(request: string | undefined, out: string | undefined): { request: string | null; out: string | null } {
  return { request: request ?? null, out: out ?? null };
}

function checkOptions(context: Context, request: string | undefined, out: string | undefined): void {
  const { args, output } = context;
  ttlGiven(context);
  if (request === undefined && out === undefined) {
    throw new UsageError("say what it is for with --request ID, or where to write it with --out FILE");
  }
  if (request === undefined && (args.text("ttl") !== undefined || args.flag("no-session"))) {
    throw new UsageError("--ttl and --no-session go with --request: a file is kept as long as you keep it");
  }
  if (out !== "-" || args.flag("dry-run")) return;
  if (output.json) throw new UsageError("--json needs --out FILE: the bundle itself is no JSON");
  if (output.interactive) throw new UsageError("a bundle does not belong on a terminal; use --out FILE or a pipe");
}

/** Without --json only a dry run prints every event; otherwise one line at the end is enough. */
function teller({ args, output }: Context): Tell {
  return async (one) => {
    if (output.json) await output.record(one);
    else if (args.flag("dry-run")) await output.lines(eventLines(one));
  };
}

async function foresee(found: LocalSession, { args, output }: Context, tell: Tell): Promise<void> {
  await output.progress("looking for secrets …");
  await tell({ event: "secrets", masked: args.flag("mask-secrets"), secrets: await findSecrets(found) });
  await tell({ event: "dry-run", written: false });
}

async function take(found: LocalSession, holdfast: Holdfast | null, context: Context, tell: Tell): Promise<void> {
  const { args } = context;
  const out = args.text("out");
  const told: string[] = [];
  if (holdfast === null) {
    const { bundle, secrets } = await bundleSession(found, args.flag("mask-secrets"));
    await tellSecrets(secrets, context, tell);
    told.push(await write(bundle, out ?? "-", context, tell));
  } else {
    for (const { path, why } of found.left) await context.output.note(safe`  left out: ${path}: ${why}`);
    const capture = await save(found, holdfast, context, tell);
    told.push(safe`captured ${found.sessionId} as ${capture.id}`, `  ${savedWords(capture)}`);
    if (!args.flag("no-session")) told.push(...(await converse(holdfast, capture, tell)));
    if (out !== undefined) {
      told.push(`  ${await write(await holdfast.captures.getBundle(capture.id), out, context, tell)}`);
    }
  }
  if (context.output.json) return;
  // A bundle on standard output is alone there.
  if (out === "-") for (const line of told) await context.output.note(line);
  else await context.output.lines(told.flatMap((line) => wrapWords(line, context.output.width)));
}

async function save(
  found: LocalSession,
  { captures, clock }: Holdfast,
  context: Context,
  tell: Tell,
): Promise<Capture> {
  const { args, output } = context;
  await output.progress(`saving ${plural(found.files.length, "file")} …`);
  const saver = new Saver({
    environment: realEnvironment(),
    captures,
    clock,
    request: args.text("request") ?? "",
    ...ttlGiven(context),
    mask: args.flag("mask-secrets"),
    always: true,
  });
  const saved = await saver.save(found);
  if (saved === null) throw new Error("bug: the first save of a session changed nothing");
  await tellSecrets(saved.secrets, context, tell);
  const { id, ...rest } = saved.capture;
  await tell({ event: "saved", capture: id, ...rest, gone: saved.gone });
  for (const path of saved.gone) await output.note(safe`  left out: ${path}: it was gone when it was to be read`);
  if (rest.diverged) {
    await output.note(
      `warning: another machine has saved this session meanwhile; this is kept beside it. \`holdfast captures prefer ${id}\` ` +
        "makes it the newest",
    );
  }
  return saved.capture;
}

async function converse(holdfast: Holdfast, capture: Capture, tell: Tell): Promise<readonly string[]> {
  try {
    const imported = await importCaptured(holdfast, capture);
    if (imported === null) return [];
    await tell({ event: "conversation", ...imported });
    return [safe`  ${plural(countImportedMessages(imported), "new message")} in session ${imported.session}`];
  } catch (error) {
    throw withoutConversation(capture, error);
  }
}

/** The error says that the capture was saved all the same. */
function withoutConversation({ id, session }: Capture, error: unknown): unknown {
  if (!isHoldfastError(error)) return error;
  // A mistake on the command line would mean that nothing was written.
  const code = exitOf(error.code) === EXIT.usage ? "Conflict" : error.code;
  return new HoldfastError(
    code,
    `the capture ${id} was saved, but its conversation could not be brought into session "${session}": ${error.message}`,
    {
      hint: `capture it again, or with --no-session; \`holdfast restore --capture ${quoted(id)}\` puts it back in any case`,
      details: { ...error.details, capture: id, session },
      cause: error,
    },
  );
}

async function tellSecrets(secrets: readonly FileFinding[], { args, output }: Context, tell: Tell): Promise<void> {
  const masked = args.flag("mask-secrets");
  await tell({ event: "secrets", masked, secrets });
  if (secrets.length === 0) return;
  await output.note(
    masked
      ? `${plural(secrets.length, "likely secret")} replaced`
      : `warning: ${plural(secrets.length, "likely secret")} in it; --mask-secrets replaces them`,
  );
  for (const line of secretWords(secrets)) await output.note(`  ${line}`);
}

/** Only its owner can read the file: it contains what the agent's tools printed. */
async function write(bundle: Uint8Array, file: string, { io, output }: Context, tell: Tell): Promise<string> {
  if (file === "-") await output.bytes(bundle);
  else {
    const out = await fileOut(file, io);
    try {
      await out.write(bundle);
    } catch (error) {
      await out.discard();
      throw error;
    }
    await out.finish();
  }
  await tell({ event: "bundle", file, size: bundle.byteLength });
  return safe`wrote ${formatBytes(bundle.byteLength)} to ${file === "-" ? "standard output" : file}`;
}
