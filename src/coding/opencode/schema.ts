// The known schemas of OpenCode's database: 1.2 to 1.18. A schema is recognised by the columns of the tables that store a session, not
// by a version number, so that a column or table that a newer version adds is noticed before its data is lost.
import type { DatabaseSync } from "node:sqlite";

const splitNames = (text: string) => text.split(" ");

const MESSAGE = splitNames("id session_id time_created time_updated data");
const PART = splitNames("id message_id session_id time_created time_updated data");
const TASK = splitNames("session_id content status priority position time_created time_updated");
const PROJECT = splitNames("id worktree");
/** The columns that all versions have. */
const SESSION = splitNames(
  "id project_id parent_id slug directory title version share_url summary_additions summary_deletions summary_files " +
    "summary_diffs revert permission time_created time_updated time_compacting time_archived",
);
/** Columns that later versions added, in that order. */
const SESSION_LATER = splitNames(
  "workspace_id path agent model cost tokens_input tokens_output tokens_reasoning tokens_cache_read " +
    "tokens_cache_write metadata",
);
/** Tables of a session that OpenCode's own export leaves out: shares have a secret, and the others are empty so far. */
const NOT_EXPORTED = splitNames("session_share session_message session_input session_context_epoch");

export interface KnownSchema {
  /** The columns of the table of sessions. */
  readonly session: ReadonlySet<string>;
}

/** `unknown` says in what the schema differs from those that are known. */
export function readSchema(database: DatabaseSync): KnownSchema | { readonly unknown: string } {
  const columns = columnsOf(database);
  const session = columns.get("session") ?? [];
  const unknown =
    columnDifference("message", columns.get("message"), MESSAGE) ??
    columnDifference("part", columns.get("part"), PART) ??
    columnDifference("todo", columns.get("todo"), TASK) ??
    columnDifference("session", session, SESSION, SESSION_LATER) ??
    columnDifference("project", columns.get("project"), PROJECT, columns.get("project")) ??
    unknownTable(columns) ??
    unknownObject(database);
  return unknown === null ? { session: new Set(session) } : { unknown };
}

function columnsOf(database: DatabaseSync): ReadonlyMap<string, readonly string[]> {
  const rows = database
    .prepare(
      `select t.name as "table", c.name as "column" from sqlite_master t join pragma_table_info(t.name) c
       where t.type = 'table' order by t.name, c.cid`,
    )
    .all();
  const columns = new Map<string, string[]>();
  for (const row of rows) {
    const list = columns.get(String(row.table)) ?? [];
    list.push(String(row.column));
    columns.set(String(row.table), list);
  }
  return columns;
}

function columnDifference(
  table: string,
  columns: readonly string[] = [],
  required: readonly string[],
  optional: readonly string[] = [],
): string | null {
  const missing = required.filter((name) => !columns.includes(name));
  if (missing.length > 0) return `its table ${table} has no ${missing.join(", ")}`;
  const added = columns.filter((name) => !required.includes(name) && !optional.includes(name));
  return added.length > 0 ? `its table ${table} also has ${added.join(", ")}` : null;
}

/** A table that refers to sessions, messages or parts, and that no known version has. */
function unknownTable(columns: ReadonlyMap<string, readonly string[]>): string | null {
  const known = ["message", "part", "todo", ...NOT_EXPORTED];
  for (const [table, names] of columns) {
    const isOfSession = names.includes("session_id") || names.includes("message_id") || names.includes("part_id");
    if (isOfSession && !known.includes(table)) return `it has a table ${table}`;
  }
  return null;
}

function unknownObject(database: DatabaseSync): string | null {
  const found = database.prepare("select type, name from sqlite_master where type in ('trigger', 'view')").get();
  return found === undefined ? null : `it has a ${found.type} ${found.name}`;
}
