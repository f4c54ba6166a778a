// Resolves names on the command line: a session by id or alias, a head by its id or the beginning of it, both
// (`chat-1@hd-1a2b`), a full locator, and for a fork a message (`chat-1#7`).
import { HoldfastError } from "../contracts/errors.ts";
import type { Head } from "../contracts/heads.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Locator } from "../contracts/locators.ts";
import { checkStore } from "../core/locator.ts";
import { AT_HEAD, needSession } from "./sessions.ts";
import { quoted } from "./terminal.ts";

/** Fewer digits would match too many heads. */
const HEAD = /^hd-[0-9a-f]{4,64}…?$/;
const WITH_HEAD = /^(.+)@(hd-[0-9a-f]{4,64})…?$/s;

export const LOCATOR_HELP =
  "SESSION is an id, an alias or a coding agent's session id. SESSION@HEAD, or HEAD alone, names one of its heads; " +
  "the first digits of a head's id are enough if no other head begins with them (hd-1a2b3c).";

/**
 * Returns a locator with full ids. A session with exactly this id or alias wins over every other reading of the text.
 */
export async function locate(holdfast: Holdfast, text: string): Promise<Locator> {
  if (text.startsWith("holdfast:")) return resolveFullLocator(holdfast, text);
  const session = await holdfast.sessions.get({ session: text });
  if (session !== null) return { session: session.id };
  if (HEAD.test(text)) {
    const head = await findHead(holdfast, text, null);
    return { session: head.session, head: head.id };
  }
  const [, name, digits] = WITH_HEAD.exec(text) ?? [];
  if (name === undefined || digits === undefined) {
    const [, at, head] = AT_HEAD.exec(text) ?? [];
    if (head !== undefined) throw headIdError(head, at ?? null);
    await refuseNumbered(holdfast, text);
    await refuseUnknownHead(holdfast, text);
    return { session: (await needSession(holdfast, text)).id };
  }
  const { id } = await needSession(holdfast, name);
  return { session: id, head: (await findHead(holdfast, digits, id)).id };
}

/** Says that the head is unknown, if what is before the @ is a session. */
async function refuseUnknownHead(holdfast: Holdfast, text: string): Promise<void> {
  const at = text.lastIndexOf("@");
  if (at <= 0) return;
  const session = await holdfast.sessions.get({ session: text.slice(0, at) });
  if (session !== null) throw headIdError(text.slice(at + 1), session.id);
}

/** Resolves `holdfast:store#session@head`; the store must be the open one. */
async function resolveFullLocator(holdfast: Holdfast, text: string): Promise<Locator> {
  const [, before, digits] = WITH_HEAD.exec(text) ?? [];
  const { session, head } = checkStore(before === undefined ? text : before, holdfast.info);
  const { id } = await needSession(holdfast, session);
  if (digits !== undefined) return { session: id, head: (await findHead(holdfast, digits, id)).id };
  return { session: id, ...(head === undefined ? {} : { head }) };
}

