// Finds the session that a user names by id, alias, locator or a coding agent's session id.
import { HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Session } from "../contracts/session.ts";
import { isSessionIdOf, MIRROR_TAG } from "../core/agent-sessions.ts";
import { checkStore } from "../core/locator.ts";
import { UsageError } from "./failure.ts";
import { quoted } from "./terminal.ts";
import { plural } from "./units.ts";

/**
 * Returns the session of a locator `holdfast:store#session`, and other texts unchanged. Refuses a locator of another
 * store.
 */
function readSessionName(holdfast: Holdfast, text: string, advice?: HeadAdvice): string {
  if (!text.startsWith("holdfast:") || !text.includes("#")) return text;
  const { session, head } = checkStore(text, holdfast.info);
  if (head !== undefined) throw refuseHead(text, session, text, advice);
  return session;
}

/** Advises what to do instead of passing a head to a command that takes none. `named` is the head with its session. */
export type HeadAdvice = (named: string) => string;

const READ_OR_FORK: HeadAdvice = (named) =>
  `\`holdfast messages ${named}\` prints the messages up to that head, \`holdfast fork ${named} NEW-ID\` continues from it`;

function refuseHead(text: string, session: string, named = text, advice = READ_OR_FORK): UsageError {
  const what = named === text ? "names a head" : `names a head of session ${quoted(session)}`;
  return new UsageError(
    `"${text}" ${what}, but this command takes a session without a head, such as ${quoted(session)}; ${advice(quoted(named))}`,
  );
}

/** Matches a head, or a text like one, after its session and @ or alone. */
export const AT_HEAD = /^(?:(.+)@)?(hd-[^@]*|(?<=@)[0-9a-f]{4,64})$/s;

/**
 * Finds the session for an id that a coding agent prints: `claude-code/<id>`, or the session that the Claude Agent SDK
 * mirrored under this id.
 */
async function findByAgentId({ sessions }: Holdfast, id: string): Promise<Session | null> {
  const agent = (["claude-code", "opencode"] as const).find((one) => isSessionIdOf(one, id));
  if (agent === undefined) return null;
  const own = await sessions.get({ session: `${agent}/${id}` });
  if (own !== null || agent !== "claude-code") return own;
  const { items } = await sessions.list({ tag: `${MIRROR_TAG}:${id}`, limit: MOST_NAMED });
  if (items.length < 2) return items[0] ?? null;
  throw new HoldfastError("InvalidArgument", `several sessions have the Claude Code id ${id}`, {
    hint: `name one of them: ${items.map((one) => quoted(one.id)).join(", ")}`,
    details: { kind: "session", id, sessions: items.map((one) => one.id) },
  });
}

/** Finds a session by its id, alias, locator or coding agent's id; null if there is none. Refuses a head. */
export async function findSession(holdfast: Holdfast, text: string, advice?: HeadAdvice): Promise<Session | null> {
  const name = readSessionName(holdfast, text, advice);
  const session = (await holdfast.sessions.get({ session: name })) ?? (await findByAgentId(holdfast, name));
  if (session !== null) return session;
  const [, at, digits] = AT_HEAD.exec(text) ?? [];
  if (at === undefined) {
    const [head] = digits !== undefined && HEAD_ID.test(digits) ? await holdfast.heads.find(digits) : [];
    if (head === undefined) return null;
    throw refuseHead(text, head.session, `${head.session}@${head.id.slice(0, 11)}`, advice);
  }
  if ((await holdfast.sessions.get({ session: readSessionName(holdfast, at) })) === null) return null;
  throw refuseHead(text, at, text, advice);
}

/** An error names at most so many sessions. */
const MOST_NAMED = 5;

/** Matches a head's id, or enough of its beginning to name the head. */
const HEAD_ID = /^hd-[0-9a-f]{4,64}$/;

/** Finds a session like findSession(), and throws if there is none. */
export async function needSession(holdfast: Holdfast, idOrAlias: string, advice?: HeadAdvice): Promise<Session> {
  const session = await findSession(holdfast, idOrAlias, advice);
  if (session !== null) return session;
  const tombstone = await findTombstone(holdfast, idOrAlias);
  const heirs = tombstone?.details.inheritedBy;
  if (Array.isArray(heirs)) throw inheritedError(idOrAlias, heirs.map(String), tombstone?.details ?? {});
  if (tombstone?.details.deleted === false) throw tombstone;
  if (tombstone !== null) {
    throw new HoldfastError("SessionDeleted", `session "${idOrAlias}" was erased`, {
      hint: "an id is never used again; `holdfast sessions` lists all sessions",
      details: { session: idOrAlias },
    });
  }
  const { items } = await holdfast.sessions.list({ request: idOrAlias, limit: 1 });
  throw new HoldfastError("NotFound", `no session "${idOrAlias}"`, {
    hint:
      items.length === 0
        ? "`holdfast sessions` lists all sessions"
        : `${quoted(idOrAlias)} is a request: \`holdfast sessions --request ${quoted(idOrAlias)}\` lists its sessions`,
    details: { session: idOrAlias },
  });
}

/** The error about a session of which only the part that its forks inherit is left, or was imported. */
function inheritedError(
  session: string,
  heirs: readonly string[],
  { deleted, messages = 0 }: Readonly<Record<string, unknown>>,
): HoldfastError {
  const names = heirs.join(", ");
  const what = messages === 0 ? "parts" : plural(Number(messages), "message");
  const [message, more] =
    deleted === false
      ? [`is in this store only in part, inherited by ${names}`, "; importing its own archive completes it"]
      : [`was erased, except ${what} that these sessions inherit: ${names}`, ""];
  return new HoldfastError("SessionDeleted", `session "${session}" ${message}`, {
    hint: `\`holdfast messages ${quoted(heirs[0] ?? "")}\` shows the part that is left${more}`,
    details: { session, inheritedBy: heirs },
  });
}

/** Whether the session was erased. Only the log distinguishes an erased session from one that never existed. */
export async function hasTombstone(holdfast: Holdfast, session: string): Promise<boolean> {
  return (await findTombstone(holdfast, session)) !== null;
}

async function findTombstone(holdfast: Holdfast, session: string): Promise<HoldfastError | null> {
  try {
    await holdfast.log.anchor({ session });
    return null;
  } catch (error) {
    return isHoldfastError(error) && error.code === "SessionDeleted" ? error : null;
  }
}
