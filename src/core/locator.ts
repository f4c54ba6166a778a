// Names of sessions and heads for people and programs: `session`, `session@head`, `holdfast:store#session@head`.
import { HoldfastError } from "../contracts/errors.ts";
import type { Locator } from "../contracts/locators.ts";
import { checkFields, checkId, checkPlain, invalid } from "./check.ts";

export const SCHEME = "holdfast:";
const HEAD = /^hd-[0-9a-f]{64}$/;
/** Fewer digits would match too many heads. Tables print the beginning with an ellipsis. */
const BEGINNING = /^hd-[0-9a-f]{4,64}$/;
export const AT_HEAD = /@(hd-[0-9a-f]{4,64})…?$/;

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

/** The head of the result may be only the beginning of an id. */
function parseLocator(at: unknown, what = "locator"): Locator {
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

/** The text form. It is the short one if the locator names no store and the short form can be parsed. */
export function formatLocator({ store, session, head }: Locator): string {
  const at = head === undefined ? "" : `@${head}`;
  const short = store === undefined && !session.startsWith(SCHEME) && (head !== undefined || !AT_HEAD.test(session));
  if (short) return `${session}${at}`;
  return `${SCHEME}${encodeURIComponent(store ?? "")}#${encodeURIComponent(session)}${at}`;
}

/**
 * A name that new sessions and aliases may not have: it is a locator, or looks like a mistyped one. Otherwise a head
 * with a missing digit or a capital letter would silently create a session. Existing sessions keep such names.
 */
export function isReserved(name: string): boolean {
  return /@hd-|^holdfast:/i.test(name);
}

export function reservedName(name: string, what: "session" | "alias"): HoldfastError {
  const shown = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
  return new HoldfastError("InvalidId", `a ${what} cannot be named ${shown}, which looks like a locator`, {
    details: { what, id: name },
    hint:
      "For a head write SESSION@HEAD, with hd- and 4 to 64 hex digits in lower case; for a session only its id. New ids " +
      'must not contain "@hd-" or begin with "holdfast:".',
  });
}

/** Refuses a locator of another store, whose ids are of no use in this one. */
export function checkStore(at: unknown, info: { readonly url: string; readonly storeId: string }): Locator {
  const locator = parseLocator(at);
  const { store } = locator;
  if (store === undefined || store === "" || store === info.url || store === info.storeId) return locator;
  throw new HoldfastError("InvalidArgument", `the locator names another store: ${JSON.stringify(store)}`, {
    details: { store, here: info.url },
    hint: "Open that store, or leave the store out of the locator.",
  });
}
