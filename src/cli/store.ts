// Which store a command works on, and what to say when it is not there. Only `init`, `demo` and what brings a coding agent's
// sessions in create one: a slip in --store must not leave an empty store behind.
import * as path from "node:path";
import { HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast, OpenOptions } from "../contracts/holdfast.ts";
import type { Session } from "../contracts/session.ts";
import { isSessionIdOf, MIRROR_TAG } from "../core/agent-sessions.ts";
import { checkStore } from "../core/locator.ts";
import { hidePassword, mayHoldPassword } from "../core/store-url.ts";
import { UsageError } from "./failure.ts";
import { givenFileMode } from "./file-mode.ts";
import type { Io } from "./io.ts";
import { quoted } from "./terminal.ts";
import { plural } from "./units.ts";

export const DEFAULT_STORE = "./holdfast.db";

export interface StoreChoice {
  /** For open(): a path is absolute, so that the directory of the process does not matter. */
  readonly url: string;
  /** As the user wrote it, without a password: for people. */
  readonly name: string;
  readonly blobDirectory: string | undefined;
  /** Rights of files that are made; undefined: the owner's only. */
  readonly fileMode: number | undefined;
}

export function chooseStore(store: string | undefined, blobDirectory: string | undefined, io: Io): StoreChoice {
  const given = store ?? (io.env.HOLDFAST_STORE || DEFAULT_STORE);
  const directory = blobDirectory ?? (io.env.HOLDFAST_BLOB_DIR || undefined);
  return {
    url: isPath(given) ? path.resolve(io.cwd, given) : given,
    name: hidePassword(given),
    blobDirectory: directory === undefined ? undefined : path.resolve(io.cwd, directory),
    fileMode: givenFileMode(io.env),
  };
}

/** What makes another command, or another process, choose the same store. */
export function storeEnvironment(choice: StoreChoice): { HOLDFAST_STORE: string; HOLDFAST_BLOB_DIR: string } {
  return { HOLDFAST_STORE: choice.url, HOLDFAST_BLOB_DIR: choice.blobDirectory ?? "" };
}

/**
 * As they stand on a command line, after the command. A hidden password stays hidden: the server refuses a user who
 * copies the line, where a line without --store would work on another store.
 */
export function storeOptions(name: string | undefined, blobDirectory: string | undefined): string {
  const store = name === undefined ? "" : ` --store ${quoted(name)}`;
  return store + (blobDirectory === undefined ? "" : ` --blob-dir ${quoted(blobDirectory)}`);
}

/** What looks like a password is left to open(), which refuses it without showing it. */
function isPath(url: string): boolean {
  if (mayHoldPassword(url)) return false;
  return url !== "" && url !== ":memory:" && !/^(file|postgres|postgresql):|^[a-z][a-z0-9+.-]+:\/\//i.test(url);
}

function isDefault({ name }: StoreChoice): boolean {
  return name === DEFAULT_STORE;
}

function initHint(choice: StoreChoice): string {
  // A hidden password makes a name that cannot be used again.
  if (choice.name.includes("***")) return "run `holdfast init` with the same store to create it";
  return `run \`holdfast init${isDefault(choice) ? "" : ` --store ${quoted(choice.name)}`}\` to create it`;
}

export async function openStore(choice: StoreChoice, options: OpenOptions = {}): Promise<Holdfast> {
  if (choice.url === ":memory:") {
    throw new UsageError("a store in memory is gone when the command ends; name a file with --store");
  }
  // Loaded only now, so that --help does not wait for a database engine. Not index.ts: a command needs no models and no loop.
  const { blobsIn, open } = await import("../open.ts");
  const mode = choice.fileMode === undefined ? {} : { fileMode: choice.fileMode };
  const blobs = choice.blobDirectory === undefined ? {} : { blobs: blobsIn(choice.blobDirectory, mode) };
  try {
    return await open(choice.url, { create: false, ...blobs, ...mode, ...options });
  } catch (error) {
    // Where nothing is to be created, a missing directory is just one more way of not being there.
    if (!isHoldfastError(error)) throw error;
    const isAbsent = error.code === "MissingDirectory" || (error.code === "NotFound" && error.details.kind === "store");
    if (!isAbsent || options.create === true) throw error;
    throw new HoldfastError("NotFound", `no store at ${choice.name}`, {
      hint: `${initHint(choice)}, or pass ${isDefault(choice) ? "--store URL" : "another --store"}`,
      details: error.details,
      cause: error,
    });
  }
}

/** `holdfast:store#session` as other programs write it; of another store it is refused. */
function nameIn(holdfast: Holdfast, text: string, instead?: Instead): string {
  if (!text.startsWith("holdfast:") || !text.includes("#")) return text;
  const { session, head } = checkStore(text, holdfast.info);
  if (head !== undefined) throw notAtHead(text, session, text, instead);
  return session;
}

/** What a command that takes no head says instead: given the head as it is named, with its session. */
export type Instead = (named: string) => string;

const READ_OR_GO_ON: Instead = (named) =>
  `\`holdfast messages ${named}\` shows what was said up to there, \`holdfast fork ${named} NEW-ID\` goes on from there`;

