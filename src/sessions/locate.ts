// What callers name, for every verb that takes a session: its id, or a locator as text or as an object. A verb that reads
// honours a head; one that changes a session takes it as it stands, and says so instead of ignoring the head.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Locator } from "../contracts/lineage.ts";
import type { Storage } from "../contracts/storage.ts";
import { checkId } from "../core/check.ts";
import { existingSession } from "../core/existing.ts";
import { checkStore, formatLocator, isHeadId, isLocatorText } from "../core/locator.ts";
import { findSession } from "./find.ts";

/** With the store checked and the head's id whole. Whether there is such a session or head is for others to say. */
export type Locate = (at: unknown) => Promise<Locator>;

export function createLocate(
  storage: Storage,
  info: { readonly url: string; readonly storeId: string },
): { readonly locate: Locate; readonly requireCurrent: RequireCurrent; readonly resolveSessionId: ResolveSessionId } {
  const parse = async (at: unknown): Promise<Locator> => {
    if (typeof at !== "string" || !isLocatorText(at)) return checkStore(at, info);
    // A session whose id looks like a locator is preferred: its id must always reach it.
    const [row] = Buffer.byteLength(at) > LIMITS.idBytes ? [] : await storage.query("session.get", at);
    return row === undefined ? checkStore(at, info) : { session: at };
  };
  const locate = async (at: unknown): Promise<Locator> => {
    const found = await parse(at);
    if (found.head === undefined || isHeadId(found.head)) return found;
    return { ...found, head: await completeHeadId(storage, found.session, found.head) };
  };
  const requireCurrent: RequireCurrent = (at, what, hint) => {
    const named = (found: Locator) => requireNoHead(found, `${what} where a session stands`, hint);
    if (typeof at !== "string") return named(checkStore(at, info));
    // Ids go to the verb at once, which checks them: what was called first is written first.
    return isLocatorText(at) ? locate(at).then(named) : at;
  };
  return { locate, requireCurrent, resolveSessionId: createSessionIdResolver(storage, requireCurrent) };
}

/** Heads that an error names. */
const MOST_NAMED_HEADS = 10;

/** The id of the only head of the session that begins so. */
async function completeHeadId(storage: Storage, name: string, beginning: string): Promise<string> {
  const { no, id } = await findSession(storage, name);
  // Behind every hex digit.
  const rows = await storage.query("heads.beginning", no, beginning, `${beginning}g`, MOST_NAMED_HEADS);
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

/** For nouns that take a session's id, or a text that names one: what changes a session happens in the order of the calls. */
export type ResolveSessionId = (session: string, what: string, hint?: string) => string | Promise<string>;

/** An id that comes behind a text that is still looked up waits for it; otherwise it goes to the verb at once. */
function createSessionIdResolver(storage: Storage, requireCurrent: RequireCurrent): ResolveSessionId {
  let last: Promise<string> | null = null;
  /** A plain id may be new; a locator names a session that is there. */
  const find: ResolveSessionId = async (session, what, hint) => {
    const id = await requireCurrent(session, what, hint);
    if (!isLocatorText(session)) return id;
    const [row] = await storage.query("session.get", id);
    // Of one that was deleted each verb has its own to say.
    return row?.id ?? (await existingSession(storage, id)).id;
  };
  return (session, what, hint) => {
    if (last === null && !isLocatorText(session)) return session;
    const before: Promise<unknown> = last ?? Promise.resolve();
    const found = before.then(
      () => find(session, what, hint),
      () => find(session, what, hint),
    );
    const over = () => {
      if (last === found) last = null;
    };
    last = found;
    found.then(over, over);
    return found;
  };
}

/** For what reads, which a view does at a head. */
export const READ_AT_HEAD_HINT = "sessions.at() shows messages and state at a head; sessions.fork() goes on from one.";

/** The id of a session that is taken as it stands. */
export type RequireCurrent = (at: unknown, what: string, hint?: string) => string | Promise<string>;

const CONTINUE_HINT =
  "Go on from that head first, with sessions.fork() in a session of its own or with sessions.resume() in this one.";

/** `what` says what is not done at a head, and `hint` what to do instead. */
export function requireNoHead({ session, head }: Locator, what: string, hint = CONTINUE_HINT): string {
  if (head === undefined) return session;
  const named = JSON.stringify(formatLocator({ session, head }));
  throw new HoldfastError("InvalidArgument", `${what}, not at a head: ${named}`, { details: { session, head }, hint });
}

/** The session that asks for work in another, by id or alias. */
export async function resolveCaller(requireCurrent: RequireCurrent, caller: unknown): Promise<string> {
  return checkId(await requireCurrent(caller, "an invocation begins"), "caller");
}

type Verbs<T> = { readonly [K in keyof T]?: string };

/** The noun, whose verbs named here take a locator for the session that comes first. */
export function acceptLocators<T extends object>(noun: T, requireCurrent: RequireCurrent, verbs: Verbs<T>): T {
  const wrapped = Object.entries(verbs).map(([name, what]) => {
    const verb = noun[name as keyof T] as (...args: readonly unknown[]) => Promise<unknown>;
    const located = async (at: unknown, ...rest: readonly unknown[]) => {
      const id = requireCurrent(at, String(what));
      return verb(typeof id === "string" ? id : await id, ...rest);
    };
    return [name, located] as const;
  });
  return { ...noun, ...Object.fromEntries(wrapped) };
}
