// Prints what `holdfast run` reports on stderr: before the agent starts, unsaved work of earlier runs; at the end, one
// line that says what was resumed and saved. Standard output belongs to the agent.
import type { FileFinding } from "../../coding/saver.ts";
import type { ProblemKind, SessionRecorder } from "../../coding/supervisor/recorder.ts";
import { messageOf, type SessionStart, type UnsavedOptions } from "../../coding/supervisor/session-start.ts";
import type { Capture, CodingAgent } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { AGENT_NAMES } from "../../core/agent-sessions.ts";
import type { WrittenBundle } from "../captures/session-bundle.ts";
import type { Context } from "../command-line.ts";
import { quoted, safe, safeJson } from "../terminal.ts";
import { formatBytes, formatCount, plural } from "../units.ts";

export interface RunSummary {
  readonly agent: CodingAgent;
  readonly request: string;
  readonly start: SessionStart;
  readonly recorder: SessionRecorder;
  readonly bundle: WrittenBundle | null;
  /** This run created the store. */
  readonly isNew: boolean;
  /** The agent's command line named the session. */
  readonly chose: boolean;
  /** How long the agent had to end before it was killed, in words; null: it was not killed. */
  readonly killedAfter: string | null;
  /** Sessions of earlier runs that could not be saved; a message named them before the agent started. */
  readonly unsaved: readonly string[];
}

export async function printSummary(context: Context, summary: RunSummary): Promise<void> {
  const { output, io } = context;
  const { start, recorder, bundle } = summary;
  if (output.json) {
    const { sessionId, saved, secrets, problems, isSaved } = recorder;
    const why = start.how === "resumed" ? null : start.why;
    const restored = start.how === "resumed" ? start.restored : null;
    const missing = [...problems].map(([kind, problem]) => ({ missing: kind, message: messageOf(problem) }));
    const error = missing[0]?.message ?? null;
    const done = { start: start.how, why, restored, sessionId, saved, isSaved, bundle, secrets: secrets.length };
    const secretKinds = kindsOf(secrets);
    const other = start.how === "resumed" ? null : start.diverged;
    const apart = other === null ? null : { sessionId: other.sessionId, capture: other.capture?.id ?? null };
    const added = { createdStore: summary.isNew, apart, unsaved: summary.unsaved, secretKinds };
    await output.error(safeJson({ ...done, ...added, error, missing }));
    return;
  }
  const { killedAfter } = summary;
  const killed = killedAfter === null ? [] : [`the agent did not end within ${killedAfter} and was killed`];
  const parts = [
    describeStart(summary),
    ...killed,
    ...kept(context, summary),
    ...secretsIn(context, summary),
    ...missing(context, summary),
  ];
  const line = parts.join("; ");
  // The last line that the agent printed may have no line end.
  await output.note(`${io.stderr.isTTY === true ? "\n" : ""}holdfast: ${line}`);
  for (const step of stepsAfter(context, summary)) await output.note(`holdfast: ${step}`);
}

/** The next steps after a session that could not be resumed. Each line ends with a command. */
export function stepsAfter({ output }: Context, { start, request, agent }: StartContext): readonly string[] {
  if (start.how === "resumed") return [];
  const options = `--request ${quoted(request)}${output.storeOptions}`;
  const { diverged } = start;
  if (diverged === null) {
    if (start.how === "new" || start.from === agent) return [];
    const command = `holdfast handover --request ${quoted(request)} --agent ${start.from}`;
    return [`to read the conversation of ${AGENT_NAMES[start.from]}: \`${command}\``];
  }
  const { sessionId, isHere, capture } = diverged;
  const line = (more: string, resume: string) => `\`holdfast run ${options}${more} -- ${resume} ${sessionId}\``;
  const saved = capture === null ? "" : `, which is saved as ${capture.id}`;
  if (agent === "opencode") {
    return [
      `to continue the session on this machine${saved}: ${line("", "opencode --session")}`,
      `to continue the stored session, use the same line after \`opencode session delete ${sessionId}\``,
    ];
  }
  const stored = line(" --overwrite", "claude --resume");
  if (!isHere) return [`to restore the stored session here anyway: ${stored}`];
  return [
    `to continue the session of this machine${saved}: ${line("", "claude --resume")}`,
    `to continue the stored session: ${stored}`,
  ];
}

export interface StartContext {
  readonly start: SessionStart;
  readonly request: string;
  readonly agent: CodingAgent;
}

function describeStart({ start, recorder, chose }: RunSummary): string {
  const session = recorder.sessionId === null ? "no session" : `session ${recorder.sessionId}`;
  if (start.how === "resumed" && (chose || recorder.sessionId === start.restored.sessionId)) {
    return `resumed ${start.restored.sessionId} (${plural(start.restored.messages, "message")})`;
  }
  if (start.how === "resumed") return `resumed ${start.restored.sessionId}, continued as ${session}`;
  if (start.how === "told")
    return `could not resume (${start.why}), gave the agent the stored conversation instead; ${session}`;
  if (start.why === null) return session;
  return chose
    ? `${session}, which was not restored (${start.why})`
    : `could not resume (${start.why}), started a new session; ${session}`;
}

