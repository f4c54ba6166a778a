// From what callers name to rows: sessions by id or alias, heads of a session, and the position a locator stands for.
import { HoldfastError } from "../contracts/errors.ts";
import type { Locator } from "../contracts/locators.ts";
import type { HeadRow } from "../contracts/storage/lineage-queries.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { existingSession } from "./existing-session.ts";

export async function findSession(storage: Storage, name: string): Promise<SessionRow> {
  const [byId] = await storage.query("session.get", { id: name });
  if (byId === undefined) {
    const [byAlias] = await storage.query("session.byAlias", { name });
    if (byAlias !== undefined) return byAlias;
  }
  return existingSession(storage, name);
}

export async function findHead(storage: Storage, id: string): Promise<HeadRow> {
  const [row] = await storage.query("head.get", { id });
  if (row !== undefined) return row;
  throw new HoldfastError("NotFound", `there is no head ${id}`, {
    details: { kind: "head", id },
    hint: "List a session's heads with heads.list().",
  });
}

export interface LocatedSession {
  readonly session: SessionRow;
  /** The head the locator names; null when it names none. */
  readonly head: HeadRow | null;
}

export async function findAt(storage: Storage, locator: Locator): Promise<LocatedSession> {
  const session = await findSession(storage, locator.session);
  if (locator.head === undefined) return { session, head: null };
  const head = await findHead(storage, locator.head);
  if (head.session_no === session.no) return { session, head };
  throw new HoldfastError(
    "InvalidArgument",
    `the head ${head.id} is of ${JSON.stringify(head.session)}, not of ${JSON.stringify(session.id)}`,
    { details: { head: head.id, session: session.id, of: head.session }, hint: "A head belongs to one session." },
  );
}
