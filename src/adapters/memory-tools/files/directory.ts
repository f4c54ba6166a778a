// A memory directory: the files of an agent, kept as the state of a session of its own. A file is a key of this state, its path,
// and its text the value. So every edit is an event of a log, and a head shows the files as they were after an edit: they can be
// read, brought back by a rewind, forked and exported like any session, and are erased by deleting it.

import { HoldfastError } from "../../../contracts/errors.ts";
import type { Holdfast } from "../../../contracts/holdfast.ts";
import type { Json, Page } from "../../../contracts/json.ts";
import { LIMITS } from "../../../contracts/limits.ts";
import type { Session } from "../../../contracts/session.ts";
import { sha256Hex } from "../../../core/bytes.ts";
import { checkId, limitExceeded } from "../../../core/check.ts";
import { repeatOnConflict } from "../repeat-on-conflict.ts";
import { isBelow, ROOT } from "./memory-path.ts";

export type DirectoryStore = Pick<Holdfast, "sessions" | "state" | "heads">;

export interface DirectoryOwner {
  readonly agent: string;
  readonly namespace: string;
}

/** The texts of the files by their paths. */
export type Files = ReadonlyMap<string, string>;

export interface FileChange {
  readonly put?: Readonly<Record<string, string>>;
  readonly remove?: readonly string[];
  /** One line about the change, for lists of heads. */
  readonly summary: string;
  readonly answer: string;
}

interface StoredDirectory {
  /** null: there is no file yet. */
  readonly session: string | null;
  readonly files: Files;
  readonly version: number;
}

/** Ids that deleted directories of an owner had, or that other sessions have: the directory gets the next number. */
const MOST_TAKEN = 1000;

export async function readFiles(hf: DirectoryStore, owner: DirectoryOwner): Promise<Files> {
  return (await readDirectory(hf, owner)).files;
}

/** `decide` sees the files and returns the change, or a text if nothing changes; it is called again if another writer was first. */
export async function changeFiles(
  hf: DirectoryStore,
  owner: DirectoryOwner,
  decide: (files: Files) => FileChange | string,
): Promise<string> {
  return repeatOnConflict("the memory directory", async () => {
    const { session: found, files, version } = await readDirectory(hf, owner);
    const change = decide(files);
    if (typeof change === "string") return change;
    const { put = {}, remove = [], summary, answer } = change;
    checkRoom(files, put, remove);
    const session = found ?? (await createDirectory(hf, owner));
    await hf.state.patch({ session }, put, { remove, version });
    await hf.heads.publish({ session }, { finalSummary: summary });
    return answer;
  });
}

async function readDirectory(hf: DirectoryStore, owner: DirectoryOwner): Promise<StoredDirectory> {
  const session = await findDirectory(hf, owner);
  if (session === null) return { session, files: new Map(), version: 0 };
  const { value, version } = await hf.state.getVersioned({ session });
  const isFile = (entry: [string, Json]): entry is [string, string] =>
    isBelow(entry[0], ROOT) && typeof entry[1] === "string";
  return { session, files: new Map(Object.entries(value).filter(isFile)), version };
}

/** A fork of the directory has its tags and metadata too; the oldest session is the directory itself. */
async function findDirectory(hf: DirectoryStore, owner: DirectoryOwner): Promise<string | null> {
  const filter = { tag: nameOf(owner), order: "oldest", limit: 100 } as const;
  for (let cursor: string | null = null; ; ) {
    const page: Page<Session> = await hf.sessions.list({ ...filter, cursor });
    const found = page.items.find((session) => isDirectory(session, owner));
    if (found !== undefined) return found.id;
    if (page.next === null) return null;
    cursor = page.next;
  }
}

/** Anyone may tag a session with the name of a directory: a directory also says in its metadata whose it is. */
function isDirectory({ tags, metadata }: Session, owner: DirectoryOwner): boolean {
  return tags.includes(nameOf(owner)) && metadata.agent === owner.agent && metadata.namespace === owner.namespace;
}

/** The id is the same for all that create the directory at the same time, so that only one of them does. */
async function createDirectory(hf: DirectoryStore, owner: DirectoryOwner): Promise<string> {
  const name = nameOf(owner);
  for (let taken = 0; taken <= MOST_TAKEN; taken++) {
    const id = taken === 0 ? name : `${name}#${taken + 1}`;
    try {
      const title = `Memory files of the agent ${JSON.stringify(owner.agent)}`;
      await hf.sessions.create({ id, title, tags: [name], metadata: { ...owner } });
      return id;
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      if (error.code !== "AlreadyExists" && error.code !== "SessionDeleted") throw error;
      const there = await hf.sessions.get(id);
      if (there !== null && isDirectory(there, owner)) throw createdMeanwhile(id, error);
    }
  }
  throw limitExceeded("memoryFiles", "the number of deleted directories", MOST_TAKEN);
}

/** The change is decided again on what the other writer has made. */
function createdMeanwhile(id: string, cause: unknown): HoldfastError {
  return new HoldfastError("Conflict", `another writer has created the session ${JSON.stringify(id)}`, { cause });
}

function checkRoom(files: Files, put: Readonly<Record<string, string>>, remove: readonly string[]): void {
  for (const [path, text] of Object.entries(put)) {
    const bytes = Buffer.byteLength(text);
    if (bytes > LIMITS.memoryFileBytes) throw limitExceeded("memoryFileBytes", `${path} in bytes`, bytes);
  }
  const added = Object.keys(put).filter((path) => !files.has(path)).length;
  const count = files.size + added - remove.length;
  if (added > 0 && count > LIMITS.memoryFiles) throw limitExceeded("memoryFiles", "the number of memory files", count);
}

/** The tag of an owner's directory, and the id of its session. Different owners have different names. */
function nameOf({ namespace, agent }: DirectoryOwner): string {
  const name = `memories/${escapePart(checkId(namespace, "namespace"))}/${escapePart(checkId(agent, "agent"))}`;
  // Room for the number of a directory that was begun again.
  const isShort = Buffer.byteLength(name) <= LIMITS.idBytes - 8;
  return isShort ? name : `memories#${sha256Hex(JSON.stringify([namespace, agent]))}`;
}

/** "@" begins a head in the text of a locator. */
function escapePart(part: string): string {
  return part.replaceAll(/[%/@]/g, (sign) => encodeURIComponent(sign));
}
