// holdfast restore: restores a coding agent's session on this machine.
import { stat } from "node:fs/promises";
import { sourceOfCapture } from "../../coding/capture-source.ts";
import {
  type CaptureSelector,
  captureExpired,
  explainMissingCapture,
  findCapture,
  isExpired,
} from "../../coding/find-capture.ts";
import type { CodingAgent } from "../../contracts/captures.ts";
import type { CaptureSource, Restored } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { AGENT_NAMES } from "../../core/agent-sessions.ts";
import {
  AGENT_OPTION,
  agentGiven,
  CAPTURE_OPTIONS,
  hostOf,
  localAgentOf,
  OPENCODE_HELP,
  parseCaptureSelector,
  resumeCommand,
} from "../captures/agent.ts";
import { decodeSessionInput, readInputBytes } from "../captures/session-input.ts";
import type { Command, Context } from "../command.ts";
import { UsageError } from "../failure.ts";
import { safe } from "../terminal.ts";
import { formatBytes, plural } from "../units.ts";

export const restore: Command = {
  name: "restore",
  summary: "put a coding agent's session back on this machine",
  usage: [
    "restore --request ID | --session-id ID | --capture CAPTURE [--agent A] [--cwd DIR] [--rewrite-paths] [--overwrite] [--dry-run]",
    "restore --from FILE|-|base64:TEXT [--session-id ID] [--cwd DIR] [--rewrite-paths] [--overwrite] [--dry-run]",
  ],
  description:
    "Puts back what holdfast capture saved, for the directory in which the agent is to go on, and prints the command with which it " +
    "does. Every file is verified before the agent can see the first; what is written is all of the session, or nothing. A " +
    "session that went on here apart from it is refused, one that is here and newer stays. --from takes a bundle, or a " +
    "transcript of Claude Code alone, gzip or not (then --session-id names it), each also as base64; it needs no store. " +
    `With --dry-run what would be put where is told. ${OPENCODE_HELP}`,
  options: {
    ...CAPTURE_OPTIONS,
    from: {
      type: "text",
      value: "FILE",
      summary: "this file instead of the store; - is standard input, base64:… the text",
    },
    cwd: { type: "text", value: "DIR", summary: "where the agent is to go on (default: here)" },
    "rewrite-paths": {
      type: "flag",
      summary:
        "paths of its own files in the conversation lead to where they are now; it is then not what was captured",
    },
    overwrite: { type: "flag", summary: "replace what went on apart here; it is kept beside (Claude Code)" },
    "dry-run": { type: "flag", short: "n", summary: "tell what would be put where, write nothing" },
    agent: AGENT_OPTION,
  },
  operands: [],
  examples: [
    { command: "holdfast restore --request issue-7", does: "the newest of this request, here" },
    { command: "holdfast restore --request issue-7 --cwd /workspace", does: "to go on in that directory" },
    { command: "holdfast restore --from session.hfcap", does: "a bundle, without a store" },
    { command: 'holdfast restore --from "base64:$BLOB" --session-id "$ID"', does: "a transcript in gzip" },
  ],
  next: "Start the agent with the command that is printed.",
  run: async (context) => {
    const { args, output, io } = context;
    await needDirectory(hostOf(context).cwd);
    const { capture, source } = await openNamedSource(context);
    const { agent } = source;
    const [overwrite, dryRun] = [args.flag("overwrite"), args.flag("dry-run")];
    if (overwrite && agent === "opencode") {
      throw new UsageError(
        `OpenCode replaces no session; delete the one that is here first: opencode session delete ${source.sessionId}`,
      );
    }
    if (!dryRun) await output.progress(`putting back ${plural(source.files.length, "file")} …`);
    const rewritePaths = args.flag("rewrite-paths");
    const restored = await localAgentOf(context, agent).restore(source, { rewritePaths, overwrite, dryRun });
    const resume = resumeCommand(agent, restored.sessionId, restored.cwd, io.cwd);
    // Standard output has only the command, so that a shell can run it.
    await output.answer({ ...restored, capture, resume, ...(dryRun ? { dryRun } : {}) }, () =>
      dryRun ? describeForecast(restored, source) : [resume],
    );
    if (dryRun) await output.note(safe`dry run: nothing was written; \`${resume}\` would go on with it`);
    if (!dryRun || isHereAlready(restored)) await output.note(describeRestored(restored));
    for (const file of keptOf(restored)) {
      await output.note(safe`  ${dryRun ? "would keep what is here as" : "what was here is kept as"} ${file}`);
    }
    for (const { path, why } of restored.left) await output.note(safe`  left out: ${path}: ${why}`);
    return undefined;
  },
};