function kept(context: Context, { recorder, bundle }: RunSummary): readonly string[] {
  const { saved } = recorder;
  const last = saved.at(-1);
  const written = bundle === null ? [] : [`wrote ${bundle.file} (${formatBytes(bundle.bytes)})`];
  const before = bundle?.kept ? [`the file that was there is now ${bundle.kept}`] : [];
  if (last === undefined && written.length === 0) return [nothing(context, recorder)];
  const others = saved.length > 1 ? [`and ${plural(saved.length - 1, "session")} it worked in before`] : [];
  return [...(last === undefined ? [] : [[savedAs(last), ...others].join(", ")]), ...written, ...before];
}

function savedAs({ fileCount, size, generation, id, diverged }: Capture): string {
  const as = `saved ${plural(fileCount, "file")}, ${formatBytes(size)}, as generation ${generation} of ${id}`;
  if (!diverged) return as;
  return `${as} beside the newest, which has other changes; \`holdfast captures prefer ${id}\` makes this one the newest`;
}

function nothing({ args }: Context, { problems, sessionId, isStored, isSaved }: SessionRecorder): string {
  if (isSaved) return "nothing to save: the agent added nothing";
  if (problems.size > 0) return "nothing was saved";
  if (!isStored && args.text("out") === undefined) return "nothing was saved: give --store URL or --out FILE";
  return sessionId === null
    ? "nothing was saved: the agent left no session here"
    : "nothing was saved: the agent's session has no message";
}

function secretsIn({ args }: Context, { recorder: { secrets } }: RunSummary): readonly string[] {
  if (secrets.length === 0) return [];
  const kinds = kindsOf(secrets).map(({ kind, count }) => `${formatCount(count)} ${kind}`);
  const [first = "", ...others] = new Set(secrets.map((one) => one.path));
  const more = others.length === 0 ? "" : ` and ${plural(others.length, "other file")}`;
  const which = safe`(${kinds.join(", ")} in ${first}${more})`;
  const found = plural(secrets.length, "likely secret");
  if (args.flag("mask-secrets")) return [`replaced ${found} ${which}`];
  return [`found ${found} ${which}`, "--mask-secrets replaces them in the saved copy"];
}

interface SecretCount {
  readonly kind: string;
  readonly count: number;
  readonly files: readonly string[];
}

function kindsOf(secrets: readonly FileFinding[]): readonly SecretCount[] {
  const kinds = [...Map.groupBy(secrets, ({ kind }) => kind)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return kinds.map(([kind, found]) => {
    return { kind, count: found.length, files: [...new Set(found.map((one) => one.path))] };
  });
}

/** Says what was not saved, why, and what to do. */
function missing(context: Context, summary: RunSummary): readonly string[] {
  const { recorder } = summary;
  const hasEarlier = recorder.saved.length > 0;
  const missingText: Readonly<Record<ProblemKind, string>> = {
    save: hasEarlier ? "the agent's work after that is not saved" : "the session is not saved",
    sessions: "the agent's session is unknown",
    conversation: "the conversation is not in the store yet; the next save adds it",
    bundle: `${context.args.text("out")} was not written`,
  };
  const problems = [...recorder.problems].map(([kind, problem]) => `${missingText[kind]}: ${messageOf(problem)}`);
  return [...problems, ...remedy(summary)];
}

function remedy({ request, recorder: { problems, sessionId, isStored } }: RunSummary): readonly string[] {
  const problem = problems.get("save");
  const isErased = problem instanceof HoldfastError && problem.code === "SessionDeleted";
  if (problem === undefined || isErased || !isStored || sessionId === null) return [];
  const line = `holdfast capture --session-id ${sessionId} --request ${quoted(request)}`;
  return [`the session's files are still on this machine: save them with \`${line}\` when the store answers`];
}

export interface UnsavedMessages extends Pick<UnsavedOptions, "onUnsaved" | "onAmbiguous"> {
  /** All sessions that a message named. */
  readonly sessions: ReadonlySet<string>;
}

/** A message names each session once. */
export function unsavedMessages({ output }: Context, request: string): UnsavedMessages {
  const sessions = new Set<string>();
  const line = (sessionId: string) =>
    `\`holdfast capture --session-id ${sessionId} --request ${quoted(request)}${output.storeOptions}\``;
  return {
    sessions,
    onUnsaved: (sessionId, error) => {
      if (sessions.has(sessionId)) return;
      sessions.add(sessionId);
      const why = messageOf(error);
      void output.note(
        `holdfast: the work of an earlier run in session ${sessionId} could not be saved (${why}); the next run tries ` +
          `again, or save it with ${line(sessionId)}`,
      );
    },
    onAmbiguous: (candidates) => {
      for (const one of candidates) sessions.add(one);
      void output.note(
        `holdfast: an earlier run was killed before its session was saved, and any of ${candidates.join(", ")} may be that ` +
          `session; save the right one with ${line("ID")}`,
      );
    },
  };
}
