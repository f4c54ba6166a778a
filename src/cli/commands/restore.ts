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
import type { Command, Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { safe } from "../terminal.ts";
import { formatBytes, plural } from "../units.ts";

export const restore: Command = {
  name: "restore",
  summary: "restore a coding agent's session on this machine",
  usage: [
    "restore --request ID | --session-id ID | --capture CAPTURE [--agent A] [--cwd DIR] [--rewrite-paths] [--overwrite] [--dry-run]",
    "restore --from FILE|-|base64:TEXT [--session-id ID] [--cwd DIR] [--rewrite-paths] [--overwrite] [--dry-run]",
  ],
  description:
    "Restores a session that holdfast capture saved, for the directory in which the agent will continue, and prints the command that " +
    "continues it. It verifies every file before it writes the first, and writes the whole session or nothing. It refuses to replace a " +
    "session that continued here separately, and keeps a local session that is newer. --from takes a bundle, or a " +
    "single transcript of Claude Code, gzipped or not (then --session-id names it), each also as base64; it needs no store. " +
    `--dry-run prints which files it would write. ${OPENCODE_HELP}`,
  options: {
    ...CAPTURE_OPTIONS,
    from: {
      type: "text",
      value: "FILE",
      summary: "restore from this file instead of the store; - is standard input, base64:… the content itself",
    },
    cwd: { type: "text", value: "DIR", summary: "the directory in which the agent continues (default: this one)" },
    "rewrite-paths": {
      type: "flag",
      summary: "rewrite the paths of the session's files in the conversation; it then differs from the capture",
    },
    overwrite: {
      type: "flag",
      summary: "replace a session that continued here separately, and keep a copy of it (Claude Code)",
    },
    "dry-run": { type: "flag", short: "n", summary: "print which files would be written, write nothing" },
    agent: AGENT_OPTION,
  },
  operands: [],
  examples: [
    { command: "holdfast restore --request issue-7", does: "restore the newest session of this request here" },
    { command: "holdfast restore --request issue-7 --cwd /workspace", does: "continue in that directory" },
    { command: "holdfast restore --from session.hfcap", does: "restore a bundle, without a store" },
    { command: 'holdfast restore --from "base64:$BLOB" --session-id "$ID"', does: "restore a gzipped transcript" },
  ],
  next: "Start the agent with the printed command.",
  run: async (context) => {
    const { args, output, io } = context;
    await needDirectory(hostOf(context).cwd);
    const { capture, source } = await openNamedSource(context);
    const { agent } = source;
    const [overwrite, dryRun] = [args.flag("overwrite"), args.flag("dry-run")];
    if (overwrite && agent === "opencode") {
      throw new UsageError(
        `OpenCode cannot replace a session; delete the local one first: opencode session delete ${source.sessionId}`,
      );
    }
    if (!dryRun) await output.progress(`restoring ${plural(source.files.length, "file")} …`);
    const rewritePaths = args.flag("rewrite-paths");
    const restored = await localAgentOf(context, agent).restore(source, { rewritePaths, overwrite, dryRun });
    const resume = resumeCommand(agent, restored.sessionId, restored.cwd, io.cwd);
    // Standard output has only the command, so that a shell can run it.
    await output.answer({ ...restored, capture, resume, ...(dryRun ? { dryRun } : {}) }, () =>
      dryRun ? describeForecast(restored, source) : [resume],
    );
    if (dryRun) await output.note(safe`dry run: nothing was written; \`${resume}\` would continue the session`);
    if (!dryRun || isHereAlready(restored)) await output.note(describeRestored(restored));
    for (const file of keptOf(restored)) {
      await output.note(safe`  ${dryRun ? "would keep the present file as" : "the previous file is kept as"} ${file}`);
    }
    for (const { path, why } of restored.left) await output.note(safe`  left out: ${path}: ${why}`);
    return undefined;
  },
};

async function needDirectory(cwd: string): Promise<void> {
  const found = await stat(cwd).catch(() => null);
  if (found?.isDirectory()) return;
  throw new HoldfastError("NotFound", `no directory ${cwd}`, {
    hint: "create it: the agent will continue in it",
    details: { kind: "directory", id: cwd },
  });
}

/** Lists the files that would be written for Claude Code, or imported by OpenCode. */
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
    throw new UsageError("name what to restore: --request ID, --session-id ID, --capture CAPTURE or --from FILE");
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
    throw new UsageError("--from cannot be combined with --request or --capture");
  const bytes = await readInputBytes(from, context.io);
  const source = await decodeSessionInput(bytes, sessionId, hostOf(context).cwd);
  checkAgent(source.agent, agent);
  return source;
}

function checkAgent(agent: CodingAgent, given: CodingAgent | undefined): void {
  if (given !== undefined && given !== agent)
    throw new UsageError(`the session belongs to ${AGENT_NAMES[agent]}, not to --agent ${given}`);
}

function isHereAlready(restored: Restored): boolean {
  return "outcome" in restored && restored.outcome !== "restored";
}

function describeRestored(restored: Restored): string {
  const { agent, sessionId, files, bytes, messages, cwd } = restored;
  const outcome = "outcome" in restored ? restored.outcome : "restored";
  if (outcome === "newer") {
    return safe`the session ${sessionId} of ${AGENT_NAMES[agent]} exists here and is newer: it stays (${plural(messages, "message")})`;
  }
  const what = outcome === "unchanged" ? "exists here unchanged" : "restored";
  const sizes = `${plural(files, "file")}, ${formatBytes(bytes)}, ${plural(messages, "message")}`;
  return safe`${AGENT_NAMES[agent]} ${sessionId} ${what}: ${sizes}, in ${cwd}`;
}