async function needDirectory(cwd: string): Promise<void> {
  const found = await stat(cwd).catch(() => null);
  if (found?.isDirectory()) return;
  throw new HoldfastError("NotFound", `no directory ${cwd}`, {
    hint: "make it: the agent goes on in it",
    details: { kind: "directory", id: cwd },
  });
}

/** Claude Code's files are written to their places; OpenCode imports them. */
function describeForecast(restored: Restored, { files }: CaptureSource): readonly string[] {
  if ("places" in restored && Array.isArray(restored.places)) {
    return restored.places.map((file) => safe`would write ${String(file)}`);
  }
  const left = new Set(restored.left.map(({ path }) => path));
  return files.filter(({ path }) => !left.has(path)).map(({ path }) => safe`would be imported: ${path}`);
}

function keptOf(restored: Restored): readonly string[] {
  return "kept" in restored && Array.isArray(restored.kept) ? restored.kept.map(String) : [];
}

interface NamedSource {
  /** null: the source is not from a store. */
  readonly capture: string | null;
  readonly source: CaptureSource;
}

async function openNamedSource(context: Context): Promise<NamedSource> {
  const { args } = context;
  const selector = parseCaptureSelector(context);
  const agent = agentGiven(context);
  const from = args.text("from");
  if (from !== undefined) return { capture: null, source: await openInput(context, from, selector, agent) };
  if (selector.request === undefined && selector.sessionId === undefined && selector.capture === undefined) {
    throw new UsageError("say what to put back: --request ID, --session-id ID, --capture CAPTURE or --from FILE");
  }
  const holdfast = await context.open();
  const capture = await findCapture(holdfast, selector, agent);
  if (capture === null) throw await explainMissingCapture(holdfast, selector, agent);
  if (isExpired(holdfast, capture)) throw captureExpired(holdfast, capture);
  checkAgent(capture.agent, agent);
  return { capture: capture.id, source: await sourceOfCapture(holdfast.captures, capture.id) };
}

async function openInput(
  context: Context,
  from: string,
  { request, capture, sessionId }: CaptureSelector,
  agent: CodingAgent | undefined,
): Promise<CaptureSource> {
  if (request !== undefined || capture !== undefined)
    throw new UsageError("--from goes without --request and --capture");
  const bytes = await readInputBytes(from, context.io);
  const source = await decodeSessionInput(bytes, sessionId, hostOf(context).cwd);
  checkAgent(source.agent, agent);
  return source;
}

function checkAgent(agent: CodingAgent, given: CodingAgent | undefined): void {
  if (given !== undefined && given !== agent)
    throw new UsageError(`it is a session of ${AGENT_NAMES[agent]}, not --agent ${given}`);
}

function isHereAlready(restored: Restored): boolean {
  return "outcome" in restored && restored.outcome !== "restored";
}

function describeRestored(restored: Restored): string {
  const { agent, sessionId, files, bytes, messages, cwd } = restored;
  const outcome = "outcome" in restored ? restored.outcome : "restored";
  if (outcome === "newer") {
    return safe`the session ${sessionId} of ${AGENT_NAMES[agent]} is here already, and newer: it stays (${plural(messages, "message")})`;
  }
  const what = outcome === "unchanged" ? "is here already, just like that" : "restored";
  const sizes = `${plural(files, "file")}, ${formatBytes(bytes)}, ${plural(messages, "message")}`;
  return safe`${AGENT_NAMES[agent]} ${sessionId} ${what}: ${sizes}, in ${cwd}`;
}
