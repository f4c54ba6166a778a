// Names of sessions and heads as people and programs pass them on: `session`, `session@head`, `holdfast:store#session@head`; and
// the lookup of what they name, for every verb that takes a session. A verb that reads honours a head. A verb that changes a session
// works on its current state, and refuses a head instead of ignoring it.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Locator } from "../contracts/locators.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { checkFields, checkId, checkPlain, invalid } from "./check.ts";
import { existingSession } from "./existing.ts";
import { findSession } from "./find.ts";

const SCHEME = "holdfast:";
const HEAD = /^hd-[0-9a-f]{64}$/;
/** Fewer digits name too much to be meant. What tables show ends with an ellipsis. */
const BEGINNING = /^hd-[0-9a-f]{4,64}$/;
const AT_HEAD = /@(hd-[0-9a-f]{4,64})…?$/;

export function isHeadId(value: unknown): value is string {
  return typeof value === "string" && HEAD.test(value);
}

export function checkHeadId(value: unknown, what = "head"): string {
  if (!isHeadId(value)) throw invalid(what, "a head's id: hd- and 64 hex digits", value);
  return value;
}

function checkBeginning(value: unknown, what: string): string {
  if (typeof value === "string" && BEGINNING.test(value)) return value;
  throw invalid(what, "a head's id: hd- and 64 hex digits, or the first four or more of them", value);
}

/** Its head may be no more than the beginning of an id. */
export function parseLocator(at: unknown, what = "locator"): Locator {
  if (typeof at !== "string") return checkLocator(at, what);
  if (!at.startsWith(SCHEME)) return splitHead(at, what, (session) => session);
  const mark = at.indexOf("#");
  if (mark === -1) throw invalid(what, "holdfast:<store>#<session>[@<head>]", at);
  const store = decoded(at.slice(SCHEME.length, mark), what);
  return { store, ...splitHead(at.slice(mark + 1), what, (session) => decoded(session, what)) };
}

function checkLocator(at: unknown, what: string): Locator {
  const given = checkPlain(at, what);
  checkFields(given, what, ["store", "session", "head"]);
  return {
    session: checkId(given.session, `${what}.session`),
    ...(given.store === undefined ? {} : { store: checkId(given.store, `${what}.store`) }),
    ...(given.head === undefined ? {} : { head: checkBeginning(given.head, `${what}.head`) }),
  };
}

function splitHead(text: string, what: string, read: (session: string) => string): Locator {
  const [all, head] = AT_HEAD.exec(text) ?? ["", undefined];
  const session = checkId(read(text.slice(0, text.length - all.length)), what);
  return head === undefined ? { session } : { session, head };
}

function decoded(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid(what, "percent-encoded text", text);
  }
}

/** The text form: short when it names no store and can be read back as it is. */
export function formatLocator({ store, session, head }: Locator): string {
  const at = head === undefined ? "" : `@${head}`;
  const short = store === undefined && !session.startsWith(SCHEME) && (head !== undefined || !AT_HEAD.test(session));
  if (short) return `${session}${at}`;
  return `${SCHEME}${encodeURIComponent(store ?? "")}#${encodeURIComponent(session)}${at}`;
}

/** A text that says more than an id does. A session may still be called so: ids are plain data. */
export function isLocatorText(text: string): boolean {
  // Looked at for every message that is added: most ids have no such part.
  return text.startsWith(SCHEME) || (text.includes("@hd-") && AT_HEAD.test(text));
}

/**
 * A name that new sessions and aliases may not have: it is a locator, or looks like a mistyped one. With a digit too
 * few or a capital letter it would silently create a session where the caller named a head. Existing sessions keep such
 * names.
 */
export function isReserved(name: string): boolean {
  return /@hd-|^holdfast:/i.test(name);
}

export function reservedName(name: string, what: "session" | "alias"): HoldfastError {
  const shown = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
  return new HoldfastError("InvalidId", `no ${what} can be called ${shown}, which reads like the locator of one`, {
    details: { what, id: name },
    hint:
      "For a head write SESSION@HEAD, with hd- and 4 to 64 hex digits in small letters; for a session its id alone. New ids " +
      'hold no "@hd-" and do not begin with "holdfast:".',
  });
}

