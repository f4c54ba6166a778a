// Portable rows: the form in which rows leave one store and enter another. They have the same columns, with ids and hashes in place of a
// database's own numbers (rule ST5). The reads, the writes and the file of an archive are all derived from this one list.
import type { ColumnType, TableShape } from "./table-shape.ts";
import { TABLES } from "./tables.ts";

/** Tables of which each row belongs to an event, in the order in which rows are written. */
const EVENT_ROW_TABLES = [
  "turns",
  "clears",
  "evals",
  "calls",
  "snapshots",
  "invocations",
  "derivations",
  "annotations",
  "state",
] as const;

/** The tables of an archive in the order in which they are written: a row comes after the rows that it refers to. */
export const ARCHIVED_TABLES = [
  "sessions",
  "heads",
  "branches",
  "events",
  ...EVENT_ROW_TABLES,
  "boards",
  "tasks",
  "session_tags",
  "aliases",
  "remains",
  "runs",
  "signals",
  "decisions",
  "checkpoints",
  "captures",
] as readonly ArchivedTable[];

export type ArchivedTable =
  | "sessions"
  | "heads"
  | "branches"
  | "events"
  | (typeof EVENT_ROW_TABLES)[number]
  | "boards"
  | "tasks"
  | "session_tags"
  | "aliases"
  | "remains"
  | "captures"
  | RunTable;

/** The tables of runs. All rows of a session are read at once. */
type RunTable = "runs" | "signals" | "decisions" | "checkpoints";

/**
 * Tables with one event for each row; they are read by stretches of the log. Of the other tables, all rows of a session
 * are read at once.
 */
export const LOGGED_TABLES = ["events", "branches", "heads", ...EVENT_ROW_TABLES] as readonly LoggedTable[];

export type LoggedTable = Exclude<
  ArchivedTable,
  "sessions" | "boards" | "tasks" | "session_tags" | "aliases" | "remains" | "captures" | RunTable
>;

export type PortableCell = null | number | string | Uint8Array;

/** Values by portable column name. A blob is its sha256; an agent, session or head is its id. */
export type PortableRow = Readonly<Record<string, PortableCell>>;

export interface PortableColumn {
  /** The column's name in the table. */
  readonly column: string;
  /** The column's name in a portable row. */
  readonly name: string;
  readonly type: "int" | "real" | "text" | "bytes" | "blob" | "agent" | "session" | "head";
}

/** Columns with the number of a row. */
const NUMBERS: Readonly<Record<string, "agent" | "session" | "head">> = {
  agent_no: "agent",
  session_no: "session",
  parent_session_no: "session",
  callee_session_no: "session",
  source_session_no: "session",
  basis_no: "head",
  head_no: "head",
  caller_head_before: "head",
  caller_head_after: "head",
  callee_head_before: "head",
  callee_head_after: "head",
  source_head: "head",
};

/** Columns that every store computes for itself. */
const OWN: ReadonlySet<string> = new Set(["checksum", "alias_count", "held"]);

const made = new Map<ArchivedTable, readonly PortableColumn[]>();

/** The columns of a table as portable rows have them. */
export function portableColumns(table: ArchivedTable): readonly PortableColumn[] {
  const known = made.get(table) ?? derive(table);
  made.set(table, known);
  return known;
}

function derive(table: ArchivedTable): readonly PortableColumn[] {
  const { columns }: TableShape = TABLES[table];
  return Object.entries(columns)
    .filter(([column, type]) => type !== "serial" && !OWN.has(column))
    .map(([column, type]) => ({
      column,
      name: column.replace(/_no$/, ""),
      type: NUMBERS[column] ?? plainType(type),
    }));
}

function plainType(type: ColumnType): "int" | "real" | "text" | "bytes" | "blob" {
  if (type === "serial") throw new Error("bug: a number of the database is not portable");
  return type === "blobref" ? "blob" : type;
}

/** A row to be written as it was, in a store that does not have it. */
export interface RestoredRow {
  readonly table: ArchivedTable;
  readonly row: PortableRow;
}
