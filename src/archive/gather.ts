// Reads all rows of a session while other writers add to it. Rows change only together with an event of the log, so rows that were read
// between two reads of the same seq are one snapshot; until then only the rows that were added meanwhile are read again.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import {
  ARCHIVED_TABLES,
  type ArchivedTable,
  LOGGED_TABLES,
  type LoggedTable,
  type PortableRow,
  portableColumns,
} from "../contracts/storage/portable-rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { encodeText, toHex } from "../core/bytes.ts";
import { isHeldRun, toggleHold } from "../core/run-owner.ts";
import { IN_PART } from "../core/session-lookup.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { type LogStretch, lastOf } from "../log/inherited.ts";
import { encodeFrame, FRAME_BYTES } from "./frames.ts";
import { encodeLine } from "./lines.ts";

/** How many seqs one read of the log covers, and one read of another table. */
const EVENTS = 500;
const ROWS = 2000;

/** Lines of one table: full frames are compressed at once, and the rest waits. */
interface Lines {
  readonly frames: Uint8Array[];
  waiting: string[];
  size: number;
}

/**
 * Encoded frames of rows, and the ids and blobs that the rows refer to. Frames are ordered by table, so that the file does not depend on
 * the number of reads.
 */
export class GatheredRows {
  readonly blobs = new Map<string, Uint8Array>();
  /** Blobs that may name other blobs: contents of messages, and lists of files. */
  readonly contents = new Map<string, Uint8Array>();
  readonly agents = new Set<string>();
  /** Ranges of other sessions that these rows continue. */
  readonly inherits: LogStretch[] = [];
  readonly invoked = new Set<string>();
  rows = 0;
  readonly #lines = new Map<ArchivedTable, Lines>();

  add(table: ArchivedTable, row: PortableRow): void {
    for (const { name, type } of portableColumns(table)) {
      const cell = row[name];
      if (type === "blob" && cell instanceof Uint8Array) this.blobs.set(toHex(cell), cell);
    }
    const naming = table === "events" ? row.content : table === "captures" ? row.manifest : null;
    if (naming instanceof Uint8Array) this.contents.set(toHex(naming), naming);
    if (table === "branches") this.#inherit(row.parent_session, row.parent_branch, row.cut_seq);
    if (table === "derivations") this.#inherit(row.source_session, row.source_branch, row.source_seq);
    if (table === "invocations" && typeof row.callee_session === "string") this.invoked.add(row.callee_session);
    const line = encodeLine(table, row);
    const lines = this.#lines.get(table) ?? { frames: [], waiting: [], size: 0 };
    this.#lines.set(table, lines);
    lines.waiting.push(line);
    lines.size += line.length;
    this.rows++;
    if (lines.size < FRAME_BYTES) return;
    lines.frames.push(encodeLines(lines.waiting));
    lines.waiting = [];
    lines.size = 0;
  }

  #inherit(session: unknown, branch: unknown, upTo: unknown): void {
    if (typeof session !== "string") return;
    this.inherits.push({ session, branch: Number(branch), upTo: Number(upTo) });
  }

  *frames(): Generator<Uint8Array> {
    const tables = ARCHIVED_TABLES.flatMap((table) => this.#lines.get(table) ?? []);
    for (const { frames } of tables) yield* frames;
    let together: string[] = [];
    let size = 0;
    for (const { waiting, size: more } of tables) {
      together = [...together, ...waiting];
      size += more;
      if (size < FRAME_BYTES) continue;
      yield encodeLines(together);
      [together, size] = [[], 0];
    }
    if (together.length > 0) yield encodeLines(together);
  }
}

function encodeLines(lines: readonly string[]): Uint8Array {
  return encodeFrame("rows", encodeText(lines.join("")));
}

export interface GatheredSession {
  readonly id: string;
  readonly seq: number;
  readonly chain: Uint8Array;
  readonly rows: GatheredRows;
}

/** An inherited part, also with the rows themselves, which are checked before they are written. */
export interface GatheredPart extends GatheredSession {
  readonly tables: ReadonlyMap<ArchivedTable, readonly PortableRow[]>;
}

/** Whether the event erased content: then rows that were read before may have changed. */
function erasesContent(row: PortableRow): boolean {
  return /erase|clear/.test(String(row.type));
}

export async function* readLoggedRows(
  storage: Storage,
  table: LoggedTable,
  no: number,
  after: number,
  upTo: number,
): AsyncGenerator<PortableRow> {
  const step = table === "events" ? EVENTS : ROWS;
  const slice = new TimeSlice(storage.environment);
  for (let from = after; from < upTo; from += step) {
    for (const row of await storage.query(`archive.${table}`, {
      session: no,
      after: from,
      upTo: Math.min(upTo, from + step),
    })) {
      if (slice.isSpent) await slice.pause();
      yield row;
    }
  }
}

