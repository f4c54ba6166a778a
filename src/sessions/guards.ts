// What decisions about a session rely on. Never on the length of its log: somebody always adds to it.
import type { SessionRow } from "../contracts/queries.ts";
import type { Guard } from "../contracts/storage.ts";

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
