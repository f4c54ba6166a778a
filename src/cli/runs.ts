// Runs as people name them on the command line, and what they do or wait for in a few words.
import { HoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Run, RunStatus } from "../contracts/run-record.ts";
import type { Step } from "../contracts/steps.ts";
import { didYouMean } from "../core/distance.ts";
import { UsageError } from "./failure.ts";
import type { Style } from "./style.ts";
import { quoted } from "./terminal.ts";
import { formatCount, formatSpan, formatTime, plural } from "./units.ts";

export const RUN_HELP = "RUN is a run's id, or the beginning of it, as long as no other begins with it.";

export const RUN_STATUSES: readonly RunStatus[] = [
  ...(["running", "paused", "waiting", "recovering", "completed", "failed", "cancelled"] as const),
];

export function statusOf(typed: string): RunStatus {
  const status = RUN_STATUSES.find((one) => one === typed);
  if (status !== undefined) return status;
  const guess = didYouMean(typed, RUN_STATUSES);
  throw new UsageError(`no status "${typed}"${guess === "" ? `; there are ${RUN_STATUSES.join(", ")}` : guess}`);
}

/** A run whose id is the text itself is meant first. */
export async function needRun(holdfast: Holdfast, text: string): Promise<Run> {
  const beginning = text.replace(/…$/, "");
  const known = (await holdfast.runs.get(text)) ?? (beginning === text ? null : await holdfast.runs.get(beginning));
  if (known !== null) return known;
  const found = await beginningWith(holdfast, beginning);
  const [run, ...others] = found;
  if (run === undefined) {
    throw new HoldfastError("NotFound", `no run "${text}"`, {
      hint: "`holdfast runs` lists those there are",
      details: { kind: "run", id: text },
    });
  }
  if (others.length === 0) return run;
  throw new HoldfastError("InvalidArgument", `${plural(found.length, "run")} begin with "${beginning}"`, {
    hint: `give more of it: ${found
      .slice(0, 5)
      .map(({ id }) => id.slice(0, beginning.length + 6))
      .join(", ")}`,
    details: { kind: "run", runs: found.slice(0, 100).map(({ id }) => id) },
  });
}

/** Ids that somebody chose: there is no index of their beginnings, all are looked through, so that the one found is the only one. */
async function beginningWith(holdfast: Holdfast, beginning: string): Promise<readonly Run[]> {
  if (beginning === "") return [];
  const found: Run[] = [];
  for (let cursor: string | undefined; ; ) {
    const place = cursor === undefined ? {} : { cursor };
    const page = await holdfast.runs.list({ limit: LIMITS.page, ...place });
    found.push(...page.items.filter(({ id }) => id.startsWith(beginning)));
    if (page.next === null) return found;
    cursor = page.next;
  }
}

const DECISION = /^.+#[1-9]\d{0,15}$/s;

/** A decision's id, or a run that asks only one thing. */
export async function needDecision(holdfast: Holdfast, text: string): Promise<string> {
  if (DECISION.test(text) && (await holdfast.runs.get(text)) === null) return text;
  const { id } = await needRun(holdfast, text);
  const [decision, ...others] = (await holdfast.runs.pending({ run: id })).items;
  if (decision === undefined) {
    throw new HoldfastError("NotFound", `run "${id}" asks nothing`, {
      hint: "`holdfast runs pending` lists what is to be decided",
      details: { kind: "decision", run: id },
    });
  }
  if (others.length === 0) return decision.id;
  const all = [decision, ...others].map((one) => one.id);
  throw new UsageError(`run "${id}" asks ${all.length} things: name one of ${all.map(quoted).join(", ")}`);
}

/** As they are made up here: nobody knows them by heart, and their beginning names them. */
const MADE_UP = /^run_(?:[0-9a-z]{20}|[0-9a-f]{32})$/;
const SHORTEST = "run_qddb5fz3".length;

