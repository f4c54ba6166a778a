// Finds the runs that a user names, and describes in a few words what a run does or waits for.
import { HoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Run } from "../contracts/run-record.ts";
import type { Step } from "../contracts/steps.ts";
import { UsageError } from "./failure.ts";
import type { Style } from "./terminal.ts";
import { quoted } from "./terminal.ts";
import { formatCount, formatSpan, formatTime, plural } from "./units.ts";

export const RUN_HELP = "RUN is a run's id, or the beginning of the id if no other id begins with it.";

/** Finds a run by its id or by the beginning of it. An exact id wins. */
export async function needRun(holdfast: Holdfast, text: string): Promise<Run> {
  const beginning = text.replace(/…$/, "");
  const known = (await holdfast.runs.get(text)) ?? (beginning === text ? null : await holdfast.runs.get(beginning));
  if (known !== null) return known;
  const found = await findRunsByPrefix(holdfast, beginning);
  const [run, ...others] = found;
  if (run === undefined) {
    throw new HoldfastError("NotFound", `no run "${text}"`, {
      hint: "`holdfast runs` lists all runs",
      details: { kind: "run", id: text },
    });
  }
  if (others.length === 0) return run;
  throw new HoldfastError("InvalidArgument", `${plural(found.length, "run")} begin with "${beginning}"`, {
    hint: `give more characters: ${found
      .slice(0, 5)
      .map(({ id }) => id.slice(0, beginning.length + 6))
      .join(", ")}`,
    details: { kind: "run", runs: found.slice(0, 100).map(({ id }) => id) },
  });
}

/** Reads all runs, because ids have no index by their beginning. */
async function findRunsByPrefix(holdfast: Holdfast, beginning: string): Promise<readonly Run[]> {
  if (beginning === "") return [];
  const found: Run[] = [];
  for (let cursor: string | undefined; ; ) {
    const position = cursor === undefined ? {} : { cursor };
    const page = await holdfast.runs.list({ limit: LIMITS.page, ...position });
    found.push(...page.items.filter(({ id }) => id.startsWith(beginning)));
    if (page.next === null) return found;
    cursor = page.next;
  }
}

const DECISION = /^.+#[1-9]\d{0,15}$/s;

/** The id of a decision: the text itself, or the one open question of the run that the text names. */
export async function needDecision(holdfast: Holdfast, text: string): Promise<string> {
  if (DECISION.test(text) && (await holdfast.runs.get(text)) === null) return text;
  const { id } = await needRun(holdfast, text);
  const [decision, ...others] = (await holdfast.runs.pending({ run: id })).items;
  if (decision === undefined) {
    throw new HoldfastError("NotFound", `run "${id}" has no open question`, {
      hint: "`holdfast runs pending` lists the open questions",
      details: { kind: "decision", run: id },
    });
  }
  if (others.length === 0) return decision.id;
  const all = [decision, ...others].map((one) => one.id);
  throw new UsageError(`run "${id}" has ${all.length} open questions: name one of ${all.map(quoted).join(", ")}`);
}

/** Ids that the store generated. The beginning of such an id is enough to name the run. */
const GENERATED_ID = /^run_(?:[0-9a-z]{20}|[0-9a-f]{32})$/;
const SHORTEST_NAME = "run_qddb5fz3".length;

/**
 * Shortens generated ids to the shortest distinct beginnings, which commands accept. Ids that a caller chose stay
 * whole.
 */
export function shortNames(ids: readonly string[]): (id: string) => string {
  const all = [...new Set(ids)].filter((id) => GENERATED_ID.test(id));
  let length = SHORTEST_NAME;
  while (new Set(all.map((id) => id.slice(0, length))).size < all.length) length++;
  return (id) => (GENERATED_ID.test(id) ? id.slice(0, length) : id);
}

/** A run with the iteration that it is in, or ended in. */
export interface RunWithIteration extends Run {
  readonly currentIteration: number;
}

/**
 * Finds the iteration of a run. The last iteration ends with the run and is never complete; a stopped run may have been
 * between two.
 */
