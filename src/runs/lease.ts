// Leases: which worker may write a run, and when one can continue it. A lease is claimed only if its owner is gone
// (lease-watch.ts). After that the old owner cannot commit, because its epoch is over.
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { RunError } from "../contracts/run-record.ts";
import type { RunWait } from "../contracts/run-waits.ts";
import type { Guard } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { formatOwner, isHeldRun, isOwnerGone } from "../core/run-owner.ts";
import { ownerWait, waitsOf } from "../core/run-waits.ts";
import { leaseLost } from "./errors.ts";
import { abandonLease, LeaseWatch } from "./lease-watch.ts";
import { existingRun, isAtWork } from "./rows.ts";
import { endCancelled } from "./verbs.ts";
import { atVersion, moveRun } from "./writer.ts";

/** How often a release is tried, because other writers may change the run at the same time. */
const MOST_TRIES = 8;

interface ReleaseHost {
  readonly storage: Storage;
  readonly payloads: Payloads;
}

/** Heartbeats per lease. */
const BEATS = 3;

export function beatMs({ lease_ms }: RunRow): number {
  return lease_ms / BEATS;
}

function beatGuard({ id, beat }: RunRow) {
  return { check: "run.beat", key: [id], expect: beat } as const;
}

/**
 * Guards the version and the beat, but not the epoch, which these commits change: storage assumes that a guard's value
 * still holds after the commit. Every change of the epoch changes the version too.
 */
function unchangedGuards(seen: RunRow): readonly Guard[] {
  return [atVersion(seen), beatGuard(seen)];
}

/**
 * Claims a run and returns its row with the new lease. LeaseLost if the run changed since it was seen, also by a
 * heartbeat. This function does not verify the run: takeOver() in recover.ts does so first.
 */
export async function claimRun(storage: Storage, seen: RunRow, owner: string): Promise<RunRow> {
  const at = storage.environment.now();
  const isOrphan = seen.owner !== null;
  const moved = moveRun(seen, {
    type: "run/claimed",
    at,
    changes: { status: isOrphan ? "recovering" : "running", epoch: seen.epoch + 1, owner, wake_at: 0, waits: null },
  });
  const outcome = await storage.commit({
    sessions: [{ id: seen.session, mode: "existing", at }],
    guards: unchangedGuards(seen),
    events: [moved.event],
  });
  if (!outcome.ok) throw leaseLost(seen);
  return moved.row(outcome.events[0]?.seq ?? 0);
}

/** Why workers do not continue a run for a while, and until when. */
export interface ReleaseReason {
  readonly error: RunError;
  readonly wakeAt: number;
}

/**
 * Releases the lease, so that another worker can continue, at once or at `wakeAt`. Ends the run if a caller has
 * cancelled it.
 */
export async function releaseRun(
  { storage, payloads }: ReleaseHost,
  { id, epoch }: RunRow,
  trouble: ReleaseReason | null = null,
): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const now = await existingRun(storage, id);
    if (now.epoch !== epoch || now.ended_at !== null) return;
    // This also covers a run that was suspended just before the request to cancel.
    if (now.cancel === 1) return endCancelled(storage, payloads, now);
    if (now.owner === null || (await freeRun(storage, now, trouble?.wakeAt, releaseData(trouble))) !== null) return;
  }
}

/** Releases the lease like releaseRun(). If that fails, this handle remembers that it has abandoned the lease. */
export async function releaseOrAbandon(host: ReleaseHost, row: RunRow, trouble: ReleaseReason | null): Promise<void> {
  try {
    await releaseRun(host, row, trouble);
  } catch (error) {
    abandonLease(host.storage, row);
    throw error;
  }
}

function releaseData(trouble: ReleaseReason | null): JsonObject {
  return trouble === null ? {} : { error: { ...trouble.error } };
}

/**
 * Removes a run's lease: this worker's own (releaseRun), or that of an owner that is gone (recover.ts). The epoch is
 * over then, so the earlier owner cannot commit any more. null if the run changed meanwhile.
 */
