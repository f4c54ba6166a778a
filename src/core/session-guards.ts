// Guards of decisions about a session. None of them uses the length of its log, because other writers always add to it.
import type { Environment } from "../contracts/environment.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Guard } from "../contracts/storage/commit.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { formatOwner, isHeldRun } from "./run-owner.ts";
import { idleReason } from "./run-waits.ts";

/** The session is still on the branch of the row. */
export function branchGuard({ id, branch }: SessionRow): Guard {
  return { check: "session.branch", key: [id], expect: branch };
}

/** The session's current head is still the one in the row. */
export function headGuard({ id, head }: SessionRow): Guard {
  return { check: "session.head", key: [id], expect: head };
}

/** A lock on the whole store: it always holds, and commits that name it run one after another. */
export const STORE_LOCK: Guard = { check: "store.lock", key: ["store_id"], expect: "store_id" };

/**
 * No run is unfinished in the session (rule RU2). While a run is unfinished, only that run moves heads and clears
 * messages.
 */
export async function whileIdle(storage: Storage, session: string): Promise<Guard> {
  const [busy] = await storage.query("run.active", { session });
  if (busy !== undefined) throw sessionBusy(busy, storage.environment);
  return { check: "run.active", key: [session], expect: null };
}

export function sessionBusy(run: RunRow, environment?: Environment): HoldfastError {
  const { id, session, status, owner } = run;
  const idle = idleReason(run, null, environment);
  const why = idle?.message ?? (owner === null ? "" : `Its worker is ${formatOwner(owner)}.`);
  const name = JSON.stringify(id);
  return new HoldfastError(
    "SessionBusy",
    `Session ${JSON.stringify(session)} has an unfinished run ${name} (${status}). ${why}`,
    {
      details: { session, run: id, status, ...(isHeldRun(run) ? { held: true } : {}) },
      hint: `Continue it with runs.resume(agent, ${name}), or end it with runs.cancel(${name}).`,
    },
  );
}
