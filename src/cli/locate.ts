// What people name on the command line: a session by id or alias, a head by its id or the beginning of it, both
// (`chat-1@hd-1a2b`), a whole locator, and for a fork a message (`chat-1#7`).
import { HoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Head, Locator } from "../contracts/lineage.ts";
import { checkStore } from "../core/locator.ts";
import { AT_HEAD, needSession } from "./store.ts";
import { quoted } from "./terminal.ts";

/** Fewer digits name too much to be meant. */
const HEAD = /^hd-[0-9a-f]{4,64}…?$/;
const WITH_HEAD = /^(.+)@(hd-[0-9a-f]{4,64})…?$/s;

export const LOCATOR_HELP =
  "SESSION is an id or alias, or what a coding agent calls its session. SESSION@HEAD names a head of it, and HEAD alone too; " +
  "the first digits of a head's id do, as long as no other begins with them (hd-1a2b3c).";

/** With the ids written out. A session whose id looks like something else is still that session. */
export async function locate(holdfast: Holdfast, text: string): Promise<Locator> {
  if (text.startsWith("holdfast:")) return wholeLocator(holdfast, text);
  const session = await holdfast.sessions.get({ session: text });
  if (session !== null) return { session: session.id };
  if (HEAD.test(text)) {
    const head = await oneHead(holdfast, text, null);
    return { session: head.session, head: head.id };
  }
  const [, name, digits] = WITH_HEAD.exec(text) ?? [];
  if (name === undefined || digits === undefined) {
    const [, at, head] = AT_HEAD.exec(text) ?? [];
    if (head !== undefined) throw noHead(head, at ?? null);
    return { session: (await needSession(holdfast, text)).id };
  }
  const { id } = await needSession(holdfast, name);
  return { session: id, head: (await oneHead(holdfast, digits, id)).id };
}

/** `holdfast:store#session@head`: the store must be the one that is open. */
async function wholeLocator(holdfast: Holdfast, text: string): Promise<Locator> {
  const [, before, digits] = WITH_HEAD.exec(text) ?? [];
  const { session, head } = checkStore(before === undefined ? text : before, holdfast.info);
  const { id } = await needSession(holdfast, session);
  if (digits !== undefined) return { session: id, head: (await oneHead(holdfast, digits, id)).id };
  return { session: id, ...(head === undefined ? {} : { head }) };
}

/** What cannot be the beginning of a head's id, with the reason. */
function noHead(text: string, session: string | null): HoldfastError {
  const lists = listsHeads(session);
  if (/^hd-[0-9a-f]{0,3}…?$/.test(text)) {
    return new HoldfastError(
      "InvalidArgument",
      `${text} is too short: a head is named by at least 4 digits of its id`,
      {
        hint: `give more of them; ${lists}`,
        details: { kind: "head", id: text },
      },
    );
  }
  const why = !text.startsWith("hd-")
    ? `a head begins with hd-: hd-${text}`
    : "a head is hd- and 64 hex digits, or the first of them";
  return new HoldfastError(
    "NotFound",
    `no head begins with ${text}${session === null ? "" : ` in session "${session}"`}`,
    {
      hint: `${why}; ${lists}`,
      details: { kind: "head", id: text },
    },
  );
}

function listsHeads(session: string | null): string {
  return `\`holdfast heads ${session === null ? "SESSION" : quoted(session)}\` lists those there are`;
}

/** A fork shows the heads of what it was made from, and they are still that session's. */
function elsewhere({ id, session }: Head): string {
  return `it is a head of another session: ${quoted(`${session}@${id.slice(0, 11)}`)}`;
}

async function oneHead(holdfast: Holdfast, text: string, session: string | null): Promise<Head> {
  const digits = text.replace(/…$/, "");
  const all = await holdfast.heads.find(digits);
  const found = all.filter((head) => session === null || head.session === session);
  const [head, ...others] = found;
  if (head === undefined) {
    throw new HoldfastError("NotFound", `no head ${digits}${session === null ? "" : ` in session "${session}"`}`, {
      hint: all.length === 1 && all[0] !== undefined ? elsewhere(all[0]) : listsHeads(session),
      details: { kind: "head", id: digits },
    });
  }
  if (others.length === 0) return head;
  throw new HoldfastError("InvalidArgument", `${found.length} heads begin with ${digits}`, {
    hint: `give more digits: ${found.map(({ id }) => id.slice(0, digits.length + 4)).join(", ")}`,
    details: { kind: "head", heads: found.map(({ id }) => id) },
  });
}

const MESSAGE = /^(.+)#([1-9]\d{0,15})$/s;

/** Where a fork begins: a locator, or a message of a session. */
export async function locateFork(
  holdfast: Holdfast,
  text: string,
): Promise<{ readonly at: Locator; readonly message?: string }> {
  const [, name] = MESSAGE.exec(text) ?? [];
  if (name === undefined || text.startsWith("holdfast:") || (await holdfast.sessions.get({ session: text })) !== null) {
    return { at: await locate(holdfast, text) };
  }
  const { id } = await needSession(holdfast, name);
  return { at: { session: id }, message: `${id}${text.slice(name.length)}` };
}

/** SESSION#SEQ, where the session may be named in any way; whatever else it says is for the store to judge. */
export async function locateEvent(holdfast: Holdfast, text: string): Promise<string> {
  const [, name, seq] = MESSAGE.exec(text) ?? [];
  if (name === undefined || name.startsWith("holdfast:")) return text;
  return `${(await needSession(holdfast, name)).id}#${seq}`;
}

/** Enough of a head's id to name it, for tables and trees. */
export function shortHead(id: string): string {
  return `${id.slice(0, 11)}…`;
}
