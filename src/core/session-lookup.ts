// From what callers name to a session and its row, for every verb that takes one: its id, or a locator as text or as an object. A verb
// that reads honours a head. A verb that changes a session works on its current state, and refuses a head instead of ignoring it.
// An error says what there is instead: an alias, a head, what is left of a deleted session.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Locator } from "../contracts/locators.ts";
import type { HeadRow } from "../contracts/storage/lineage-queries.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { AT_HEAD, checkStore, formatLocator, isHeadId, SCHEME } from "./locator.ts";

/** The lookups of one store. */
export interface SessionLookup {
  readonly locate: Locate;
  readonly requireCurrent: RequireCurrent;
  readonly resolveSessionId: ResolveSessionId;
}

/** Checks the store and completes the head's id. The verb checks whether the session and the head exist. */
export type Locate = (at: unknown) => Locator | Promise<Locator>;

/**
 * The id of a session for a verb that works on its current state. If the caller names a head, the error says with
 * `action` what is not possible, and with `hint` what to do instead.
 */
type RequireCurrent = (at: unknown, action: string, hint?: string) => string | Promise<string>;

/** The same for verbs that may create the session, and that change a session in the order of the calls. */
type ResolveSessionId = (session: unknown, action: string, hint?: string) => string | Promise<string>;

/** The names by which a locator may name the store. */
interface StoreNames {
  readonly url: string;
  readonly storeId: string;
}

export function createSessionLookup(storage: Storage, info: StoreNames): SessionLookup {
  const locateText = async (at: string): Promise<Locator> => {
    // A session whose id looks like a locator has priority: no other name can reach it.
    const [session] = Buffer.byteLength(at) > LIMITS.idBytes ? [] : await storage.query("session.get", { id: at });
    return session === undefined ? completeHead(storage, checkStore(at, info)) : { session: at };
  };
  // A plain id is passed to the verb without waiting, so that verbs begin in the order of their calls.
  const locate: Locate = (at) =>
    typeof at === "string" && isLocatorText(at) ? locateText(at) : completeHead(storage, checkStore(at, info));
  const requireCurrent: RequireCurrent = (at, action, hint) => {
    const requireNone = (found: Locator) =>
      requireNoHead(found, `${action} at the current position of a session`, hint);
    if (typeof at !== "string") return requireNone(checkStore(at, info));
    return isLocatorText(at) ? locateText(at).then(requireNone) : at;
  };
  return { locate, requireCurrent, resolveSessionId: createResolver(storage, info, requireCurrent) };
}

/** Whether a text has the form of a locator. An old session may still have such a text as its id. */
function isLocatorText(text: string): boolean {
  // A fast check, because every append runs it and most ids have no such part.
  return text.startsWith(SCHEME) || (text.includes("@hd-") && AT_HEAD.test(text));
}

function completeHead(storage: Storage, locator: Locator): Locator | Promise<Locator> {
  const { session, head } = locator;
  if (head === undefined || isHeadId(head)) return locator;
  return findHeadId(storage, session, head).then((id) => ({ ...locator, head: id }));
}

/** How many heads an error names. */
const MOST_NAMED_HEADS = 10;

/** The id of the only head of the session with this beginning. */
async function findHeadId(storage: Storage, name: string, beginning: string): Promise<string> {
  const { no, id } = await findSession(storage, name);
  // Sorts after every hex digit.
  const rows = await storage.query("heads.beginning", {
    session: no,
    from: beginning,
    to: `${beginning}g`,
    limit: MOST_NAMED_HEADS,
  });
  const [head, ...others] = rows.map((row) => row.id);
  if (head !== undefined && others.length === 0) return head;
  if (head === undefined) {
    throw new HoldfastError("NotFound", `no head of ${JSON.stringify(id)} begins with ${beginning}`, {
      details: { kind: "head", id: beginning, session: id },
      hint: "List a session's heads with heads.list().",
    });
  }
  throw new HoldfastError("InvalidArgument", `more than one head of ${JSON.stringify(id)} begins with ${beginning}`, {
    details: { kind: "head", id: beginning, session: id, heads: [head, ...others] },
    hint: `Give more digits: ${[head, ...others].map((one) => one.slice(0, beginning.length + 4)).join(", ")}.`,
  });
}

/**
 * If the lookup of an earlier locator is still running, an id waits for it; otherwise it is passed to the verb at once.
 */
function createResolver(storage: Storage, info: StoreNames, requireCurrent: RequireCurrent): ResolveSessionId {
  let last: Promise<string> | null = null;
  /** A plain id may be new; a locator names a session that exists. */
  const find: ResolveSessionId = async (session, action, hint) => {
    const id = await requireCurrent(session, action, hint);
    if (isPlainId(session)) return id;
    const [row] = await storage.query("session.get", { id });
    // Each verb has its own error for a deleted session.
    return row?.id ?? (await existingSession(storage, id)).id;
  };
  return (name, action, hint) => {
    if (last === null && isPlainId(name)) return name;
    // Read once, at the time of the call: the caller may change its object while earlier lookups are running.
    const session = typeof name === "string" ? name : checkStore(name, info);
    const before: Promise<unknown> = last ?? Promise.resolve();
    const found = before.then(
      () => find(session, action, hint),
      () => find(session, action, hint),
    );
    const over = () => {
      if (last === found) last = null;
    };
    last = found;
    found.then(over, over);
    return found;
  };
}

