// Writes the rows of an archive as they were, with numbers where the archive has ids. The statements are made once, from
// contracts/storage/portable-rows.ts.
import {
  ARCHIVED_TABLES,
  type ArchivedTable,
  type PortableColumn,
  portableColumns,
  type RestoredRow,
} from "../../contracts/storage/portable-rows.ts";
import { type CheckedTable, coveredBy, rowChecksum } from "../../core/checksum.ts";
import { memoize } from "../../core/memoize.ts";
import { isHeldRun } from "../../core/run-owner.ts";
import { type InterruptibleWork, runAtOnce } from "../../core/time-slice.ts";
import type { BulkColumn, BulkSpec, Param } from "./driver.ts";

/** Set once all of them are there, because a head may be named by the very statement that inserts it. */
const LATER: Readonly<Record<string, string>> = { sessions: "head_no", heads: "basis_no" };

const VALUES = {
  int: "?",
  real: "?",
  text: "?",
  bytes: "?",
  blob: "(SELECT no FROM blobs WHERE sha256 = ?)",
  agent: "(SELECT no FROM agents WHERE id = ?)",
  session: "(SELECT no FROM sessions WHERE id = ?)",
  head: "(SELECT no FROM heads WHERE id = ?)",
} as const;

function bulkColumn({ column, type }: PortableColumn): BulkColumn {
  const given = type === "blob" ? "bytes" : type === "agent" || type === "session" || type === "head" ? "text" : type;
  return { name: column, type: given, value: VALUES[type] };
}

function isChecked(table: string): table is CheckedTable {
  return coveredBy(table) !== null;
}

/** Columns that are not in archives because they are derived from the row: see ownCells(). */
function ownColumns(table: ArchivedTable): readonly BulkColumn[] {
  if (isChecked(table)) return [{ name: "checksum", type: "text", value: "?" }];
  return table === "runs" ? [{ name: "held", type: "int", value: "?" }] : [];
}

function ownCells({ table, row }: RestoredRow): readonly Param[] {
  if (isChecked(table)) return [rowChecksum(table, row)];
  return table === "runs" ? [isHeldRun({ beat: Number(row.beat) }) ? 1 : 0] : [];
}

/** Without ON CONFLICT: if a row exists already, the transaction must fail. */
export const restoreSpec = memoize((table: ArchivedTable): BulkSpec => {
  const columns = portableColumns(table)
    .filter(({ column }) => LATER[table] !== column)
    .map(bulkColumn);
  const suffix = table === "remains" ? " ON CONFLICT (session_no, branch) DO UPDATE SET upto = excluded.upto" : "";
  return {
    name: `${table}.restore`,
    table,
    verb: "insert",
    columns: [...columns, ...ownColumns(table)],
    key: [],
    suffix,
  };
});

function laterSpec(table: "sessions" | "heads", column: string): BulkSpec {
  const set: BulkColumn = { name: column, type: "text", value: "(SELECT h.no FROM heads h WHERE h.id = ?)" };
  const id: BulkColumn = { name: "id", type: "text", value: "?" };
  return { name: `${table}.restore.${column}`, table, verb: "update", columns: [set, id], key: ["id"], suffix: "" };
}

export const RESTORE_BASIS = laterSpec("heads", "basis_no");
export const RESTORE_HEAD = laterSpec("sessions", "head_no");
/** How many names a session has got. */
export const RESTORE_ALIASES: BulkSpec = {
  name: "sessions.restore.alias_count",
  table: "sessions",
  verb: "update",
  columns: [
    { name: "alias_count", type: "int", value: "sessions.alias_count + ?" },
    { name: "id", type: "text", value: "?" },
  ],
  key: ["id"],
  suffix: "",
};

/** Where rows go: a Script. */
export interface RowScript {
  row(spec: BulkSpec, params: readonly Param[]): void;
  flush(): void;
}

/** Rows as they were, in the order that lets each find those it refers to. */
export function restore(script: RowScript, rows: readonly RestoredRow[]): void {
  runAtOnce(restoreInSteps(script, rows));
}

export function* restoreInSteps(script: RowScript, rows: readonly RestoredRow[]): InterruptibleWork<void> {
  script.flush();
  const byTable = Map.groupBy(rows, ({ table }) => table);
  for (const table of ARCHIVED_TABLES) {
    const columns = portableColumns(table).filter(({ column }) => LATER[table] !== column);
    for (const restored of byTable.get(table) ?? []) {
      yield;
      const params = columns.map(({ name }): Param => restored.row[name] ?? null);
      script.row(restoreSpec(table), [...params, ...ownCells(restored)]);
    }
    // Those behind it name them.
    if (table === "heads") later(script, byTable.get("heads") ?? [], byTable.get("sessions") ?? []);
  }
  script.flush();
  const named = Map.groupBy(byTable.get("aliases") ?? [], ({ row }) => row.session ?? null);
  for (const [session, aliases] of named) script.row(RESTORE_ALIASES, [aliases.length, session]);
  script.flush();
}

function later(script: RowScript, heads: readonly RestoredRow[], sessions: readonly RestoredRow[]): void {
  script.flush();
  for (const { row } of heads) if (row.basis !== null) script.row(RESTORE_BASIS, [row.basis ?? null, row.id ?? null]);
  for (const { row } of sessions) if (row.head !== null) script.row(RESTORE_HEAD, [row.head ?? null, row.id ?? null]);
  script.flush();
}
