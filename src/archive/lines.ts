// Encodes rows as lines of JSON: `[table, {column: value}]` without NULL values. Bytes are text if they are UTF-8, and base64 otherwise; a
// blob is the hex of its hash. A reader checks every cell of a file before it uses it.
import { isUtf8 } from "node:buffer";
import {
  ARCHIVED_TABLES,
  type ArchivedTable,
  type PortableCell,
  type PortableColumn,
  type PortableRow,
  portableColumns,
  type RestoredRow,
} from "../contracts/storage/portable-rows.ts";
import { decodeText, encodeText, fromHex, toHex } from "../core/bytes.ts";
import { checkId } from "../core/check.ts";
import { hasAtMostParts } from "../core/json-parts.ts";
import { corrupted } from "./frames.ts";

export function encodeLine(table: ArchivedTable, row: PortableRow): string {
  const cells: Record<string, unknown> = {};
  for (const { name, type } of portableColumns(table)) {
    const cell = row[name];
    if (cell === null || cell === undefined) continue;
    cells[name] = cell instanceof Uint8Array ? (type === "blob" ? toHex(cell) : encodeBytes(cell)) : cell;
  }
  return `${JSON.stringify([table, cells])}\n`;
}

function encodeBytes(bytes: Uint8Array): unknown {
  // Checked first, because most values are hashes, and throwing for each would be slow.
  if (isUtf8(bytes)) return decodeText(bytes);
  return { base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
}

/** Columns that may be NULL; all others are required. */
const OPTIONAL: Readonly<Record<ArchivedTable, readonly string[]>> = {
  sessions: ["agent", "title", "tags", "metadata", "request", "deleted_at", "origin", "cache_id", "head"],
  heads: ["basis", "final", "salt", "final_summary", "snapshot_seq", "fingerprint", "turn_seq", "cache_id"],
  branches: [],
  events: ["agent", "role", "run", "key", "sha256", "words", "content", "salt", "chars", "erased_seq"],
  turns: ["agent", "run"],
  clears: ["run"],
  evals: ["turn_seq", "message_seq", "code", "result", "final", "error", "salts", "erased_seq"],
  calls: [
    "turn_seq",
    "model",
    "provider",
    "request",
    "response",
    "result",
    "error",
    "salts",
    "tokens_in",
    "tokens_out",
    "tokens_cached",
    "cost_usd",
    "completed_at",
    "erased_seq",
  ],
  snapshots: ["turn_seq", "vars", "salt", "erased_seq"],
  invocations: [
    "callee_session",
    "caller_head_before",
    "caller_head_after",
    "callee_head_before",
    "callee_head_after",
    "call_seq",
    "label",
    "source_session",
    "source_head",
    "source_snapshot_seq",
    "source_fingerprint",
    "completed_at",
  ],
  derivations: ["source_head"],
  annotations: ["payload", "salt"],
  state: ["until_seq", "value", "salt", "expires_at"],
  boards: ["parent"],
  runs: ["parent", "owner", "checkpoint_seq", "wake_at", "waits", "pause_at", "stop", "cost_usd", "ended_at"],
  signals: ["taken_seq"],
  decisions: ["answered_seq"],
  checkpoints: [],
  captures: ["config_dir", "project_key", "agent_version", "expires_at"],
  tasks: [],
  session_tags: [],
  aliases: [],
  remains: [],
};

const TABLE_NAMES: ReadonlySet<string> = new Set(ARCHIVED_TABLES);

/** More than any row has columns, and values inside them. */
const ROW_PARTS = 256;

export function decodeLine(line: string): RestoredRow {
  if (!hasAtMostParts(line, ROW_PARTS)) throw corrupted("a row has more than its columns");
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch (cause) {
    throw corrupted("a row is not JSON", cause);
  }
  const [table, cells] = Array.isArray(parsed) ? parsed : [];
  const isRow = typeof table === "string" && TABLE_NAMES.has(table) && typeof cells === "object" && cells !== null;
  if (!isRow) throw corrupted("a row belongs to an unknown table");
  return { table: table as ArchivedTable, row: decodeCells(table as ArchivedTable, cells) };
}

function decodeCells(table: ArchivedTable, given: object): PortableRow {
  const cells = new Map(Object.entries(given));
  const row: Record<string, PortableCell> = {};
  for (const column of portableColumns(table)) {
    const { name } = column;
    const cell = cells.get(name);
    cells.delete(name);
    if (cell === undefined) {
      if (!OPTIONAL[table].includes(name)) throw corrupted(`a row of ${table} has no ${name}`);
      row[name] = null;
      continue;
    }
    const value = decodeCell(column, cell);
    if (value === undefined) throw corrupted(`a row of ${table} has an invalid ${name}`);
    row[name] = value;
  }
  const [stray] = cells.keys();
  if (stray !== undefined) throw corrupted(`a row of ${table} has an unknown column`);
  return row;
}

/** Ids that may be empty: "" is a board's agent for the session itself, and a checkpoint's run for no run. */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set(["agent", "parent", "key", "run"]);

/** undefined when the cell does not have the column's type. */
function decodeCell({ name, type }: PortableColumn, cell: unknown): PortableCell | undefined {
  switch (type) {
    case "int":
      return Number.isSafeInteger(cell) ? (cell as number) : undefined;
    case "real":
      return typeof cell === "number" && Number.isFinite(cell) ? cell : undefined;
    case "blob":
      return typeof cell === "string" && cell.length === 64 ? (fromHex(cell) ?? undefined) : undefined;
    case "bytes":
      return decodeBytes(cell);
    case "text":
      if (!isText(cell)) return undefined;
      // A list of all steps that a run waits for, which has no fixed length.
      if (name === "waits") return cell.isWellFormed() && !cell.includes("\0") ? cell : undefined;
      return (cell === "" ? MAY_BE_EMPTY.has(name) : isId(cell)) ? cell : undefined;
    default:
      return isText(cell) && isId(cell) ? cell : undefined;
  }
}

function isText(cell: unknown): cell is string {
  return typeof cell === "string";
}

function isId(text: string): boolean {
  try {
    checkId(text, "id");
    return true;
  } catch {
    return false;
  }
}

function decodeBytes(cell: unknown): Uint8Array | undefined {
  if (typeof cell === "string") return cell.isWellFormed() ? encodeText(cell) : undefined;
  const text = typeof cell === "object" && cell !== null && "base64" in cell ? cell.base64 : undefined;
  if (typeof text !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  return Buffer.from(text, "base64");
}
