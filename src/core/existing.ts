// The session a rule works on, or the error that says that there is none.
import { HoldfastError } from "../contracts/errors.ts";
import type { SessionRow } from "../contracts/queries.ts";
import type { Storage } from "../contracts/storage.ts";

export async function existingSession(storage: Storage, id: string): Promise<SessionRow> {
  const [row] = await storage.query("session.get", id);
  if (row !== undefined && row.deleted_at === null) return row;
  const gone = row === undefined ? "there is no session" : "there is no longer a session";
  throw new HoldfastError(row === undefined ? "NotFound" : "SessionDeleted", `${gone} ${JSON.stringify(id)}`, {
    details: { kind: "session", id },
    hint: "List what there is with sessions.list().",
  });
}
