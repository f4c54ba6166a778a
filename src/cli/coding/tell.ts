// What `holdfast run` did, in one line on stderr: standard output is the agent's. It always says whether anything was kept.
import type { FileFinding } from "../../coding/saver.ts";
import type { Capture, CodingAgent } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { AGENT_NAMES } from "../captures/agent.ts";
import type { Context } from "../command.ts";
import { quoted, safe, safeJson } from "../terminal.ts";
import { formatBytes, formatCount, plural } from "../units.ts";
import type { Follower, ProblemKind } from "./follow.ts";
import type { WrittenBundle } from "./out.ts";
import type { Start } from "./start.ts";

export interface Told {
  readonly agent: CodingAgent;
  readonly request: string;
  readonly start: Start;
  readonly follower: Follower;
  readonly bundle: WrittenBundle | null;
  /** The store was made now. */
  readonly isNew: boolean;
  /** The agent's command line chose the session itself. */
  readonly chose: boolean;
  /** The agent did not end when it was asked to; how long it had, in words. */
  readonly killedAfter: string | null;
  /** Sessions that earlier runs left here and that could not be saved, which was said before the agent started. */
  readonly unsaved: readonly string[];
}

export async function tell(context: Context, told: Told): Promise<void> {
  const { output, io } = context;
  const { start, follower, bundle } = told;
  if (output.json) {
    const { sessionId, saved, secrets, problems, isSaved } = follower;
    const why = start.how === "resumed" ? null : start.why;
    const restored = start.how === "resumed" ? start.restored : null;
    const missing = [...problems].map(([kind, problem]) => ({ missing: kind, message: wordsOf(problem) }));
    const error = missing[0]?.message ?? null;
    const done = { start: start.how, why, restored, sessionId, saved, isSaved, bundle, secrets: secrets.length };
    const secretKinds = kindsOf(secrets);
    const other = start.how === "resumed" ? null : start.apart;
    const apart = other === null ? null : { sessionId: other.sessionId, capture: other.capture?.id ?? null };
    const added = { createdStore: told.isNew, apart, unsaved: told.unsaved, secretKinds };
    await output.error(safeJson({ ...done, ...added, error, missing }));
    return;
  }
  const { killedAfter } = told;
  const killed = killedAfter === null ? [] : [`the agent did not end within ${killedAfter} and was killed`];
  const parts = [
    began(told),
    ...killed,
    ...kept(context, told),
    ...secretsIn(context, told),
    ...missing(context, told),
  ];
  const line = parts.join("; ");
  // The agent's last line may have no end.
  await output.note(`${io.stderr.isTTY === true ? "\n" : ""}holdfast: ${line}`);
  for (const step of stepsAfter(context, told)) await output.note(`holdfast: ${step}`);
}

/** What shows the conversation that could not be resumed, or goes on with either line of it. Each ends with its command. */
export function stepsAfter({ output }: Context, { start, request, agent }: ApartStart): readonly string[] {
  if (start.how === "resumed") return [];
  const options = `--request ${quoted(request)}${output.storeOptions}`;
  const { apart } = start;
  if (apart === null) {
    if (start.how === "new" || start.from === agent) return [];
    const command = `holdfast handover --request ${quoted(request)} --agent ${start.from}`;
    return [`to read the conversation of ${AGENT_NAMES[start.from]}: \`${command}\``];
  }
  const { sessionId, isHere, capture } = apart;
  const line = (more: string, resume: string) => `\`holdfast run ${options}${more} -- ${resume} ${sessionId}\``;
  const saved = capture === null ? "" : `, which is saved as ${capture.id}`;
  if (agent === "opencode") {
    return [
      `to go on with what is here${saved}: ${line("", "opencode --session")}`,
      `to go on with the stored session, use the same line after \`opencode session delete ${sessionId}\``,
    ];
  }
  const stored = line(" --overwrite", "claude --resume");
  if (!isHere) return [`to restore the stored session here all the same: ${stored}`];
  return [
    `to go on with what is here${saved}: ${line("", "claude --resume")}`,
    `to go on with the stored session: ${stored}`,
  ];
}