/** As much of made-up ids as tells them apart, and can be typed instead; what somebody chose stays whole. */
export function shortNames(ids: readonly string[]): (id: string) => string {
  const all = [...new Set(ids)].filter((id) => MADE_UP.test(id));
  let length = SHORTEST;
  while (new Set(all.map((id) => id.slice(0, length))).size < all.length) length++;
  return (id) => (MADE_UP.test(id) ? id.slice(0, length) : id);
}

/** A run with the iteration it is in, or ended in, beside the number completed. */
export interface Placed extends Run {
  readonly currentIteration: number;
}

/** The last is never complete: it ends with the run. One that was stopped may have been so between two. */
export async function placed(holdfast: Holdfast, run: Run): Promise<Placed> {
  const { id, iteration, stopReason } = run;
  const mayBeBetween = stopReason !== null && stopReason !== "done" && stopReason !== "failed";
  const isIn = !mayBeBetween || (await holdfast.runs.steps(id, { iteration: iteration + 1 })).length > 0;
  return { ...run, currentIteration: isIn ? iteration + 1 : iteration };
}

/** "ended in iteration 3; the 2 before it are complete". */
export function iterationWords({ currentIteration: at, iteration, endedAt }: Placed): string {
  if (at === 0) return "ended before its first";
  if (at === iteration) return `ended after iteration ${formatCount(at)}, which is complete`;
  const where = `${endedAt === null ? "" : "ended "}in iteration ${formatCount(at)}`;
  if (iteration === 0) return `${where}, its first`;
  return `${where}; the ${iteration === 1 ? "one before it is" : `${formatCount(iteration)} before it are`} complete`;
}

export interface Telling {
  readonly nameOf?: (id: string) => string;
  /** Tells times from here, in few words. */
  readonly now?: number;
}

/** Why it is as it is: what it waits for, until when, or why it ended. */
export function whyOf(run: Run, { nameOf = (id: string) => id, now }: Telling = {}): string {
  if (run.held && run.endedAt === null) return "held: it came with an archive; runs unpause lets it go on here";
  if (run.cancelRequested && run.endedAt === null) return "is to be cancelled";
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
    return run.wakesAt === null ? run.error.message : `${againAt(run.wakesAt, now)}: ${run.error.message}`;
  }
  if (run.error !== null) return run.status === "cancelled" ? "" : run.error.message;
  if (run.endedAt !== null) return "";
  if (run.idle?.reason === "owner-gone") {
    return `its worker has ended${run.process === null ? "" : ` (process ${run.process.pid})`}: ${needsWorker(run, now)}`;
  }
  if (run.owner !== null) return "";
  if (run.wakesAt !== null) return againAt(run.wakesAt, now);
  // One that has another agent, or another version of it, is not enough.
  return needsWorker(run, now);
}

function needsWorker({ agent, agentVersion }: Run, now: number | undefined): string {
  return `${now === undefined ? "needs a worker with" : "needs worker:"} ${agent} ${agentVersion}`;
}

function againAt(at: number, now: number | undefined): string {
  return now === undefined ? `tried again at ${formatTime(at)}` : `tried again in ${formatSpan(Math.max(0, at - now))}`;
}

/** "tool pay"; of what has no name of its own, its kind. */
export function stepName({ kind, name }: Pick<Step, "kind" | "name">): string {
  return kind === name ? kind : `${kind} ${name}`;
}

export function paintStatus(text: string, { status }: Pick<Run, "status">, style: Style): string {
  if (status === "completed") return style.good(text);
  if (status === "failed" || status === "cancelled") return style.bad(text);
  return status === "running" ? text : style.warn(text);
}

/** Somebody else works on it: what was asked of it happens when a worker takes it. */
export const NEXT_WORKER = "A worker takes it from here: run your program again, or holdfast worker --agents FILE.";

/** Of a run that can go on and that no worker has. */
export const GOES_ON = "goes on when you run your program again, or as soon as a worker takes it";
