// Runs as callers see them, made from their rows.
import type { Environment } from "../contracts/environment.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { Run, RunError, RunLimits, RunStatus, StopReason } from "../contracts/runs.ts";
import type { Storage } from "../contracts/storage.ts";
import { toHex } from "../core/bytes.ts";
import { decodeRow, digest, jsonObject, oneOf, optional, text, whole } from "../core/decode.ts";
import { isHeldRun } from "../core/imported-runs.ts";
import { idleReason } from "./idle.ts";
import { describeOwner } from "./owner.ts";
import type { OpenQuestions } from "./questions.ts";
import { waitsOf } from "./waits.ts";

export const STATUSES: readonly RunStatus[] = [
  ...(["running", "paused", "waiting", "recovering", "completed", "failed", "cancelled"] as const),
];

const RUN = {
  ...{ id: text, session: text, agent: text, agent_version: text, toolset: digest, status: oneOf(STATUSES) },
  ...{ version: whole, epoch: whole, iteration: whole, cancel: whole, priority: whole, limits: jsonObject },
  ...{ lease_ms: whole, tokens: whole },
  ...{ created_at: whole, updated_at: whole, parent: optional(text), owner: optional(text), stop: optional(text) },
};

/**
 * `error` stands in the log, with the event that ended it. `environment` tells whether its owner's process is gone, `questions`
 * what a person is asked.
 */
export function runOf(
  row: RunRow,
  error: RunError | null = null,
  environment?: Environment,
  questions?: OpenQuestions,
): Run {
  const found = decodeRow({ kind: "run", id: row.id }, row, RUN);
  const owner = found.owner === null ? null : describeOwner(found.owner);
  return {
    id: found.id,
    session: found.session,
    agent: found.agent,
    agentVersion: found.agent_version,
    toolset: toHex(found.toolset),
    parent: found.parent,
    status: found.status,
    version: found.version,
    epoch: found.epoch,
    owner: owner?.worker ?? null,
    process: owner === null || owner.host === null || owner.pid === null ? null : { host: owner.host, pid: owner.pid },
    idle: idleReason(row, error, environment, questions),
    iteration: found.iteration,
    pausedUntil: found.status === "paused" ? row.wake_at : null,
    waitsFor: found.status === "waiting" ? waitsOf(row) : [],
    wakesAt: isAsleep(row) ? row.wake_at : null,
    cancelRequested: found.cancel === 1,
    pauseRequested: row.pause_at,
    stopReason: found.stop as StopReason | null,
    held: isHeldRun(row),
    error,
    limits: found.limits as RunLimits,
    priority: found.priority,
    leaseMs: found.lease_ms,
    tokens: found.tokens,
    costUsd: row.cost_usd,
    createdAt: found.created_at,
    updatedAt: found.updated_at,
    endedAt: row.ended_at,
  };
}

/** Not to be looked at now; one that is running: not before then, for the last tries came to nothing. */
function isAsleep({ status, wake_at, ended_at }: RunRow): boolean {
  return ended_at === null && (status === "waiting" || status === "paused" || (wake_at ?? 0) > 0);
}

export async function existingRun(storage: Storage, id: string): Promise<RunRow> {
  const [row] = await storage.query("run.get", id);
  if (row !== undefined) return row;
  throw new HoldfastError("NotFound", `there is no run ${JSON.stringify(id)}`, {
    details: { kind: "run", id },
    hint: "runs.list() names those there are.",
  });
}

/** Somebody has its lease, in this store: whoever had that of a run that is held is elsewhere. */
export function isAtWork(row: Pick<RunRow, "owner" | "beat">): boolean {
  return row.owner !== null && !isHeldRun(row);
}

export function isOver({ ended_at }: Pick<RunRow, "ended_at">): boolean {
  return ended_at !== null;
}

export function refuseEnded(row: RunRow, what: string): void {
  if (!isOver(row)) return;
  throw new HoldfastError("InvalidTransition", `the run ${JSON.stringify(row.id)} is ${row.status}: ${what}`, {
    details: { kind: "run", id: row.id, status: row.status },
    hint:
      row.status === "completed"
        ? "runs.fork() goes on from one of its iterations in a new session."
        : "runs.retry() takes it up where it ended; runs.fork() goes on from one of its iterations in a new session.",
  });
}
