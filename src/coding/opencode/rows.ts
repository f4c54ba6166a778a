// Converts rows of OpenCode's database to the format of `opencode export`, and an export to the rows that `opencode import` writes.
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { Json, JsonObject } from "../../contracts/json.ts";
import type { OpenedDatabase } from "./database.ts";
import {
  type ExportedSession,
  isObject,
  type OpenCodeSessionInfo,
  parse,
  readExport,
  type SessionTree,
} from "./export.ts";
import { commandFailed, type Row } from "./runner.ts";
import { isSessionId, parseList, SELECT_ALL, selectTree, type TodoRow } from "./sql.ts";

/** null: there is no such session. */
export function readTree({ database }: OpenedDatabase, rootId: string): SessionTree | null {
  const rows = database.prepare(selectTree(rootId)).all();
  const root = rows.find((row) => row.id === rootId);
  if (root === undefined) return null;
  const sessions = rows.map((row) => exportSession(database, String(row.id)));
  const rank = ({ id }: ExportedSession) => (id === rootId ? "" : id);
  return {
    exported: false,
    cwd: String(root.directory),
    version: String(root.version),
    sessions: sessions.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1)),
    todos: todosOf(rows),
  };
}

/** By session. A session without tasks has no entry. */
export function todosOf(rows: readonly Row[]): ReadonlyMap<string, readonly TodoRow[]> {
  const all = rows.map((row) => [String(row.id), parseList<TodoRow>(row.todos)] as const);
  return new Map(all.filter(([, todos]) => todos.length > 0));
}

export function listSessions({ database }: OpenedDatabase): readonly OpenCodeSessionInfo[] {
  return database.prepare(SELECT_ALL).all().map(sessionInfoOf);
}

export function sessionInfoOf(row: Row): OpenCodeSessionInfo {
  return {
    sessionId: String(row.id),
    parentId: typeof row.parent_id === "string" ? row.parent_id : null,
    directory: String(row.directory),
    title: String(row.title),
    createdAt: Number(row.time_created),
    updatedAt: Number(row.time_updated),
    version: String(row.version),
  };
}

function exportSession(database: DatabaseSync, id: string): ExportedSession {
  if (!isSessionId(id)) throw commandFailed(["db"], "a session has an id that is not valid");
  const row = database.prepare("select * from session where id = ?").get(id) ?? {};
  const parts = new Map<string, JsonObject[]>();
  for (const part of database
    .prepare("select id, message_id, data from part where session_id = ? order by id")
    .all(id)) {
    const messageID = String(part.message_id);
    const list = parts.get(messageID) ?? [];
    list.push({ ...dataOf(part), id: String(part.id), sessionID: id, messageID });
    parts.set(messageID, list);
  }
  const messages = database
    .prepare("select id, data from message where session_id = ? order by time_created, id")
    .all(id)
    .map((message) => ({
      info: { ...dataOf(message), id: String(message.id), sessionID: id },
      parts: parts.get(String(message.id)) ?? [],
    }));
  const session = readExport({ info: infoOf(row), messages }, id);
  if ("wrong" in session) throw commandFailed(["db"], `the session ${id} cannot be read: ${session.wrong}`);
  return session;
}

function dataOf(row: Row): JsonObject {
  const data = parse(String(row.data));
  if (!isObject(data)) throw commandFailed(["db"], `the data of ${row.id} is not complete JSON`);
  return data;
}

/** The fields in the order in which OpenCode writes them, without those of columns that its version does not have. */
function infoOf(row: Row): JsonObject {
  const text = (name: string): Json | undefined => (row[name] ?? undefined) as Json | undefined;
  const json = (name: string): Json | undefined => (row[name] == null ? undefined : parse(String(row[name])));
  const number = (name: string) => Number(row[name] ?? 0);
  const hasSummary = ["summary_additions", "summary_deletions", "summary_files"].some((name) => row[name] != null);
  return defined({
    id: text("id"),
    slug: text("slug"),
    projectID: text("project_id"),
    workspaceID: text("workspace_id"),
    directory: text("directory"),
    path: text("path"),
    parentID: text("parent_id"),
    title: text("title"),
    agent: text("agent"),
    model: json("model"),
    version: text("version"),
    summary: hasSummary
      ? defined({
          additions: number("summary_additions"),
          deletions: number("summary_deletions"),
          files: number("summary_files"),
          diffs: json("summary_diffs"),
        })
      : undefined,
    cost: text("cost"),
    tokens:
      row.tokens_input === undefined
        ? undefined
        : {
            input: number("tokens_input"),
            output: number("tokens_output"),
            reasoning: number("tokens_reasoning"),
            cache: { read: number("tokens_cache_read"), write: number("tokens_cache_write") },
          },
    share: row.share_url ? { url: String(row.share_url) } : undefined,
    metadata: json("metadata"),
    revert: json("revert"),
    permission: json("permission"),
    time: defined({
      created: number("time_created"),
      updated: number("time_updated"),
      compacting: text("time_compacting"),
      archived: text("time_archived"),
    }),
  });
}

