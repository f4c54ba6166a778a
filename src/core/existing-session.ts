// The session a rule works on, or the error that says that there is none.
import { HoldfastError } from "../contracts/errors.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";

/**
 * The version of a session of which only a part came, with a fork, or nothing but the name, with one that invoked it. It has
 * a tombstone's row, and was never deleted here: one that was deleted has a higher version.
 */
export const IN_PART = 1;

export async function existingSession(storage: Storage, id: string): Promise<SessionRow> {
  const [row] = await storage.query("session.get", { id });
  if (row !== undefined && row.deleted_at === null) return row;
  if (row !== undefined) throw await deletedSession(storage, row);
  await refuseAlias(storage, id);
  refuseHead(id);
  throw new HoldfastError("NotFound", `there is no session ${JSON.stringify(id)}`, {
    details: { kind: "session", id },
    hint: "List what there is with sessions.list().",
  });
}

/** What looks like a session at a head, and is none because a head's id begins otherwise, or with more. */
function refuseHead(name: string): void {
  const [, session, head] = /^(.+)@(hd-.*|[0-9a-f]{4,64})$/s.exec(name) ?? [];
  if (session === undefined) return;
  throw new HoldfastError("NotFound", `there is no session ${JSON.stringify(name)}, and ${head} is no head's id`, {
    details: { kind: "head", id: head, session },
    hint: "A head is named by its id, hd- and 64 hex digits, or the first four or more of them; heads.list() shows them.",
  });
}

/** Heirs that an error names. */
const NAMED = 10;

/** What is left of a session may be what others inherit: of one that was deleted, or that never came as a whole. */
export async function deletedSession(storage: Storage, { no, id, version }: SessionRow): Promise<HoldfastError> {
  const heirs = (await storage.query("session.heirs", { session: no, limit: NAMED })).map((heir) => heir.id);
  if (heirs.length === 0 && version === IN_PART) {
    return new HoldfastError("SessionDeleted", `of the session ${JSON.stringify(id)} only the name is here`, {
      details: { kind: "session", id, deleted: false },
      hint: "Others that were imported name it; importing its own archive brings it.",
    });
  }
  if (heirs.length === 0) {
    return new HoldfastError("SessionDeleted", `there is no longer a session ${JSON.stringify(id)}`, {
      details: { kind: "session", id },
      hint: "List what there is with sessions.list().",
    });
  }
  const names = heirs.map((heir) => JSON.stringify(heir)).join(", ");
  const details = { kind: "session", id, inheritedBy: heirs, deleted: version !== IN_PART };
  if (version === IN_PART) {
    return new HoldfastError(
      "SessionDeleted",
      `the session ${JSON.stringify(id)} is here only in part, inherited by ${names}`,
      { details, hint: "Read what there is of it through them; importing its own archive completes it." },
    );
  }
  const [kept] = await storage.query("remains.messages", { session: no });
  const messages = kept?.n ?? 0;
  const what = messages === 0 ? "something" : messages === 1 ? "1 message" : `${messages} messages`;
  return new HoldfastError(
    "SessionDeleted",
    `the session ${JSON.stringify(id)} was deleted, and ${what} of it kept for ${names}, made from it`,
    { details: { ...details, messages }, hint: "Read what is kept of it through them." },
  );
}

/**
 * For reads that found nothing: what looks empty may have been asked for by an alias, which only sessions.get takes. An
 * alias is never a session's id, so nothing that is there is refused.
 */
export async function refuseAlias(storage: Storage, name: string): Promise<void> {
  const [row] = await storage.query("session.byAlias", { name });
  if (row === undefined) return;
  const [alias, id] = [JSON.stringify(name), JSON.stringify(row.id)];
  throw new HoldfastError("NotFound", `${alias} is an alias of the session ${id}, not a session's id`, {
    details: { kind: "alias", id: name, session: row.id },
    hint: "Use the id: sessions.get() tells it for the alias.",
  });
}
