// Whether a run that waits or is paused can continue: because its time has come, or because a child that it waits for
// has ended or can continue.
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { isHeldRun, isOwnerGone } from "../core/run-owner.ts";
import { waitsOf } from "../core/run-waits.ts";

/** Whether a worker can continue the run now. */
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
