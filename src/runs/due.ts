// Whether there is something to do for a run now: its time has come, or a child that it waits for can go on.
import type { RunRow } from "../contracts/run-queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { isHeldRun } from "../core/imported-runs.ts";
import { lacksChild } from "./admit.ts";
import { isOwnerGone } from "./lease-watch.ts";
import { waitsOf } from "./waits.ts";

/** One that is running is only left alone by workers for a while. */
export async function isDue(storage: Storage, row: RunRow): Promise<boolean> {
  if (row.status !== "waiting" && row.status !== "paused") return true;
  if (row.wake_at !== null && row.wake_at <= storage.environment.now()) return true;
  return (await lacksChild(storage, row)) || (await canContinueChild(storage, row));
}

/** It waits for a child that could go on: only its parent's process has the code of both. */
async function canContinueChild(storage: Storage, row: RunRow): Promise<boolean> {
  for (const wait of row.status === "waiting" ? waitsOf(row) : []) {
    const [child] = wait.kind === "run" ? await storage.query("run.get", wait.run) : [];
    if (child === undefined) continue;
    if (child.ended_at !== null) return true;
    const isFree = child.owner === null || isOwnerGone(storage.environment, child);
    if (isFree && !isHeldRun(child) && (await isDue(storage, child))) return true;
  }
  return false;
}