function isPlainId(session: unknown): session is string {
  return typeof session === "string" && !isLocatorText(session);
}

const CONTINUE_HINT =
  "Continue from that head first: with sessions.fork() in a new session, or with sessions.resume() in this one.";

export function requireNoHead({ session, head }: Locator, action: string, hint = CONTINUE_HINT): string {
  if (head === undefined) return session;
  const named = JSON.stringify(formatLocator({ session, head }));
  throw new HoldfastError("InvalidArgument", `${action}, not at a head: ${named}`, {
    details: { session, head },
    hint,
  });
}

/**
 * The version of a session of which the store has only a part, imported with a fork, or only the name, imported with
 * its caller. Its row is a tombstone, although it was never deleted here: a deleted session has a higher version.
 */
export const IN_PART = 1;

/** The session that a rule works on, by its id. */
export async function existingSession(storage: Storage, id: string): Promise<SessionRow> {
  const [row] = await storage.query("session.get", { id });
  if (row !== undefined && row.deleted_at === null) return row;
  if (row !== undefined) throw await deletedSession(storage, row);
  await refuseAlias(storage, id);
  refuseHead(id);
  throw new HoldfastError("NotFound", `there is no session ${JSON.stringify(id)}`, {
    details: { kind: "session", id },
    hint: "List the sessions with sessions.list().",
  });
}

/** Refuses a name that looks like SESSION@HEAD but does not contain a valid beginning of a head's id. */
function refuseHead(name: string): void {
  const [, session, head] = /^(.+)@(hd-.*|[0-9a-f]{4,64})$/s.exec(name) ?? [];
  if (session === undefined) return;
  throw new HoldfastError("NotFound", `there is no session ${JSON.stringify(name)}, and ${head} is no head's id`, {
    details: { kind: "head", id: head, session },
    hint: "A head is named by its id, hd- and 64 hex digits, or the first four or more of them; heads.list() shows them.",
  });
}

/** How many inheriting sessions an error names. */
const NAMED = 10;

/** The error for a deleted session or one that is here in part. It names the sessions that still inherit from it. */
export async function deletedSession(storage: Storage, { no, id, version }: SessionRow): Promise<HoldfastError> {
  const heirs = (await storage.query("session.heirs", { session: no, limit: NAMED })).map((heir) => heir.id);
  if (heirs.length === 0 && version === IN_PART) {
    return new HoldfastError("SessionDeleted", `only the name of the session ${JSON.stringify(id)} is in this store`, {
      details: { kind: "session", id, deleted: false },
      hint: "Imported sessions name it. Import its own archive to get it.",
    });
  }
  if (heirs.length === 0) {
    return new HoldfastError("SessionDeleted", `the session ${JSON.stringify(id)} was deleted`, {
      details: { kind: "session", id },
      hint: "List the sessions with sessions.list().",
    });
  }
  const names = heirs.map((heir) => JSON.stringify(heir)).join(", ");
  const details = { kind: "session", id, inheritedBy: heirs, deleted: version !== IN_PART };
  if (version === IN_PART) {
    return new HoldfastError(
      "SessionDeleted",
      `the session ${JSON.stringify(id)} is in this store only in part, inherited by ${names}`,
      {
        details,
        hint: "Read that part through the sessions that inherit it, or import its own archive to complete it.",
      },
    );
  }
  const [kept] = await storage.query("remains.messages", { session: no });
  const messages = kept?.n ?? 0;
  const what = messages === 0 ? "something" : messages === 1 ? "1 message" : `${messages} messages`;
  return new HoldfastError(
    "SessionDeleted",
    `the session ${JSON.stringify(id)} was deleted, except ${what} of it that ${names} inherit`,
    { details: { ...details, messages }, hint: "Read what was kept through the sessions that inherit it." },
  );
}

/**
 * For reads that found nothing: the caller may have passed an alias, which only sessions.get() accepts. An alias is
 * never a session's id, so no existing session is refused.
 */
export async function refuseAlias(storage: Storage, name: string): Promise<void> {
  const [row] = await storage.query("session.byAlias", { name });
  if (row === undefined) return;
  const [alias, id] = [JSON.stringify(name), JSON.stringify(row.id)];
  throw new HoldfastError("NotFound", `${alias} is an alias of the session ${id}, not a session's id`, {
    details: { kind: "alias", id: name, session: row.id },
    hint: "Use the id: sessions.get() returns it for the alias.",
  });
}

/** The session with this id or alias. */
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
  /** The head that the locator names; null if it names none. */
  readonly head: HeadRow | null;
}

export async function findAt(storage: Storage, locator: Locator): Promise<LocatedSession> {
  const session = await findSession(storage, locator.session);
  if (locator.head === undefined) return { session, head: null };
  const head = await findHead(storage, locator.head);
  if (head.session_no === session.no) return { session, head };
  throw new HoldfastError(
    "InvalidArgument",
    `the head ${head.id} belongs to the session ${JSON.stringify(head.session)}, not to ${JSON.stringify(session.id)}`,
    {
      details: { head: head.id, session: session.id, of: head.session },
      hint: "Name the head with its own session, or list the heads of this one with heads.list().",
    },
  );
}
