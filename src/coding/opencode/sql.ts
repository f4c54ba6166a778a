// The SQL that `opencode db` runs. The command has no parameters, so every value goes through literal(), and every id is checked first.
// A statement is an argument of a command line, so a long list is split into several statements.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Json } from "../../contracts/json.ts";
import { isSessionIdOf } from "../../core/agent-sessions.ts";

/** Linux allows 128 KiB for one argument. */
export const STATEMENT_MAX = 120_000;
const LITERAL_MAX = 100_000;

const MESSAGE = /^msg[A-Za-z0-9_-]{1,100}$/;
const PART = /^prt[A-Za-z0-9_-]{1,100}$/;
const OUTPUT = /^tool_[A-Za-z0-9]{1,100}$/;

export const isSessionId = (value: unknown): value is string =>
  typeof value === "string" && isSessionIdOf("opencode", value);
export const isMessageId = (value: unknown): value is string => typeof value === "string" && MESSAGE.test(value);
export const isPartId = (value: unknown): value is string => typeof value === "string" && PART.test(value);
export const isOutputId = (value: unknown): value is string => typeof value === "string" && OUTPUT.test(value);

export function checkSessionId(id: string): string {
  if (isSessionId(id)) return id;
  throw new HoldfastError("InvalidId", `${JSON.stringify(String(id).slice(0, 100))} is not a session id of OpenCode`, {
    hint: "Session ids look like ses_e1a3ba395ffeG2ai1As4TRrd8A; `opencode session list` shows them.",
  });
}

/** A JSON value as an SQL string of ASCII characters without NUL. Lone surrogates become U+FFFD. */
export function literal(value: Json): string {
  const json = JSON.stringify(value, (_, part) => (typeof part === "string" ? part.toWellFormed() : part));
  const ascii = json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `'${ascii.replaceAll("'", "''")}'`;
}

/** Splits a list into lists that each fit into one statement. */
export function chunksForStatement<T extends Json>(items: readonly T[]): readonly (readonly T[])[] {
  const lists: T[][] = [];
  let size = LITERAL_MAX;
  for (const item of items) {
    const itemSize = literal(item).length;
    if (itemSize > LITERAL_MAX) {
      throw new HoldfastError("LimitExceeded", "a task is too long for a statement of `opencode db`", {
        details: { bytes: itemSize, most: LITERAL_MAX },
      });
    }
    if (size + itemSize > LITERAL_MAX) {
      lists.push([]);
      size = 0;
    }
    lists.at(-1)?.push(item);
    size += itemSize;
  }
  return lists;
}

const TODO_COLUMNS = "content status priority position time_created time_updated".split(" ");
const todosOf = (session: string) =>
  `(select json_group_array(json_object(${TODO_COLUMNS.map((name) => `'${name}', ${name}`).join(", ")}) order by position)
    from todo where session_id = ${session})`;

/** Reads a column that json_group_array() made. */
export function parseList<T>(column: unknown): T[] {
  const list: unknown = JSON.parse(String(column));
  if (!Array.isArray(list)) throw new Error("bug: a column is not a list");
  return list;
}

/** Selects a session and all of its sub-sessions, with their tasks. */
export function selectTree(root: string): string {
  return `with recursive tree(id) as (select id from session where id = '${checkSessionId(root)}'
      union select s.id from session s join tree on s.parent_id = tree.id)
    select s.id, s.parent_id, s.directory, s.version, (select count(*) from message m where m.session_id = s.id) as messages,
      ${todosOf("s.id")} as todos
    from session s join tree on tree.id = s.id`;
}

export const SELECT_ALL =
  "select id, parent_id, directory, title, version, time_created, time_updated from session order by id";

const idsIn = (ids: readonly string[]) => `(select value from json_each(${literal(ids)}))`;

/** Selects all that an import may change of the sessions with these ids, and of the sessions that have these messages. */
export function selectLocal(ids: readonly string[], hasPath = true): string {
  const bad = ids.find((id) => !isSessionId(id) && !isMessageId(id));
  if (bad !== undefined) throw new Error("bug: an id was not checked");
  return `with given(id) as (select value from json_each(${literal(ids)}))
    select s.id, s.project_id, s.directory, ${hasPath ? "s.path" : "null as path"}, s.time_updated,
      (select json_group_array(id) from message where session_id = s.id) as messages,
      (select json_group_array(id) from part where session_id = s.id) as parts,
      ${todosOf("s.id")} as todos
    from session s where s.id in (select id from given)
      or s.id in (select session_id from message where id in (select id from given))`;
}

/** Foreign keys delete their messages, parts and tasks too. */
export const deleteSessions = (ids: readonly string[]) =>
  `delete from session where id in ${idsIn(ids.map(checkSessionId))}`;

export const deleteRows = (table: "message" | "part", session: string, ids: readonly string[]) =>
  `delete from ${table} where session_id = '${checkSessionId(session)}' and id in ${idsIn(ids)}`;

export const deleteTodos = (ids: readonly string[]) =>
  `delete from todo where session_id in ${idsIn(ids.map(checkSessionId))}`;

export interface TodoRow {
  /** Only versions before 1.2 gave each task an id. */
  readonly id?: string;
  readonly content: string;
  readonly status: string;
  readonly priority: string;
  readonly position: number;
  readonly time_created: number;
  readonly time_updated: number;
}

/** Inserts the tasks, or updates those that exist already. */
export function insertTodos(rows: readonly (TodoRow & { readonly session_id: string })[]): string {
  const columns = ["session_id", ...TODO_COLUMNS];
  return `insert into todo (${columns.join(", ")})
    select ${columns.map((name) => `value ->> '${name}'`).join(", ")} from json_each(${literal(rows.map((r) => ({ ...r })))})
    where true on conflict (session_id, position) do update set content = excluded.content, status = excluded.status,
      priority = excluded.priority, time_created = excluded.time_created, time_updated = excluded.time_updated`;
}

export interface SessionRow {
  readonly id: string;
  readonly project_id: string;
  readonly directory: string;
  readonly path: string | null;
  readonly time_updated: number;
}

/** Resets what an import changes of an existing session. */
export function updateSession({ id, ...row }: SessionRow): string {
  const columns = "project_id directory path time_updated".split(" ");
  return `update session set ${columns.map((name) => `${name} = ${literal({ ...row })} ->> '${name}'`).join(", ")}
    where id = '${checkSessionId(id)}'`;
}
