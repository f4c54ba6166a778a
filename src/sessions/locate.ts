// What callers name, for every verb that takes a session: its id, or a locator as text or as an object. A verb that reads
// honours a head; one that changes a session takes it as it stands, and says so instead of ignoring the head.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Locator } from "../contracts/lineage.ts";
import type { Storage } from "../contracts/storage.ts";
import { checkId } from "../core/check.ts";
import { checkStore, formatLocator, isLocatorText } from "../core/locator.ts";

/** With the store checked. It says nothing yet about whether there is such a session or head. */
export type Locate = (at: unknown) => Promise<Locator>;

export function createLocate(
  storage: Storage,
  info: { readonly url: string; readonly storeId: string },
): { readonly locate: Locate; readonly standing: Standing } {
  const locate = async (at: unknown): Promise<Locator> => {
    if (typeof at !== "string" || !isLocatorText(at)) return checkStore(at, info);
    // A session that is called like a locator is meant first: whoever has its id has to reach it.
    const [called] = Buffer.byteLength(at) > LIMITS.idBytes ? [] : await storage.query("session.get", at);
    return called === undefined ? checkStore(at, info) : { session: at };
  };
  const standing: Standing = (at, what) => {
    if (typeof at !== "string") return withoutHead(checkStore(at, info), `${what} where a session stands`);
    // Ids go to the verb at once, which checks them: what was called first is written first.
    return isLocatorText(at) ? locate(at).then((found) => withoutHead(found, `${what} where a session stands`)) : at;
  };
  return { locate, standing };
}

/** The id of a session that is taken as it stands. */
export type Standing = (at: unknown, what: string) => string | Promise<string>;

const GO_ON =
  "Go on from that head first, with sessions.fork() in a session of its own or with sessions.resume() in this one.";

/** `what` says what is not done at a head, and `hint` what to do instead. */
export function withoutHead({ session, head }: Locator, what: string, hint = GO_ON): string {
  if (head === undefined) return session;
  const named = JSON.stringify(formatLocator({ session, head }));
  throw new HoldfastError("InvalidArgument", `${what}, not at a head: ${named}`, { details: { session, head }, hint });
}

/** The session that asks for work in another, by id or alias. */
export async function callerOf(standing: Standing, caller: unknown): Promise<string> {
  return checkId(await standing(caller, "an invocation begins"), "caller");
}

type Verbs<T> = { readonly [K in keyof T]?: string };

/** The noun, whose verbs named here take a locator for the session that comes first. */
export function taking<T extends object>(noun: T, standing: Standing, verbs: Verbs<T>): T {
  const wrapped = Object.entries(verbs).map(([name, what]) => {
    const verb = noun[name as keyof T] as (...args: readonly unknown[]) => Promise<unknown>;
    const located = async (at: unknown, ...rest: readonly unknown[]) => {
      const id = standing(at, String(what));
      return verb(typeof id === "string" ? id : await id, ...rest);
    };
    return [name, located] as const;
  });
  return { ...noun, ...Object.fromEntries(wrapped) };
}
