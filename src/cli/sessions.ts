// Finds the session that a user names: by id, alias, locator or the id that a coding agent gave it.
import { HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Session } from "../contracts/session.ts";
import { isSessionIdOf, MIRROR_TAG } from "../core/agent-sessions.ts";
import { checkStore } from "../core/locator.ts";
import { UsageError } from "./failure.ts";
import { quoted } from "./terminal.ts";
import { plural } from "./units.ts";

/** The session in a locator `holdfast:store#session`, if the text is one. A locator of another store is refused. */
function readSessionName(holdfast: Holdfast, text: string, instead?: HeadAdvice): string {
  if (!text.startsWith("holdfast:") || !text.includes("#")) return text;
  const { session, head } = checkStore(text, holdfast.info);
  if (head !== undefined) throw refuseHead(text, session, text, instead);
  return session;
}

/** What a command that takes no head tells the user to do instead. `named` is the head with its session. */
export type HeadAdvice = (named: string) => string;

const READ_OR_FORK: HeadAdvice = (named) =>
  `\`holdfast messages ${named}\` prints the messages up to there, \`holdfast fork ${named} NEW-ID\` continues from there`;

function refuseHead(text: string, session: string, named = text, instead = READ_OR_FORK): UsageError {
  const what = named === text ? "names a head" : `names a head of session ${quoted(session)}`;
  return new UsageError(
    `"${text}" ${what}, and this command takes a session without a head, such as ${quoted(session)}; ${instead(quoted(named))}`,
  );
}

/** A head, or something like one: after its session and @, or alone. */
export const AT_HEAD = /^(?:(.+)@)?(hd-[^@]*|(?<=@)[0-9a-f]{4,64})$/s;

/**
 * The session that a coding agent prints this id for: `claude-code/<id>`, or the one session that the Claude Agent SDK mirrored
 * under it.
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

/** Finds a session by its id, alias, locator or coding agent's id; null: there is none. A head is refused. */
export async function findSession(holdfast: Holdfast, text: string, instead?: HeadAdvice): Promise<Session | null> {
  const name = readSessionName(holdfast, text, instead);
  const session = (await holdfast.sessions.get({ session: name })) ?? (await findByAgentId(holdfast, name));
  if (session !== null) return session;
  const [, at, digits] = AT_HEAD.exec(text) ?? [];
  if (at === undefined) {
    const [head] = digits !== undefined && HEAD_ID.test(digits) ? await holdfast.heads.find(digits) : [];
    if (head === undefined) return null;
    throw refuseHead(text, head.session, `${head.session}@${head.id.slice(0, 11)}`, instead);
  }
  if ((await holdfast.sessions.get({ session: readSessionName(holdfast, at) })) === null) return null;
  throw refuseHead(text, at, text, instead);
}

/** At most so many sessions are named in an error. */
const MOST_NAMED = 5;

/** A head's id, or enough of its beginning to name it. */
const HEAD_ID = /^hd-[0-9a-f]{4,64}$/;

/** The same for a session that must exist. */
export async function needSession(holdfast: Holdfast, idOrAlias: string, instead?: HeadAdvice): Promise<Session> {
  const session = await findSession(holdfast, idOrAlias, instead);
  if (session !== null) return session;
  const left = await findTombstone(holdfast, idOrAlias);
  const heirs = left?.details.inheritedBy;
  if (Array.isArray(heirs)) throw inheritedError(idOrAlias, heirs.map(String), left?.details ?? {});
  if (left?.details.deleted === false) throw left;
  if (left !== null) {
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
        : `it is a request: \`holdfast sessions --request ${quoted(idOrAlias)}\` lists its sessions`,
    details: { session: idOrAlias },
  });
}

/** The session was erased and a part is kept for its forks, or only the part that its forks inherit was imported. */
function inheritedError(
  session: string,
  heirs: readonly string[],
  { deleted, messages = 0 }: Readonly<Record<string, unknown>>,
): HoldfastError {
  const names = heirs.join(", ");
  const what = messages === 0 ? "parts" : plural(Number(messages), "message");
  const [message, more] =
    deleted === false
      ? [`is here only in part, inherited by ${names}`, "; importing its own archive completes it"]
      : [`was erased, except ${what} that these sessions inherit: ${names}`, ""];
  return new HoldfastError("SessionDeleted", `session "${session}" ${message}`, {
    hint: `\`holdfast messages ${quoted(heirs[0] ?? "")}\` shows the part that is here${more}`,
    details: { session, inheritedBy: heirs },
  });
}

/** Whether the session was erased. Only its log tells an erased session from one that never existed. */
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
