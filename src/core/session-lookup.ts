// From what callers name to a session, for every verb that takes one: its id, or a locator as text or as an object. A verb that
// reads honours a head. A verb that changes a session works on its current state, and refuses a head instead of ignoring it.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Locator } from "../contracts/locators.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { existingSession } from "./existing-session.ts";
import { findSession } from "./find-session.ts";
import { AT_HEAD, checkStore, formatLocator, isHeadId, SCHEME } from "./locator.ts";

/** How the verbs of one store find the session that a caller names. */
export interface SessionLookup {
  readonly locate: Locate;
  readonly requireCurrent: RequireCurrent;
  readonly resolveSessionId: ResolveSessionId;
}

/** The store is checked and the head's id is whole. Whether there is such a session or head is for the verb to say. */
export type Locate = (at: unknown) => Locator | Promise<Locator>;

/** The id of a session whose current state a verb works on. `action` says what is not done at a head, `hint` what to do instead. */
type RequireCurrent = (at: unknown, action: string, hint?: string) => string | Promise<string>;

/** The same for verbs that may create the session that an id names, and that change a session in the order of the calls. */
type ResolveSessionId = (session: unknown, action: string, hint?: string) => string | Promise<string>;

/** What a locator may name the store by. */
interface StoreNames {
  readonly url: string;
  readonly storeId: string;
}

export function createSessionLookup(storage: Storage, info: StoreNames): SessionLookup {
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
  return { locate, requireCurrent, resolveSessionId: createResolver(storage, info, requireCurrent) };
}

/** A text that says more than an id does. A session may still be called so: ids are plain data. */
function isLocatorText(text: string): boolean {
  // Looked at for every message that is added: most ids have no such part.
  return text.startsWith(SCHEME) || (text.includes("@hd-") && AT_HEAD.test(text));
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
function createResolver(storage: Storage, info: StoreNames, requireCurrent: RequireCurrent): ResolveSessionId {
  let last: Promise<string> | null = null;
  /** A plain id may be new; a locator names a session that exists. */
  const find: ResolveSessionId = async (session, action, hint) => {
    const id = await requireCurrent(session, action, hint);
    if (isPlainId(session)) return id;
    const [row] = await storage.query("session.get", { id });
    // Each verb has an error of its own for a session that was deleted.
    return row?.id ?? (await existingSession(storage, id)).id;
  };
  return (name, action, hint) => {
    if (last === null && isPlainId(name)) return name;
    // Read at the call and once: the caller may change its object while earlier lookups are under way.
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
  "Go on from that head first, with sessions.fork() in a session of its own or with sessions.resume() in this one.";

export function requireNoHead({ session, head }: Locator, action: string, hint = CONTINUE_HINT): string {
  if (head === undefined) return session;
  const named = JSON.stringify(formatLocator({ session, head }));
  throw new HoldfastError("InvalidArgument", `${action}, not at a head: ${named}`, {
    details: { session, head },
    hint,
  });
}
