// The session a rule works on, or the error that says that there is none.
import { HoldfastError } from "../contracts/errors.ts";
import type { SessionRow } from "../contracts/queries.ts";
import type { Storage } from "../contracts/storage.ts";

export async function existingSession(storage: Storage, id: string): Promise<SessionRow> {
  const [row] = await storage.query("session.get", id);
  if (row !== undefined && row.deleted_at === null) return row;
  if (row === undefined) await refuseAlias(storage, id);
  const gone = row === undefined ? "there is no session" : "there is no longer a session";
  throw new HoldfastError(row === undefined ? "NotFound" : "SessionDeleted", `${gone} ${JSON.stringify(id)}`, {
    details: { kind: "session", id },
    hint: "List what there is with sessions.list().",
  });
}

/**
 * For reads that found nothing: what looks empty may have been asked for by an alias, which only sessions.get takes. An
 * alias is never a session's id, so nothing that is there is refused.
 */
export async function refuseAlias(storage: Storage, name: string): Promise<void> {
  const [row] = await storage.query("session.byAlias", name);
  if (row === undefined) return;
  const [alias, id] = [JSON.stringify(name), JSON.stringify(row.id)];
  throw new HoldfastError("NotFound", `${alias} is an alias of the session ${id}, not a session's id`, {
    details: { kind: "alias", id: name, session: row.id },
    hint: "Use the id: sessions.get() tells it for the alias.",
  });
}