export interface ApartStart {
  readonly start: Start;
  readonly request: string;
  readonly agent: CodingAgent;
}

function began({ start, follower, chose }: Told): string {
  const session = follower.sessionId === null ? "no session" : `session ${follower.sessionId}`;
  if (start.how === "resumed" && (chose || follower.sessionId === start.restored.sessionId)) {
    return `resumed ${start.restored.sessionId} (${plural(start.restored.messages, "message")})`;
  }
  if (start.how === "resumed") return `resumed ${start.restored.sessionId}, went on as ${session}`;
  if (start.how === "told") return `could not resume (${start.why}), told the stored conversation instead; ${session}`;
  if (start.why === null) return session;
  return chose
    ? `${session}, which was not put back (${start.why})`
    : `could not resume (${start.why}), began anew; ${session}`;
}

function kept(context: Context, { follower, bundle }: Told): readonly string[] {
  const { saved } = follower;
  const last = saved.at(-1);
  const written = bundle === null ? [] : [`wrote ${bundle.file} (${formatBytes(bundle.bytes)})`];
  const before = bundle?.kept ? [`what was there is ${bundle.kept}`] : [];
  if (last === undefined && written.length === 0) return [nothing(context, follower)];
  const others = saved.length > 1 ? [`and ${plural(saved.length - 1, "session")} it worked in before`] : [];
  return [...(last === undefined ? [] : [[savedAs(last), ...others].join(", ")]), ...written, ...before];
}

function savedAs({ fileCount, size, generation, id, diverged }: Capture): string {
  const as = `saved ${plural(fileCount, "file")}, ${formatBytes(size)}, as generation ${generation} of ${id}`;
  if (!diverged) return as;
  return `${as} beside the newest, which has what this has not; \`holdfast captures prefer ${id}\` chooses this one`;
}

function nothing({ args }: Context, { problems, sessionId, isStored, isSaved }: Follower): string {
  if (isSaved) return "nothing to save: the agent added nothing";
  if (problems.size > 0) return "nothing was saved";
  if (!isStored && args.text("out") === undefined) return "nothing was saved: give --store URL or --out FILE";
  return sessionId === null
    ? "nothing was saved: the agent left no session here"
    : "nothing was saved: the agent left no message in it";
}

function secretsIn({ args }: Context, { follower: { secrets } }: Told): readonly string[] {
  if (secrets.length === 0) return [];
  const kinds = kindsOf(secrets).map(({ kind, count }) => `${formatCount(count)} ${kind}`);
  const [first = "", ...others] = new Set(secrets.map((one) => one.path));
  const more = others.length === 0 ? "" : ` and ${plural(others.length, "other file")}`;
  const which = safe`(${kinds.join(", ")} in ${first}${more})`;
  const found = plural(secrets.length, "likely secret");
  if (args.flag("mask-secrets")) return [`${found} replaced ${which}`];
  return [`${found} in it ${which}`, "--mask-secrets replaces them in what is saved"];
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

/** What is not there that should be, why, and what to do. */
function missing(context: Context, told: Told): readonly string[] {
  const { follower } = told;
  const hasEarlier = follower.saved.length > 0;
  const said: Readonly<Record<ProblemKind, string>> = {
    save: hasEarlier ? "what the agent did after that is not saved" : "the session is not saved",
    sessions: "it is not known which session the agent worked in",
    conversation: "the conversation is not in the store yet, it follows with the next save",
    bundle: `${context.args.text("out")} was not written`,
  };
  const problems = [...follower.problems].map(([kind, problem]) => `${said[kind]}: ${wordsOf(problem)}`);
  return [...problems, ...remedy(told)];
}

function remedy({ request, follower: { problems, sessionId, isStored } }: Told): readonly string[] {
  const problem = problems.get("save");
  const isErased = problem instanceof HoldfastError && problem.code === "SessionDeleted";
  if (problem === undefined || isErased || !isStored || sessionId === null) return [];
  const line = `holdfast capture --session-id ${sessionId} --request ${quoted(request)}`;
  return [`its files are still here: save them with \`${line}\` when the store answers`];
}

function wordsOf(problem: unknown): string {
  return problem instanceof HoldfastError ? problem.message : String(problem);
}