export async function withCurrentIteration(holdfast: Holdfast, run: Run): Promise<RunWithIteration> {
  const { id, iteration, stopReason } = run;
  const mayBeBetween = stopReason !== null && stopReason !== "done" && stopReason !== "failed";
  const isIn = !mayBeBetween || (await holdfast.runs.steps(id, { iteration: iteration + 1 })).length > 0;
  return { ...run, currentIteration: isIn ? iteration + 1 : iteration };
}

/** For example "ended in iteration 3; the 2 before it are complete". */
export function describeIteration({ currentIteration: at, iteration, endedAt }: RunWithIteration): string {
  if (at === 0) return "ended before its first";
  if (at === iteration) return `ended after iteration ${formatCount(at)}, which is complete`;
  const where = `${endedAt === null ? "" : "ended "}in iteration ${formatCount(at)}`;
  if (iteration === 0) return `${where}, its first`;
  return `${where}; the ${iteration === 1 ? "one before it is" : `${formatCount(iteration)} before it are`} complete`;
}

export interface ReasonOptions {
  readonly nameOf?: (id: string) => string;
  /** If given, times are short and relative to this one. */
  readonly now?: number;
}

/** Says what a run waits for, until when, or why it ended. */
export function describeReason(run: Run, { nameOf = (id: string) => id, now }: ReasonOptions = {}): string {
  if (run.held && run.endedAt === null) return "held: it was imported; runs unpause lets it continue here";
  if (run.cancelRequested && run.endedAt === null) return "will be cancelled";
  if (run.status === "paused" && run.pausedUntil !== null) {
    return now === undefined ? `until ${formatTime(run.pausedUntil)}` : `for ${formatSpan(run.pausedUntil - now)} more`;
  }
  if (run.status === "waiting") {
    const waits = run.waitsFor.map((wait) => {
      if (wait.kind === "decision") return `a person: ${wait.decision}`;
      return wait.kind === "signal" ? `signal ${wait.name}` : `run ${nameOf(wait.run)}`;
    });
    return waits.join(", ");
  }
  if (run.status === "failed" && run.stopReason !== null && run.stopReason !== "failed") return run.stopReason;
  if (run.error !== null && run.endedAt === null) {
    return run.wakesAt === null ? run.error.message : `${describeRetryTime(run.wakesAt, now)}: ${run.error.message}`;
  }
  if (run.error !== null) return run.status === "cancelled" ? "" : run.error.message;
  if (run.endedAt !== null) return "";
  if (run.idle?.reason === "owner-gone") {
    return `its worker has ended${run.process === null ? "" : ` (process ${run.process.pid})`}: ${describeNeededWorker(run, now)}`;
  }
  if (run.owner !== null) return "";
  if (run.wakesAt !== null) return describeRetryTime(run.wakesAt, now);
  // A worker with another agent, or another version of it, does not claim the run.
  return describeNeededWorker(run, now);
}

function describeNeededWorker({ agent, agentVersion }: Run, now: number | undefined): string {
  return `${now === undefined ? "needs a worker with" : "needs worker:"} ${agent} ${agentVersion}`;
}

function describeRetryTime(at: number, now: number | undefined): string {
  return now === undefined
    ? `next attempt at ${formatTime(at)}`
    : `next attempt in ${formatSpan(Math.max(0, at - now))}`;
}

/** For example "tool pay"; for steps without a name, the kind alone. */
export function stepName({ kind, name }: Pick<Step, "kind" | "name">): string {
  return kind === name ? kind : `${kind} ${name}`;
}

export function paintStatus(text: string, { status }: Pick<Run, "status">, style: Style): string {
  if (status === "completed") return style.good(text);
  if (status === "failed" || status === "cancelled") return style.bad(text);
  return status === "running" ? text : style.warn(text);
}

/** The next step after a command about a run, because the command itself executes nothing. */
export const NEXT_WORKER = "A worker continues the run: run your program again, or holdfast worker --agents FILE.";

/** Says when a run that can continue, and that no worker has claimed, is executed. */
export const NEXT_EXECUTION = "continues when you run your program again, or as soon as a worker claims it";
