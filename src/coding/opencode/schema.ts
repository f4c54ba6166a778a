// The schemas of OpenCode's database that are known: 1.2 to 1.18. A database is known by the columns of the tables that a
// session is in, not by a version number: what a newer version adds to a session is noticed before anything of it is lost.
import type { DatabaseSync } from "node:sqlite";

const words = (text: string) => text.split(" ");

const MESSAGE = words("id session_id time_created time_updated data");
const PART = words("id message_id session_id time_created time_updated data");
const TASK = words("session_id content status priority position time_created time_updated");
const PROJECT = words("id worktree");
/** Of all versions. */
const SESSION = words(
  "id project_id parent_id slug directory title version share_url summary_additions summary_deletions summary_files " +
    "summary_diffs revert permission time_created time_updated time_compacting time_archived",
);
/** In the order in which versions added them. */
const SESSION_LATER = words(
  "workspace_id path agent model cost tokens_input tokens_output tokens_reasoning tokens_cache_read " +
    "tokens_cache_write metadata",
);
/** Tables with rows of a session that its own export leaves out: shares have a secret, the others are empty until now. */
const NOT_EXPORTED = words("session_share session_message session_input session_context_epoch");

export interface KnownSchema {
  /** The columns that its sessions have. */
  readonly session: ReadonlySet<string>;
}

/** Or what is not known of it. */
export function readSchema(database: DatabaseSync): KnownSchema | { readonly unknown: string } {
  const columns = columnsOf(database);
  const session = columns.get("session") ?? [];
  const unknown =
    differs("message", columns.get("message"), MESSAGE) ??
    differs("part", columns.get("part"), PART) ??
    differs("todo", columns.get("todo"), TASK) ??
    differs("session", session, SESSION, SESSION_LATER) ??
    differs("project", columns.get("project"), PROJECT, columns.get("project")) ??
    strangeTable(columns) ??
    strangeObject(database);
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

function differs(
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

/** One that a newer version keeps something of a session in. */
function strangeTable(columns: ReadonlyMap<string, readonly string[]>): string | null {
  const known = ["message", "part", "todo", ...NOT_EXPORTED];
  for (const [table, names] of columns) {
    const isOfSession = names.includes("session_id") || names.includes("message_id") || names.includes("part_id");
    if (isOfSession && !known.includes(table)) return `it has a table ${table}`;
  }
  return null;
}

function strangeObject(database: DatabaseSync): string | null {
  const found = database.prepare("select type, name from sqlite_master where type in ('trigger', 'view')").get();
  return found === undefined ? null : `it has a ${found.type} ${found.name}`;
}
