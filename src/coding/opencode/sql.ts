// The SQL that is given to `opencode db`. It takes no parameters, so every value goes through `literal`, and every id is
// looked at first. A statement stands on a command line, so what is long is cut into several.
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
  throw new HoldfastError("InvalidId", `${JSON.stringify(String(id).slice(0, 100))} is no session id of OpenCode`, {
    hint: "They look like ses_e1a3ba395ffeG2ai1As4TRrd8A; `opencode session list` shows them.",
  });
}

/** A JSON value as an SQL string: ASCII only and without NUL, whatever is in it; halves of characters become U+FFFD. */
export function literal(value: Json): string {
  const json = JSON.stringify(value, (_, part) => (typeof part === "string" ? part.toWellFormed() : part));
  const ascii = json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `'${ascii.replaceAll("'", "''")}'`;
}

/** Lists of which each fits into a statement. */
export function fitting<T extends Json>(items: readonly T[]): readonly (readonly T[])[] {
  const lists: T[][] = [];
  let size = LITERAL_MAX;
  for (const item of items) {
    const itemSize = literal(item).length;
    if (itemSize > LITERAL_MAX) {
      throw new HoldfastError("LimitExceeded", "a task is too long to be given to opencode", {
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

/** The list in a column of these statements. */
export function listIn<T>(column: unknown): T[] {
  const list: unknown = JSON.parse(String(column));
  if (!Array.isArray(list)) throw new Error("bug: a column is no list");
  return list;
}

/** A session and all below it, with their tasks. */
export function selectTree(root: string): string {
  return `with recursive tree(id) as (select id from session where id = '${checkSessionId(root)}'
      union select s.id from session s join tree on s.parent_id = tree.id)
    select s.id, s.parent_id, s.directory, s.version, (select count(*) from message m where m.session_id = s.id) as messages,
      ${todosOf("s.id")} as todos
    from session s join tree on tree.id = s.id`;
}

export const SELECT_ALL =
  "select id, parent_id, directory, title, version, time_created, time_updated from session order by id";

const among = (ids: readonly string[]) => `(select value from json_each(${literal(ids)}))`;

/** What there is of these sessions, and of those that have these messages, in so far as an import changes it. */
export function selectLocal(ids: readonly string[], hasPath = true): string {
  const bad = ids.find((id) => !isSessionId(id) && !isMessageId(id));
  if (bad !== undefined) throw new Error("bug: an id was not looked at");
  return `with given(id) as (select value from json_each(${literal(ids)}))
    select s.id, s.project_id, s.directory, ${hasPath ? "s.path" : "null as path"}, s.time_updated,
      (select json_group_array(id) from message where session_id = s.id) as messages,
      (select json_group_array(id) from part where session_id = s.id) as parts,
      ${todosOf("s.id")} as todos
    from session s where s.id in (select id from given)
      or s.id in (select session_id from message where id in (select id from given))`;
}

/** Their messages, parts and tasks go with them. */
export const deleteSessions = (ids: readonly string[]) =>
  `delete from session where id in ${among(ids.map(checkSessionId))}`;

export const deleteRows = (table: "message" | "part", session: string, ids: readonly string[]) =>
  `delete from ${table} where session_id = '${checkSessionId(session)}' and id in ${among(ids)}`;

export const deleteTodos = (ids: readonly string[]) =>
  `delete from todo where session_id in ${among(ids.map(checkSessionId))}`;

export interface TodoRow {
  /** Of versions before 1.2, which named each task. */
  readonly id?: string;
  readonly content: string;
  readonly status: string;
  readonly priority: string;
  readonly position: number;
  readonly time_created: number;
  readonly time_updated: number;
}

/** Also when they are there already. */
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

/** What an import changes of a session that was there. */
export function updateSession({ id, ...row }: SessionRow): string {
  const columns = "project_id directory path time_updated".split(" ");
  return `update session set ${columns.map((name) => `${name} = ${literal({ ...row })} ->> '${name}'`).join(", ")}
    where id = '${checkSessionId(id)}'`;
}
