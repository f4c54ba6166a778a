// Why no worker works on a run, and why a call that executes it has to wait: what the run waits for, as its row stores
// it and as a sentence.
import type { Decision } from "../contracts/decisions.ts";
import type { Environment } from "../contracts/environment.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Run, RunError } from "../contracts/run-record.ts";
import type { RunWait, WaitCondition } from "../contracts/run-waits.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import { encodeText } from "./bytes.ts";
import { decodeRow, json } from "./decode.ts";
import { printInstant } from "./instant.ts";
import { describeOwner, formatOwner, isHeldRun, isOwnerGone } from "./run-owner.ts";
import { quoteArgument } from "./shell.ts";

const SECOND = 1000;

/** Without an environment, an owner counts as alive. `questions` has the open questions to people. */
export function idleReason(
  row: RunRow,
  error: RunError | null,
  environment?: Environment,
  questions?: OpenQuestions,
): NonNullable<Run["idle"]> | null {
  if (row.ended_at !== null) return null;
  const id = JSON.stringify(row.id);
  if (isHeldRun(row)) {
    return {
      reason: "held",
      message: `Run ${id} came with an archive, and may still be running in the store that it was exported from.`,
      hint: `If it is not, continue it here with runs.resume(agent, ${id}), or end it with runs.cancel(${id}).`,
    };
  }
  if (row.owner !== null) return environment === undefined ? null : goneReason(row, row.owner, environment);
  if (row.status === "waiting") {
    const waits = waitsOf(row);
    const message = `Run ${id} waits for ${waits.map((wait) => formatWait(wait, questions)).join(", ")}.`;
    return { reason: "waiting", message, hint: waitHint(row.id, waits[0]) };
  }
  if (row.status === "paused") {
    const message = `Run ${id} is paused${clock(row.wake_at, "until")}.`;
    return { reason: "paused", message, hint: `runs.unpause(${id}) ends the pause now.` };
  }
  if ((row.wake_at ?? 0) > 0 && error !== null) {
    return {
      reason: "retry-later",
      message: `The last try of run ${id} ended with ${error.code}: ${error.message} Workers try it again${clock(row.wake_at, "at")}.`,
      hint: `runs.resume(agent, ${id}) tries it now.`,
    };
  }
  return {
    reason: "queued",
    message: `Run ${id} waits for a worker with the agent ${JSON.stringify(row.agent)} at version ${JSON.stringify(row.agent_version)}.`,
    hint: continueHint(id),
  };
}

function goneReason(row: RunRow, owner: string, environment: Environment): NonNullable<Run["idle"]> | null {
  if (!isOwnerGone(environment, row)) return null;
  const id = JSON.stringify(row.id);
  const message = `Run ${id} is unfinished: the process of its worker ${formatOwner(owner)} has ended.`;
  return { reason: "owner-gone", message, hint: continueHint(id) };
}

function continueHint(id: string): string {
  return `Execute it again, start a worker, or call runs.resume(agent, ${id}).`;
}

function formatWait(wait: WaitCondition, questions: OpenQuestions | undefined): string {
  if (wait.kind === "signal") return `the signal ${JSON.stringify(wait.name)}`;
  if (wait.kind === "run") return `the run ${JSON.stringify(wait.run)}`;
  const question = questions?.get(wait.decision);
  return `a person's decision on ${wait.decision}${question === undefined ? "" : ` (${formatQuestion(question)})`}`;
}

function formatQuestion({ reason, tool }: OpenQuestion): string {
  const name = `the tool ${JSON.stringify(tool)}`;
  return reason === "approval" ? `approval: may ${name} be done?` : `in doubt: did ${name} happen?`;
}

function clock(at: number | null, word: "until" | "at"): string {
  return at === null ? "" : ` ${word} ${printInstant(at)}`;
}

/** The wait for a run whose worker may be alive. */
export function ownerWait({ id, session, owner }: RunRow, atMostMs: number): RunWait {
  const who = owner === null ? "another worker" : formatOwner(owner);
  const seconds = Math.max(1, Math.ceil(atMostMs / SECOND));
  return {
    run: id,
    session,
    reason: "owner",
    waitsFor: [],
    atMostMs: Math.max(0, Math.ceil(atMostMs)),
    owner: owner === null ? null : describeOwner(owner),
    message:
      `Run ${JSON.stringify(id)} has a worker: ${who}. Waiting until it ends, or until that worker has shown no sign of ` +
      `life for ${seconds} s.`,
  };
}

/** The wait for a run that waits or is paused. */
export function sleepWait(row: RunRow, now: number, questions: OpenQuestions): RunWait {
  const { id, session, status, wake_at } = row;
  const waitsFor = status === "waiting" ? waitsOf(row) : [];
  const [first] = waitsFor;
  const idle = idleReason(row, null, undefined, questions);
  const atMostMs = wake_at === null ? null : Math.max(0, wake_at - now);
  return {
    run: id,
    session,
    reason: first?.kind ?? "paused",
    owner: null,
    waitsFor,
    atMostMs,
    message: [idle?.message, idle?.hint].join(" ").trim(),
  };
}

function waitHint(run: string, wait: WaitCondition | undefined): string {
  if (wait?.kind === "signal")
    return `Deliver it with runs.signal(${JSON.stringify(run)}, ${JSON.stringify(wait.name)}, …).`;
  if (wait?.kind === "decision") {
    const command = `\`npx holdfast runs pending ${quoteArgument(run)}\``;
    const call = `runs.answer(${JSON.stringify(wait.decision)}, …)`;
    return `${command} shows the question and the commands that answer it; a program calls ${call}.`;
  }
  return "It continues when that run has ended.";
}

/**
 * The row stores a list of pairs: the kind, and the name of what the run waits for. `wake_at` is the time at which the
 * wait ends by itself.
 */
export function encodeWaits(waits: readonly WaitCondition[]): string | null {
  return waits.length === 0 ? null : JSON.stringify(waits.map((one) => [one.kind, whatOf(one)]));
}

function whatOf(wait: WaitCondition): string {
  if (wait.kind === "signal") return wait.name;
  return wait.kind === "decision" ? wait.decision : wait.run;
}

/** Whether this is one of the things that the run waits for. */
export function waitsFor(row: RunRow, wait: WaitCondition): boolean {
  if (row.status !== "waiting") return false;
  return waitsOf(row).some((one) => one.kind === wait.kind && whatOf(one) === whatOf(wait));
}

export function waitsOf({ waits, id }: Pick<RunRow, "waits" | "id">): readonly WaitCondition[] {
  if (waits === null) return [];
  const listed = decodeRow({ kind: "run", id }, { waits: encodeText(waits) }, { waits: json }).waits;
  return (Array.isArray(listed) ? listed : [null]).map((one): WaitCondition => {
    const [kind, what] = Array.isArray(one) ? one : [];
    if (typeof what === "string") {
      if (kind === "signal") return { kind, name: what };
      if (kind === "decision") return { kind, decision: what };
      if (kind === "run") return { kind, run: what };
    }
    throw new HoldfastError("StoreCorrupted", `the run ${JSON.stringify(id)} waits for something unknown`, {
      details: { kind: "run", id },
    });
  });
}

export interface OpenQuestion {
  readonly reason: Decision["reason"];
  readonly tool: string;
}

/** Open questions by the id of the decision. */
export type OpenQuestions = ReadonlyMap<string, OpenQuestion>;
