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
import type { Command, Context } from "../command-line.ts";
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
    "Saves all files of a Claude Code or OpenCode session under a request's id, so that holdfast restore can restore it on " +
    "another machine, byte for byte; it never saves credentials. Saving again stores only the additions. The conversation " +
    "also becomes a session of the store, which outlives the capture. If there is no store, capture creates one. Likely secrets are " +
    "reported, never shown. --out writes one file; without --request that needs no store. --json prints one event per " +
    `line. --dry-run prints the same events and writes nothing. ${OPENCODE_HELP}`,
  options: {
    agent: AGENT_OPTION,
    "session-id": SESSION_ID_OPTION,
    latest: { type: "flag", summary: "the session of this directory (--cwd) that changed last" },
    transcript: { type: "text", value: "PATH", summary: "Claude Code's transcript file, whose path its hooks receive" },
    request: { type: "text", value: "ID", summary: "your id of the work that the session is for" },
    cwd: CWD_OPTION,
    ttl: TTL_OPTION,
    "mask-secrets": {
      type: "flag",
      summary: "replace likely secrets; a restored session then differs from the original",
    },
    out: { type: "text", short: "o", value: "FILE", summary: "write a bundle to this file; - is standard output" },
    force: FORCE_OPTION,
    "dry-run": { type: "flag", short: "n", summary: "print what would be saved, write nothing" },
    "no-session": { type: "flag", summary: "do not import the conversation into the store" },
  },
  globalOptionHelp: { json: "print one event per line; errors are JSON on stderr" },
  operands: [],
  examples: [
    { command: "holdfast capture --latest --request issue-7", does: "save this directory's latest session for 7 days" },
    {
      command: 'holdfast capture --session-id "$ID" --request issue-7 --ttl never',
      does: "save by the id that the agent printed",
    },
    {
      command: 'holdfast capture --transcript "$TRANSCRIPT" --out session.hfcap',
      does: "write a file, without a store",
    },
  ],
  next: "holdfast restore --request ID restores the session; holdfast captures lists the captures.",
  run: async (context) => {
    const { args, output } = context;
    const [request, out] = [args.text("request"), args.text("out")];
    checkOptions(context, request, out);
    const named = await parseSession(context);
    await refuseOverwrite(context);
    const tell = teller(context);
    await tell({ event: "start", agent: named.agent, ...nulls(request, out), dryRun: args.flag("dry-run") });
    const isStored = request !== undefined && !args.flag("dry-run");
    // The store is opened first, so that a problem with it is reported at once. It is created when there is something
    // to save.
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
      "name the session with exactly one of --session-id ID, --transcript PATH (Claude Code) and --latest",
    );
  }
  if (args.flag("latest")) return findLatestSession(agent === undefined ? AGENTS : [agent], hostOf(context));
  if (transcript === undefined) return { agent: agentOfId(sessionId ?? "", agent), sessionId: sessionId ?? "" };
  if (agent === "opencode")
    throw new UsageError("--transcript works only with Claude Code; name an OpenCode session with --session-id");
  if (!(await isFile(transcript, io))) {
    throw new HoldfastError("NotFound", `no file ${transcript}`, { details: { file: transcript } });
  }
  return { agent: "claude-code", transcript: path.resolve(io.cwd, transcript) };
}

/** The caller must call done() on the result. */
async function findSession(context: Context, named: NamedSession): Promise<LocalSession> {
  if ("sessionId" in named) return localAgentOf(context, named.agent).find(named.sessionId);
  const { env, cwd } = hostOf(context);
  const { transcript: transcriptPath } = named;
  const found = await findClaudeSession({ transcriptPath, configDir: configDirAbove(transcriptPath, env), cwd });
  return { ...found, done: async () => {} };
}

/** The config directory of a path <config directory>/projects/<key>/<session>.jsonl; for any other path the user's. */
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
    throw new UsageError("give --request ID to save to the store, or --out FILE to write a file");
  }
  if (request === undefined && (args.text("ttl") !== undefined || args.flag("no-session"))) {
    throw new UsageError("--ttl and --no-session need --request: only captures in a store expire or are imported");
  }
  if (out !== "-" || args.flag("dry-run")) return;
  if (output.json) throw new UsageError("--json needs --out FILE: a bundle is not JSON");
  if (output.interactive) throw new UsageError("a bundle cannot be printed on a terminal; use --out FILE or a pipe");
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
  // If the bundle goes to standard output, nothing else may.
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
  for (const path of saved.gone) await output.note(safe`  left out: ${path}: the file was deleted before it was read`);
  if (rest.diverged) {
    await output.note(
      `warning: another machine has saved this session meanwhile; this capture is kept beside it. \`holdfast captures prefer ${id}\` ` +
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

/** Wraps the error to say that the capture itself was saved. */
function withoutConversation({ id, session }: Capture, error: unknown): unknown {
  if (!isHoldfastError(error)) return error;
  // A usage error would mean that nothing was written, so its code is replaced.
  const code = exitOf(error.code) === EXIT.usage ? "Conflict" : error.code;
  return new HoldfastError(
    code,
    `the capture ${id} was saved, but its conversation could not be imported into session "${session}": ${error.message}`,
    {
      hint: `capture it again, or with --no-session; \`holdfast restore --capture ${quoted(id)}\` restores the session in any case`,
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
      : `warning: found ${plural(secrets.length, "likely secret")}; --mask-secrets replaces them`,
  );
  for (const line of secretWords(secrets)) await output.note(`  ${line}`);
}

/** Writes a file that only its owner can read, because it contains the output of the agent's tools. */
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
