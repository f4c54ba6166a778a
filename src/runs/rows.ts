// Runs as callers see them, made from their rows.
import { HoldfastError } from "../contracts/errors.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { Run, RunError, RunLimits, RunStatus, StopReason, Waits } from "../contracts/runs.ts";
import type { Storage } from "../contracts/storage.ts";
import { toHex } from "../core/bytes.ts";
import { decodeRow, digest, jsonObject, oneOf, optional, text, whole } from "../core/decode.ts";

export const STATUSES: readonly RunStatus[] = [
  ...(["running", "paused", "waiting", "recovering", "completed", "failed", "cancelled"] as const),
];

const RUN = {
  ...{ id: text, session: text, agent: text, agent_version: text, toolset: digest, status: oneOf(STATUSES) },
  ...{ version: whole, epoch: whole, iteration: whole, cancel: whole, priority: whole, limits: jsonObject },
  ...{ created_at: whole, updated_at: whole, parent: optional(text), owner: optional(text), stop: optional(text) },
};

/** `error` stands in the log, with the event that ended it. */
export function runOf(row: RunRow, error: RunError | null = null): Run {
  const found = decodeRow({ kind: "run", id: row.id }, row, RUN);
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
    owner: found.owner,
    iteration: found.iteration,
    pausedUntil: found.status === "paused" ? row.wake_at : null,
    waitsFor: found.status === "waiting" ? waitsOf(row) : null,
    cancelRequested: found.cancel === 1,
    stopReason: found.stop as StopReason | null,
    error,
    limits: found.limits as RunLimits,
    priority: found.priority,
    createdAt: found.created_at,
    updatedAt: found.updated_at,
    endedAt: row.ended_at,
  };
}

/** In the row: the kind and what of it. When it ends by itself is `wake_at`. */
export function encodeWaits(waits: Waits): string {
  if (waits.kind === "signal") return `signal ${waits.name}`;
  return waits.kind === "decision" ? `decision ${waits.decision}` : `run ${waits.run}`;
}

function waitsOf({ waits, wake_at, id }: RunRow): Waits | null {
  if (waits === null) return null;
  const at = waits.indexOf(" ");
  const kind = waits.slice(0, at);
  const what = waits.slice(at + 1);
  if (kind === "signal") return { kind, name: what, until: wake_at };
  if (kind === "decision") return { kind, decision: what };
  if (kind === "run") return { kind, run: what };
  throw new HoldfastError("StoreCorrupted", `the run ${JSON.stringify(id)} waits for something unknown`, {
    details: { kind: "run", id },
  });
}

export async function existingRun(storage: Storage, id: string): Promise<RunRow> {
  const [row] = await storage.query("run.get", id);
  if (row !== undefined) return row;
  throw new HoldfastError("NotFound", `there is no run ${JSON.stringify(id)}`, {
    details: { kind: "run", id },
    hint: "runs.list() names those there are.",
  });
}

export function isOver({ ended_at }: Pick<RunRow, "ended_at">): boolean {
  return ended_at !== null;
}

export function refuseEnded(row: RunRow, what: string): void {
  if (!isOver(row)) return;
  throw new HoldfastError("InvalidTransition", `the run ${JSON.stringify(row.id)} is ${row.status}: ${what}`, {
    details: { kind: "run", id: row.id, status: row.status },
    hint: "runs.fork() goes on from one of its iterations in a new session.",
  });
}