function notAtHead(text: string, session: string, named = text, instead = READ_OR_GO_ON): UsageError {
  const what = named === text ? "names a head" : `names a head of session ${quoted(session)}`;
  return new UsageError(
    `"${text}" ${what}, and this takes a session as it stands, such as ${quoted(session)}; ${instead(quoted(named))}`,
  );
}

/** What looks like a head, whole or not: of a session, or alone. */
export const AT_HEAD = /^(?:(.+)@)?(hd-[^@]*|(?<=@)[0-9a-f]{4,64})$/s;

/**
 * What a coding agent calls its session is what it prints: it names ours, `claude-code/…`, where nothing else does, or the one
 * that the Claude Agent SDK mirrored, when that is one.
 */
async function sessionOfAgent({ sessions }: Holdfast, id: string): Promise<Session | null> {
  const agent = (["claude-code", "opencode"] as const).find((one) => isSessionIdOf(one, id));
  if (agent === undefined) return null;
  const own = await sessions.get({ session: `${agent}/${id}` });
  if (own !== null || agent !== "claude-code") return own;
  const { items } = await sessions.list({ tag: `${MIRROR_TAG}:${id}`, limit: SEVERAL });
  if (items.length < 2) return items[0] ?? null;
  throw new HoldfastError("InvalidArgument", `several sessions are what Claude Code calls ${id}`, {
    hint: `name one of them: ${items.map((one) => quoted(one.id)).join(", ")}`,
    details: { kind: "session", id, sessions: items.map((one) => one.id) },
  });
}

/**
 * By id, alias, the text of a locator or what a coding agent calls it: a session as it stands. null when there is none; a
 * head is refused.
 */
export async function findSession(holdfast: Holdfast, text: string, instead?: Instead): Promise<Session | null> {
  const name = nameIn(holdfast, text, instead);
  const session = (await holdfast.sessions.get({ session: name })) ?? (await sessionOfAgent(holdfast, name));
  if (session !== null) return session;
  const [, at, digits] = AT_HEAD.exec(text) ?? [];
  if (at === undefined) {
    const [head] = digits !== undefined && ALONE.test(digits) ? await holdfast.heads.find(digits) : [];
    if (head === undefined) return null;
    throw notAtHead(text, head.session, `${head.session}@${head.id.slice(0, 11)}`, instead);
  }
  if ((await holdfast.sessions.get({ session: nameIn(holdfast, at) })) === null) return null;
  throw notAtHead(text, at, text, instead);
}

/** So many are named when one could be meant. */
const SEVERAL = 5;

/** As much of a head's id as names it. */
const ALONE = /^hd-[0-9a-f]{4,64}$/;

/** The same, when it must be there. */
export async function needSession(holdfast: Holdfast, idOrAlias: string, instead?: Instead): Promise<Session> {
  const session = await findSession(holdfast, idOrAlias, instead);
  if (session !== null) return session;
  const left = await tombstone(holdfast, idOrAlias);
  const heirs = left?.details.inheritedBy;
  if (Array.isArray(heirs)) throw inherited(idOrAlias, heirs.map(String), left?.details ?? {});
  if (left?.details.deleted === false) throw left;
  if (left !== null) {
    throw new HoldfastError("SessionDeleted", `session "${idOrAlias}" was erased`, {
      hint: "its id is not used again; `holdfast sessions` lists those there are",
      details: { session: idOrAlias },
    });
  }
  const { items } = await holdfast.sessions.list({ request: idOrAlias, limit: 1 });
  throw new HoldfastError("NotFound", `no session "${idOrAlias}"`, {
    hint:
      items.length === 0
        ? "`holdfast sessions` lists those there are"
        : `it is a request: \`holdfast sessions --request ${quoted(idOrAlias)}\` lists its sessions`,
    details: { session: idOrAlias },
  });
}

/** Of one that was erased something is kept for its forks; one that only came along with them was never here as a whole. */
function inherited(
  session: string,
  heirs: readonly string[],
  { deleted, messages = 0 }: Readonly<Record<string, unknown>>,
): HoldfastError {
  const names = heirs.join(", ");
  const what = messages === 0 ? "what they need" : plural(Number(messages), "message");
  const [message, more] =
    deleted === false
      ? [`is here only in part, inherited by ${names}`, "; importing its own archive completes it"]
      : [`was erased, and ${what} of it kept for those that inherit from it: ${names}`, ""];
  return new HoldfastError("SessionDeleted", `session "${session}" ${message}`, {
    hint: `\`holdfast messages ${quoted(heirs[0] ?? "")}\` shows what there is of it${more}`,
    details: { session, inheritedBy: heirs },
  });
}

/** Of an erased session the tombstone is left, which only the log tells from no session at all. */
export async function hasTombstone(holdfast: Holdfast, session: string): Promise<boolean> {
  return (await tombstone(holdfast, session)) !== null;
}

async function tombstone(holdfast: Holdfast, session: string): Promise<HoldfastError | null> {
  try {
    await holdfast.log.anchor({ session });
    return null;
  } catch (error) {
    return isHoldfastError(error) && error.code === "SessionDeleted" ? error : null;
  }
}