function defined(value: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (one === undefined ? [] : [[name, one] as const])),
  );
}

/** The project and directory of a session on this machine. */
export interface SessionLocation {
  readonly project_id: string;
  readonly directory: string;
  readonly path: string | null;
}

/** Whether the session has all columns that a row requires. If not, OpenCode's own import decides. */
export function hasRequiredColumns({ data }: ExportedSession): boolean {
  const { slug, title, version, time } = isObject(data.info) ? data.info : {};
  const times = isObject(time) ? [time.created, time.updated] : [];
  const isNumber = (value: unknown) => typeof value === "number";
  return (
    [slug, title, version].every((value) => typeof value === "string") && times.length > 0 && times.every(isNumber)
  );
}

/** Inserts like OpenCode's import: rows that exist already are not changed. */
export function insertSession(
  { database, schema }: OpenedDatabase,
  { id, data }: ExportedSession,
  location: SessionLocation,
  now: number,
): void {
  const row = { ...rowOf(isObject(data.info) ? data.info : {}), ...location, id };
  insert(database, "session", Object.fromEntries(Object.entries(row).filter(([name]) => schema.session.has(name))));
  for (const message of Array.isArray(data.messages) ? data.messages : []) {
    if (!isObject(message) || !isObject(message.info)) continue;
    const { id: messageId, sessionID: _, ...rest } = message.info;
    const time = isObject(rest.time) && typeof rest.time.created === "number" ? rest.time.created : now;
    insert(database, "message", {
      id: messageId,
      session_id: id,
      time_created: time,
      time_updated: now,
      data: JSON.stringify(rest),
    });
    for (const part of Array.isArray(message.parts) ? message.parts : []) {
      if (!isObject(part)) continue;
      const { id: partId, sessionID: _, messageID, ...content } = part;
      const row = { id: partId, message_id: messageID, session_id: id, data: JSON.stringify(content) };
      insert(database, "part", { ...row, time_created: now, time_updated: now });
    }
  }
}

function rowOf(info: JsonObject): Readonly<Record<string, unknown>> {
  const object = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
  const json = (value: Json | undefined) => (value === undefined || value === null ? null : JSON.stringify(value));
  const [summary, tokens, time] = [object(info.summary), object(info.tokens), object(info.time)];
  const cache = object(tokens.cache);
  return {
    parent_id: info.parentID,
    slug: info.slug,
    title: info.title,
    version: info.version,
    share_url: object(info.share).url,
    summary_additions: summary.additions,
    summary_deletions: summary.deletions,
    summary_files: summary.files,
    summary_diffs: json(summary.diffs),
    metadata: json(info.metadata),
    cost: info.cost ?? 0,
    tokens_input: tokens.input ?? 0,
    tokens_output: tokens.output ?? 0,
    tokens_reasoning: tokens.reasoning ?? 0,
    tokens_cache_read: cache.read ?? 0,
    tokens_cache_write: cache.write ?? 0,
    revert: json(info.revert),
    permission: json(info.permission),
    agent: info.agent,
    model: json(info.model),
    time_created: time.created,
    time_updated: time.updated,
    time_compacting: time.compacting,
    time_archived: time.archived,
  };
}

function insert(database: DatabaseSync, table: string, row: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(row);
  const marks = names.map(() => "?").join(", ");
  const values = names.map((name) => sqlValue(row[name]));
  database
    .prepare(`insert into ${table} (${names.join(", ")}) values (${marks}) on conflict do nothing`)
    .run(...values);
}

function sqlValue(value: unknown): SQLInputValue {
  return value === undefined || value === null ? null : typeof value === "number" ? value : String(value);
}

/** All rows of a session, so that an undo can write them back. */
export interface SessionRows {
  readonly session: Row;
  readonly message: readonly Row[];
  readonly part: readonly Row[];
  readonly todo: readonly Row[];
}

const TABLES = ["message", "part", "todo"] as const;

export function readRows({ database }: OpenedDatabase, id: string): SessionRows {
  const all = (table: string) => database.prepare(`select * from ${table} where session_id = ?`).all(id);
  const session = database.prepare("select * from session where id = ?").get(id) ?? {};
  return { session, message: all("message"), part: all("part"), todo: all("todo") };
}

/** Replaces the session's row, messages, parts and tasks; its sub-sessions and shares are not changed. */
export function writeRows({ database }: OpenedDatabase, id: string, rows: SessionRows): void {
  const names = Object.keys(rows.session);
  const values = names.map((name) => sqlValue(rows.session[name]));
  database
    .prepare(`update session set ${names.map((name) => `${name} = ?`).join(", ")} where id = ?`)
    .run(...values, id);
  for (const table of TABLES) database.prepare(`delete from ${table} where session_id = ?`).run(id);
  for (const table of TABLES) for (const row of rows[table]) insert(database, table, row);
}