export async function freeRun(
  storage: Storage,
  seen: RunRow,
  wakeAt = 0,
  data: JsonObject = {},
): Promise<RunRow | null> {
  const at = storage.environment.now();
  const changes = { owner: null, wake_at: wakeAt, epoch: seen.epoch + 1 };
  const moved = moveRun(seen, { type: "run/released", at, changes, data: data });
  const outcome = await storage.commit({
    sessions: [{ id: seen.session, mode: "existing", at }],
    wakes: true,
    guards: unchangedGuards(seen),
    events: [moved.event],
  });
  return outcome.ok ? moved.row(outcome.events[0]?.seq ?? 0) : null;
}

/**
 * Waits until the run can be claimed; null if its owner is alive. `onWait` is called once, if finding out takes time.
 */
export async function awaitFree(
  storage: Storage,
  id: string,
  signal?: AbortSignal,
  onWait?: (wait: RunWait) => void,
): Promise<RunRow | null> {
  const { environment } = storage;
  const watch = LeaseWatch.of(storage);
  for (let isFirst = true; ; isFirst = false) {
    const row = await existingRun(storage, id);
    if (row.ended_at !== null || !isAtWork(row)) return row;
    if (watch.hasMoved(row)) return null;
    const remaining = watch.remainingMs(row);
    if (remaining <= 0) return row;
    if (isFirst) onWait?.(ownerWait(row, remaining));
    await environment.sleep(Math.min(remaining, beatMs(row) / 2), signal);
    if (signal?.aborted === true) return null;
  }
}

export type Heartbeat = "ok" | "cancel-requested" | "deadline" | "lost";

/** Writes a heartbeat, and returns what the run's worker must do. */
export async function heartbeat(storage: Storage, { id, epoch }: RunRow, deadline: number): Promise<Heartbeat> {
  const [now] = await storage.query("run.get", { id });
  if (now === undefined || now.epoch !== epoch || now.ended_at !== null) return "lost";
  const outcome = await storage.commit({
    guards: [{ check: "run.epoch", key: [id], expect: epoch }, beatGuard(now)],
    writes: [{ op: "run", statement: "run.beat", params: [id, epoch] }],
  });
  if (!outcome.ok) return "lost";
  if (now.cancel === 1) return "cancel-requested";
  return storage.environment.now() >= deadline ? "deadline" : "ok";
}

export function livingWorkerError({ id, owner }: RunRow): HoldfastError {
  const worker = owner === null ? "another worker" : formatOwner(owner);
  return new HoldfastError("Conflict", `the run ${JSON.stringify(id)} has a living worker: ${worker}`, {
    retryable: true,
    details: { run: id, owner },
    hint:
      `Wait for it with runs.execute() or runs.resume(…, { wait: true }), or end it with runs.cancel(${JSON.stringify(id)}). ` +
      "Another worker can take over a run only when its worker is gone.",
  });
}

/**
 * Whether a worker can continue the run now: of one that waits or is paused, whether its time has come, or a child that it
 * waits for has ended or can continue.
 */
export async function isDue(storage: Storage, row: RunRow): Promise<boolean> {
  if (row.status !== "waiting" && row.status !== "paused") return true;
  if (row.wake_at !== null && row.wake_at <= storage.environment.now()) return true;
  return (await lacksChild(storage, row)) || (await canContinueChild(storage, row));
}

/**
 * Whether the run waits for a child that could continue. Only a process with the parent's code has the code of both.
 */
async function canContinueChild(storage: Storage, row: RunRow): Promise<boolean> {
  for (const wait of row.status === "waiting" ? waitsOf(row) : []) {
    const [child] = wait.kind === "run" ? await storage.query("run.get", { id: wait.run }) : [];
    if (child === undefined) continue;
    if (child.ended_at !== null) return true;
    const isFree = child.owner === null || isOwnerGone(storage.environment, child);
    if (isFree && !isHeldRun(child) && (await isDue(storage, child))) return true;
  }
  return false;
}

/** Whether the run waits for a child that is not in this store. It would wait for ever, so the step must fail. */
async function lacksChild(storage: Storage, row: RunRow): Promise<boolean> {
  if (row.status !== "waiting") return false;
  for (const wait of waitsOf(row)) {
    if (wait.kind === "run" && (await storage.query("run.get", { id: wait.run })).length === 0) return true;
  }
  return false;
}