/** The error about a text that cannot be the beginning of a head's id. */
function headIdError(text: string, session: string | null): HoldfastError {
  const lists = listHeadsHint(session);
  if (/^hd-[0-9a-f]{0,3}…?$/.test(text)) {
    return new HoldfastError(
      "InvalidArgument",
      `${text} is too short: a head's name needs at least 4 digits of its id`,
      {
        hint: `give more digits; ${lists}`,
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

/** A session followed by a number, as users write a message or a step. */
const NUMBERED = /^(.+?)[#@:]+([1-9]\d{0,15})$/s;

/** Refuses a message where a command needs a session or a head, and shows the right form. */
async function refuseNumbered(holdfast: Holdfast, text: string): Promise<void> {
  const [, name, seq] = NUMBERED.exec(text) ?? [];
  if (name === undefined || (await holdfast.sessions.get({ session: text })) !== null) return;
  const session = await holdfast.sessions.get({ session: name });
  if (session === null) return;
  const message = quoted(`${session.id}#${seq}`);
  const isMessage = text.startsWith(`${name}#`);
  throw new HoldfastError("NotFound", `no session ${JSON.stringify(text)}`, {
    hint:
      `${isMessage ? `${message} names a message, but this command takes a session or a head` : `${message} is the name of a message`}: ` +
      `\`holdfast fork ${message}\` continues from it; ${quoted(`${session.id}@HEAD`)} names a head, and ${listHeadsHint(session.id)}`,
    details: { session: text },
  });
}

/** A suggestion searches at most so many messages. */
const LAST_MESSAGES = 1000;

/**
 * Suggests a message for a number that the session does not show: the message before it, or the inherited one with that
 * number.
 */
export async function suggestMessage(holdfast: Holdfast, session: string, message: string): Promise<string> {
  const lists = `\`holdfast messages ${quoted(session)}\` prints all message numbers`;
  const [, name, digits] = MESSAGE.exec(message) ?? [];
  const [seq, own] = [Number(digits), name === session];
  let [inherited, before]: [string | undefined, string | undefined] = [undefined, undefined];
  for (const one of await holdfast.history.session(session, { last: LAST_MESSAGES })) {
    if (one.session !== session) inherited = one.seq === seq ? one.id : inherited;
    else if (one.seq < seq) before = one.id;
  }
  if (own && inherited !== undefined) {
    return `the session inherits ${quoted(inherited)}: \`holdfast fork ${quoted(session)} --message ${quoted(inherited)}\`; ${lists}`;
  }
  if (own && before !== undefined)
    return `\`holdfast fork ${quoted(before)}\` continues from the last message before it; ${lists}`;
  return lists;
}

function listHeadsHint(session: string | null): string {
  return `\`holdfast heads ${session === null ? "SESSION" : quoted(session)}\` lists its heads`;
}

/** A fork shows the heads that it inherits, but they belong to the session that published them. */
function describeOtherHead({ id, session }: Head): string {
  return `it belongs to another session: ${quoted(`${session}@${id.slice(0, 11)}`)}`;
}

async function findHead(holdfast: Holdfast, text: string, session: string | null): Promise<Head> {
  const digits = text.replace(/…$/, "");
  const all = await holdfast.heads.find(digits);
  const found = all.filter((head) => session === null || head.session === session);
  const [head, ...others] = found;
  if (head === undefined) {
    throw new HoldfastError("NotFound", `no head ${digits}${session === null ? "" : ` in session "${session}"`}`, {
      hint: all.length === 1 && all[0] !== undefined ? describeOtherHead(all[0]) : listHeadsHint(session),
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

/** Resolves the point of a fork: a locator, or a message of a session. */
export async function locateFork(
  holdfast: Holdfast,
  text: string,
): Promise<{ readonly at: Locator; readonly message?: string }> {
  const [, name] = MESSAGE.exec(text) ?? [];
  if (name === undefined || text.startsWith("holdfast:") || (await holdfast.sessions.get({ session: text })) !== null) {
    return { at: await locate(holdfast, text) };
  }
  if ((await holdfast.sessions.get({ session: name })) === null) await refuseNumbered(holdfast, text);
  const { id } = await needSession(holdfast, name);
  return { at: { session: id }, message: `${id}${text.slice(name.length)}` };
}

/** Replaces the name in SESSION#SEQ by the session's id. The store checks any other text. */
export async function locateEvent(holdfast: Holdfast, text: string): Promise<string> {
  const [, name, seq] = MESSAGE.exec(text) ?? [];
  if (name === undefined || name.startsWith("holdfast:")) return text;
  return `${(await needSession(holdfast, name)).id}#${seq}`;
}

/** The beginning of a head's id, which is enough to name the head in tables and trees. */
export function shortHead(id: string): string {
  return `${id.slice(0, 11)}…`;
}
