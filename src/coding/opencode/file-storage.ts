// Sessions of OpenCode before 1.2: a JSON file for each session, message and part. They are converted to the exports that a later
// `opencode import` accepts; later versions do not find the files by themselves.
import { readdir, readFile, stat } from "node:fs/promises";
import * as path from "node:path";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Json, JsonObject } from "../../contracts/json.ts";
import {
  type ExportedSession,
  isObject,
  type OpenCodeSessionInfo,
  parse,
  readExport,
  type SessionTree,
} from "./export.ts";
import { isMessageId, isPartId, isSessionId, type TodoRow } from "./sql.ts";

/** null when there is no such session. A damaged file may be one of its sub-sessions: without `unreadable` it is an error. */
export async function readFileSessions(
  dataDir: string,
  rootId: string,
  unreadable?: Unreadable,
): Promise<SessionTree | null> {
  const storage = path.join(dataDir, "storage");
  const infos = await readInfos(storage, unreadable);
  const root = infos.get(rootId);
  if (root === undefined) return null;
  const ids = [rootId];
  for (const id of ids) {
    for (const [child, info] of infos) if (info.parentID === id && !ids.includes(child)) ids.push(child);
  }
  const sessions: ExportedSession[] = [];
  const todos = new Map<string, readonly TodoRow[]>();
  for (const id of ids) {
    const info = infos.get(id) ?? root;
    sessions.push(await readOldSession(storage, id, info));
    const rows = await readTodos(storage, id, updatedAt(info));
    if (rows.length > 0) todos.set(id, rows);
  }
  return { exported: false, cwd: String(root.directory), version: versionOf(root), sessions, todos };
}

/** Reports each session with a damaged file to `unreadable`, and lists the others. */
export async function listFileSessions(
  dataDir: string,
  unreadable?: Unreadable,
): Promise<readonly OpenCodeSessionInfo[]> {
  const infos = await readInfos(path.join(dataDir, "storage"), unreadable);
  return [...infos].map(([sessionId, info]) => ({
    sessionId,
    parentId: isSessionId(info.parentID) ? info.parentID : null,
    directory: String(info.directory),
    title: String(info.title),
    createdAt: timeOf(info, "created"),
    updatedAt: updatedAt(info),
    version: versionOf(info),
  }));
}

export type Unreadable = (file: string, error: unknown) => void;

/** A session that was restored into another project has a file in each project: the file that was written last counts. */
export async function readInfos(storage: string, unreadable?: Unreadable): Promise<ReadonlyMap<string, JsonObject>> {
  const infos = new Map<string, JsonObject>();
  const writtenAt = new Map<string, number>();
  for (const project of (await namesIn(path.join(storage, "session"))).toSorted()) {
    const folder = path.join(storage, "session", project);
    for (const id of await idsIn(folder, isSessionId)) {
      const file = path.join(folder, `${id}.json`);
      try {
        const { mtimeMs } = await stat(file);
        if (mtimeMs < (writtenAt.get(id) ?? 0)) continue;
        infos.set(id, await readObject(file));
        writtenAt.set(id, mtimeMs);
      } catch (error) {
        if (unreadable === undefined) throw error;
        unreadable(file, error);
      }
    }
  }
  return infos;
}

async function readOldSession(storage: string, id: string, info: JsonObject): Promise<ExportedSession> {
  const folder = path.join(storage, "message", id);
  const messages: JsonObject[] = [];
  // Ids begin with the time: their order is that of the conversation.
  for (const message of await idsIn(folder, isMessageId)) {
    const parts: JsonObject[] = [];
    const partFolder = path.join(storage, "part", message);
    for (const part of await idsIn(partFolder, isPartId)) {
      parts.push(await readObject(path.join(partFolder, `${part}.json`)));
    }
    messages.push({ info: await readObject(path.join(folder, `${message}.json`)), parts });
  }
  const session = readExport(JSON.stringify({ info, messages }), id);
  if ("wrong" in session) throw damaged(folder, session.wrong);
  return session;
}

/** The tasks of these versions have no times: they get the time of the session. */
export async function readTodos(storage: string, id: string, at: number): Promise<readonly TodoRow[]> {
  const text = await readFile(path.join(storage, "todo", `${id}.json`), "utf8").catch(nullIfAbsent);
  const todos = text === null ? [] : parse(text);
  if (!Array.isArray(todos)) throw damaged(path.join(storage, "todo", `${id}.json`), "it is not complete JSON");
  return todos
    .filter((one): one is JsonObject => isObject(one))
    .map((todo: JsonObject, position) => ({
      ...(typeof todo.id === "string" ? { id: todo.id } : {}),
      content: String(todo.content),
      status: String(todo.status),
      priority: String(todo.priority ?? "medium"),
      position,
      time_created: at,
      time_updated: at,
    }));
}

const versionOf = (info: JsonObject) => (typeof info.version === "string" ? info.version : null);

export function updatedAt(info: JsonObject): number {
  return timeOf(info, "updated");
}

function timeOf({ time }: JsonObject, name: "created" | "updated"): number {
  const value = isObject(time) ? time[name] : undefined;
  return typeof value === "number" ? value : 0;
}

export async function idsIn(folder: string, isId: (name: string) => boolean): Promise<readonly string[]> {
  const names = (await namesIn(folder)).filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -5));
  return names.filter(isId).toSorted();
}

export async function namesIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder).catch(nullIfAbsent)) ?? [];
}

function nullIfAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
  throw error;
}

async function readObject(file: string): Promise<JsonObject> {
  const value: Json | undefined = parse(await readFile(file, "utf8"));
  if (!isObject(value)) throw damaged(file, "it is not complete JSON");
  return value;
}

function damaged(file: string, why: string): HoldfastError {
  return new HoldfastError("AgentFailed", `OpenCode's ${JSON.stringify(file)} cannot be read: ${why}`, {
    details: { file, why },
    hint: "If opencode is running, try again when it has ended; otherwise the session is damaged.",
  });
}