/** All rows of a session, from one consistent snapshot. */
export async function gatherSession(storage: Storage, no: number, aliases: boolean): Promise<GatheredSession> {
  let rows = new GatheredRows();
  let after = 0;
  for (let attempt = 0; attempt < LIMITS.decideAttempts; attempt++) {
    const before = await readLiveSessionRow(storage, no);
    const upTo = Number(before.seq);
    let erased = false;
    for (const table of LOGGED_TABLES) {
      // A new row of state changes the row before it, so this table is read last, in readMutableRows().
      if (table === "state") continue;
      for await (const row of readLoggedRows(storage, table, no, after, upTo)) {
        erased ||= table === "events" && erasesContent(row);
        rows.add(table, row);
      }
    }
    const mutable = await readMutableRows(storage, no, upTo, aliases);
    const now = await readLiveSessionRow(storage, no);
    if (now.seq === upTo && now.version === before.version && !(erased && after > 0)) {
      for (const [table, row] of mutable) rows.add(table, row);
      rows.add("sessions", now);
      return { id: String(now.id), seq: upTo, chain: now.chain as Uint8Array, rows };
    }
    [rows, after] = erased && after > 0 ? [new GatheredRows(), 0] : [rows, upTo];
  }
  throw new HoldfastError("Conflict", "the session changes faster than it can be read", {
    retryable: true,
    hint: "Try again when less is written to it.",
  });
}

async function readMutableRows(
  storage: Storage,
  no: number,
  upTo: number,
  aliases: boolean,
): Promise<readonly (readonly [ArchivedTable, PortableRow])[]> {
  const found: (readonly [ArchivedTable, PortableRow])[] = [];
  for await (const row of readLoggedRows(storage, "state", no, 0, upTo)) found.push(["state", row]);
  const runs = ["runs", "signals", "decisions", "checkpoints"] as const;
  for (const table of [
    "boards",
    "tasks",
    "session_tags",
    "captures",
    ...runs,
    ...(aliases ? (["aliases"] as const) : []),
  ] as const) {
    for (const row of await storage.query(`archive.${table}`, { session: no }))
      found.push([table, table === "runs" ? withoutHold(row) : row]);
  }
  return found;
}

/** Removes the hold of a run, which concerns only the store that imported it. */
function withoutHold(row: PortableRow): PortableRow {
  const beat = Number(row.beat);
  return isHeldRun({ beat }) ? { ...row, beat: toggleHold(beat) } : row;
}

/** SessionDeleted when the session was deleted meanwhile: only a tombstone is left. */
async function readLiveSessionRow(storage: Storage, no: number): Promise<PortableRow> {
  const [row] = await storage.query("archive.sessions", { session: no });
  if (row !== undefined && row.deleted_at === null) return row;
  throw new HoldfastError("SessionDeleted", "the session was deleted while it was read", {
    details: { kind: "session" },
  });
}

/** The ranges of a session's branches that other sessions inherit: the same rows that a deleted session keeps. */
export async function gatherStretches(
  storage: Storage,
  session: { readonly id: string; readonly no: number },
  branches: ReadonlyMap<number, number>,
): Promise<GatheredPart> {
  const end = lastOf(branches);
  for (let attempt = 0; attempt < LIMITS.decideAttempts; attempt++) {
    const rows = new GatheredRows();
    const tables = new Map<ArchivedTable, PortableRow[]>();
    const add = (table: ArchivedTable, row: PortableRow) => {
      rows.add(table, row);
      const found = tables.get(table);
      if (found === undefined) tables.set(table, [row]);
      else found.push(row);
    };
    const before = await readSessionRow(storage, session.no);
    const seqs = new Set<number>();
    let chain: Uint8Array | null = null;
    for (const table of LOGGED_TABLES) {
      for await (const row of readLoggedRows(storage, table, session.no, 0, end)) {
        const seq = Number(row.seq);
        // A row without a branch column belongs to the branch of its event.
        const isIn = "branch" in row ? seq <= (branches.get(Number(row.branch)) ?? 0) : seqs.has(seq);
        if (!isIn) continue;
        if (table === "events") {
          seqs.add(seq);
          if (seq === end) chain = row.hash as Uint8Array;
        }
        add(table, row);
      }
    }
    if (chain === null) throw missingPart(session.id);
    for (const [branch, upto] of [...branches].sort(([a], [b]) => a - b))
      add("remains", { session: session.id, branch, upto });
    add("sessions", remainsRow(before, end, chain));
    if (!(await erasedSince(storage, session.no, before))) return { id: session.id, seq: end, chain, rows, tables };
  }
  throw missingPart(session.id);
}

async function readSessionRow(storage: Storage, no: number): Promise<PortableRow> {
  const [row] = await storage.query("archive.sessions", { session: no });
  if (row === undefined) throw new Error("bug: a session's row is gone");
  return row;
}

/** The row of a tombstone, with the end of the kept ranges. */
function remainsRow(row: PortableRow, seq: number, chain: Uint8Array): PortableRow {
  const { id, created_at, kind } = row;
  const kept = { id, created_at, kind, updated_at: created_at, deleted_at: created_at } as PortableRow;
  return { ...kept, status: "open", version: IN_PART, branch: 1, seq, chain, messages: 0, state_seq: 0 };
}

async function erasedSince(storage: Storage, no: number, before: PortableRow): Promise<boolean> {
  const now = await readSessionRow(storage, no);
  if (now.deleted_at !== before.deleted_at) return true;
  for await (const row of readLoggedRows(storage, "events", no, Number(before.seq), Number(now.seq)))
    if (erasesContent(row)) return true;
  return false;
}

function missingPart(session: string): HoldfastError {
  return new HoldfastError(
    "StoreCorrupted",
    `rows of session ${JSON.stringify(session)} that other sessions inherit are missing`,
    {
      details: { kind: "session", session },
      hint: "`npx holdfast check` reports what is missing; restore the store from a backup.",
    },
  );
}