/** A locator of another store is refused: its ids mean something else here. */
export function checkStore(at: unknown, info: { readonly url: string; readonly storeId: string }): Locator {
  const locator = parseLocator(at);
  const { store } = locator;
  if (store === undefined || store === "" || store === info.url || store === info.storeId) return locator;
  throw new HoldfastError("InvalidArgument", `the locator is of another store: ${JSON.stringify(store)}`, {
    details: { store, here: info.url },
    hint: "Open that store, or leave the store out of the locator.",
  });
}

/** How the verbs of one store find the session that a caller names. */
export interface SessionLookup {
  readonly locate: Locate;
  readonly requireCurrent: RequireCurrent;
  readonly resolveSessionId: ResolveSessionId;
}

/** The store is checked and the head's id is whole. Whether there is such a session or head is for the verb to say. */
export type Locate = (at: unknown) => Locator | Promise<Locator>;

/** The id of a session whose current state a verb works on. `action` says what is not done at a head, `hint` what to do instead. */
export type RequireCurrent = (at: unknown, action: string, hint?: string) => string | Promise<string>;

/** The same for verbs that take text only, and that change a session in the order of the calls. */
export type ResolveSessionId = (session: string, action: string, hint?: string) => string | Promise<string>;

export function createSessionLookup(
  storage: Storage,
  info: { readonly url: string; readonly storeId: string },
): SessionLookup {
  const locateText = async (at: string): Promise<Locator> => {
    // A session whose id reads like a locator is found first: only its id can name it.
    const [session] = Buffer.byteLength(at) > LIMITS.idBytes ? [] : await storage.query("session.get", { id: at });
    return session === undefined ? completeHead(storage, checkStore(at, info)) : { session: at };
  };
  // An id goes to the verb at once, so that verbs begin in the order of their calls.
  const locate: Locate = (at) =>
    typeof at === "string" && isLocatorText(at) ? locateText(at) : completeHead(storage, checkStore(at, info));
  const requireCurrent: RequireCurrent = (at, action, hint) => {
    const requireNone = (found: Locator) => requireNoHead(found, `${action} where a session stands`, hint);
    if (typeof at !== "string") return requireNone(checkStore(at, info));
    return isLocatorText(at) ? locateText(at).then(requireNone) : at;
  };
  return { locate, requireCurrent, resolveSessionId: createResolver(storage, requireCurrent) };
}

function completeHead(storage: Storage, locator: Locator): Locator | Promise<Locator> {
  const { session, head } = locator;
  if (head === undefined || isHeadId(head)) return locator;
  return findHeadId(storage, session, head).then((id) => ({ ...locator, head: id }));
}

/** Heads that an error names. */
const MOST_NAMED_HEADS = 10;

/** The id of the only head of the session that begins so. */
async function findHeadId(storage: Storage, name: string, beginning: string): Promise<string> {
  const { no, id } = await findSession(storage, name);
  // Behind every hex digit.
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

/** An id that comes after a locator whose lookup is not done waits for that lookup; otherwise it goes to the verb at once. */
function createResolver(storage: Storage, requireCurrent: RequireCurrent): ResolveSessionId {
  let last: Promise<string> | null = null;
  /** A plain id may be new; a locator names a session that exists. */
  const find: ResolveSessionId = async (session, action, hint) => {
    const id = await requireCurrent(session, action, hint);
    if (!isLocatorText(session)) return id;
    const [row] = await storage.query("session.get", { id });
    // Each verb has an error of its own for a session that was deleted.
    return row?.id ?? (await existingSession(storage, id)).id;
  };
  return (session, action, hint) => {
    if (last === null && !isLocatorText(session)) return session;
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

const CONTINUE_HINT =
  "Go on from that head first, with sessions.fork() in a session of its own or with sessions.resume() in this one.";

export function requireNoHead({ session, head }: Locator, action: string, hint = CONTINUE_HINT): string {
  if (head === undefined) return session;
  const named = JSON.stringify(formatLocator({ session, head }));
  throw new HoldfastError("InvalidArgument", `${action}, not at a head: ${named}`, {
    details: { session, head },
    hint,
  });
}
