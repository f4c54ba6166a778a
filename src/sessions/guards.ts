// What decisions about a session rely on. Never on the length of its log: somebody always adds to it.
import { HoldfastError } from "../contracts/errors.ts";
import type { SessionRow } from "../contracts/queries.ts";
import type { Guard, Storage } from "../contracts/storage.ts";

/** The session is still on the branch that the row says. */
export function onBranch({ id, branch }: SessionRow): Guard {
  return { check: "session.branch", key: [id], expect: branch };
}

/** The session's current head is still the one that the row says. */
export function onHead({ id, head }: SessionRow): Guard {
  return { check: "session.head", key: [id], expect: head };
}

/** Holds always, and makes those who rely on it in one store wait for each other until each is done. */
export const IN_TURN: Guard = { check: "store.turn", key: ["store_id"], expect: "store_id" };

/** No run is at work in the session (rule RU2): only it moves heads and clears messages meanwhile. */
export async function whileIdle(storage: Storage, session: string): Promise<Guard> {
  const [busy] = await storage.query("run.active", session);
  if (busy !== undefined) throw sessionBusy(session, busy.id);
  return { check: "run.active", key: [session], expect: null };
}

export function sessionBusy(session: string, run: string): HoldfastError {
  return new HoldfastError(
    "SessionBusy",
    `${JSON.stringify(session)} has a run that has not ended: ${JSON.stringify(run)}`,
    {
      details: { session, run },
      hint: "Let it end: a worker goes on with it, as soon as what it waits for is there. Or end it with runs.cancel().",
    },
  );
}
