// Verifies the rows of an archive before they are restored anywhere: they belong to the sessions of the manifest, occur once, have valid
// values, and refer only to rows of the archive. Whether they agree with the log is checked later (scratch.ts).
import type { HoldfastError } from "../contracts/errors.ts";
import type { HeadRow } from "../contracts/storage/lineage-queries.ts";
import {
  type ArchivedTable,
  LOGGED_TABLES,
  type LoggedTable,
  type PortableRow,
  portableColumns,
  type RestoredRow,
} from "../contracts/storage/portable-rows.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { TableShape } from "../contracts/storage/table-shape.ts";
import { TABLES } from "../contracts/storage/tables.ts";
import { toHex } from "../core/bytes.ts";
import { headOf } from "../core/head.ts";
import { IN_PART } from "../core/session-lookup.ts";
import type { InterruptibleWork } from "../core/time-slice.ts";
import { sessionOf } from "../sessions/describe.ts";
import { corrupted as damaged } from "./frames.ts";
import { bodiesOf, namesOf } from "./links.ts";
import type { Manifest } from "./manifest.ts";
import type { ArchivedSession } from "./restores.ts";

/** The hint if the file is intact, so that exporting or fetching it again does not help. */
export const DAMAGED_BEFORE =
  "Nothing was changed. The file is complete: the store that exported it is damaged. Run `npx holdfast check` there.";

function corrupted(why: string, cause?: unknown): HoldfastError {
  return damaged(why, cause, undefined, DAMAGED_BEFORE);
}

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  "sessions.status": ["open", "closed"],
  "turns.status": ["open", "done", "aborted"],
  "evals.status": ["running", "done", "failed"],
  "calls.type": ["root", "leaf"],
  "calls.status": ["started", "done", "failed", "cancelled"],
  "invocations.type": ["spawn", "attach"],
  "invocations.status": ["running", "done", "failed"],
  "derivations.type": ["fork", "attach"],
  "tasks.status": ["planned", "in_progress", "blocked", "succeeded", "failed", "abandoned"],
};

/** Groups the rows by session, and checks each row and its references. */
export function* verifyArchive(
  manifest: Manifest,
  rows: readonly RestoredRow[],
  blobs: ReadonlySet<string>,
): InterruptibleWork<readonly ArchivedSession[]> {
  if (rows.length !== manifest.rows) throw corrupted("it has another number of rows than its manifest");
  yield* checkRows(rows, blobs);
  const boards = new Map(rows.flatMap(({ table, row }) => (table === "boards" ? [[row.id, row.session]] : [])));
  const owner = ({ table, row }: RestoredRow) =>
    table === "sessions" ? row.id : table === "tasks" ? boards.get(row.board_id ?? "") : row.session;
  const bySession = Map.groupBy(rows, owner);
  yield;
  if (manifest.sessions.length !== bySession.size)
    throw corrupted("it has rows of sessions that its manifest does not list");
  const contents: ArchivedSession[] = [];
  for (const { id, whole } of manifest.sessions) {
    const own = Map.groupBy(bySession.get(id) ?? [], ({ table }) => table);
    yield;
    contents.push({
      id,
      whole,
      tables: new Map([...own].map(([table, found]) => [table, found.map(({ row }) => row)])),
    });
    yield;
  }
  const ids = (table: ArchivedTable) => new Set(rows.flatMap((found) => (found.table === table ? [found.row.id] : [])));
  const known = { session: ids("sessions"), head: ids("heads") };
  for (const [i, one] of contents.entries()) {
    const declared = manifest.sessions[i];
    if (declared !== undefined) yield* verifySession(one, declared, known);
  }
  const linked = contents.map(withLinks);
  checkNames(linked);
  return linked;
}

/** Ids and aliases share one namespace, also with sessions that are only named. */
function checkNames(contents: readonly ArchivedSession[]): void {
  const of = (table: ArchivedTable, ...columns: readonly string[]) =>
    contents.flatMap(({ tables }) => (tables.get(table) ?? []).flatMap((row) => columns.map((name) => row[name])));
  const ids = new Set(of("invocations", "callee_session", "source_session"));
  if (of("aliases", "name").some((name) => ids.has(name))) throw corrupted("an alias is the id of another session");
}

function* checkRows(rows: readonly RestoredRow[], blobs: ReadonlySet<string>): InterruptibleWork<void> {
  const seen = new Set<string>();
  for (const { table, row } of rows) {
    yield;
    for (const { name, type } of portableColumns(table)) {
      const cell = row[name];
      if (type === "blob" && cell instanceof Uint8Array && !blobs.has(toHex(cell))) {
        throw corrupted(`a row of ${table} refers to a blob that is not in the archive`);
      }
      const allowed = CHOICES[`${table}.${name}`];
      if (allowed !== undefined && !allowed.includes(String(cell)))
        throw corrupted(`a row of ${table} has an invalid ${name}`);
    }
    for (const key of keysOf(table, row)) {
      if (seen.has(key)) throw corrupted(`it has the same row of ${table} twice`);
      seen.add(key);
    }
  }
}

/** Keys that no two rows may share. */
function keysOf(table: ArchivedTable, row: PortableRow): readonly string[] {
  const of = (what: string, cells: readonly unknown[]) => JSON.stringify([what, ...cells]);
  if (table === "events") {
    const log = of("events", [row.session, row.seq]);
    return row.key === null ? [log] : [log, of("keys", [row.session, row.key, row.branch])];
  }
  const { key }: TableShape = TABLES[table];
  const main = of(
    table,
    key.map((column) => row[column.replace(/_no$/, "")]),
  );
  return table === "boards" ? [main, of("board of", [row.session, row.agent])] : [main];
}

/** Ids of what rows may refer to. */
interface KnownIds {
  readonly session: ReadonlySet<unknown>;
  readonly head: ReadonlySet<unknown>;
}

/** Columns of an invocation that may refer to sessions outside of the archive. */
const AWAY = /^(callee|source)_/;

/** Refuses references out of the archive: in the target store the id may belong to another row. */
function* checkReferences(one: ArchivedSession, known: KnownIds): InterruptibleWork<void> {
  const hasInvocations = one.tables.has("invocations");
  const bodies = hasInvocations ? bodiesOf(one) : new Map();
  for (const [table, rows] of one.tables) {
    const columns = portableColumns(table).filter(({ type }) => type === "session" || type === "head");
    for (const row of rows) {
      yield;
      const declared: PortableRow = table === "invocations" ? { ...namesOf(row, bodies) } : {};
      for (const { name, type } of columns) {
        const cell = row[name] ?? null;
        if (cell === null || known[type as keyof KnownIds].has(cell)) continue;
        if (!(table === "invocations" && AWAY.test(name) && declared[name] === cell)) {
          throw corrupted(`a row of ${table} refers to a ${type} that is not in the archive`);
        }
      }
    }
  }
}

function* verifySession(
  one: ArchivedSession,
  declared: Manifest["sessions"][number],
  known: KnownIds,
): InterruptibleWork<void> {
  const [session, ...more] = one.tables.get("sessions") ?? [];
  if (session === undefined || more.length > 0) throw corrupted("a session has no row of its own");
  const chain = session.chain as Uint8Array;
  if (session.seq !== declared.seq || toHex(chain) !== declared.chain)
    throw corrupted("a session has another end than its manifest");
  const isPart = session.deleted_at !== null;
  if (isPart === one.whole || (isPart && session.version !== IN_PART))
    throw corrupted("the manifest is wrong about whether a session is complete");
  for (const table of LOGGED_TABLES) {
    yield;
    checkOrder(table, one.tables.get(table) ?? []);
  }
  const end = Number(one.tables.get("events")?.at(-1)?.seq ?? 0);
  if (end !== session.seq) throw corrupted("a log has another end than its session");
  if (one.whole) readable("a session", () => sessionOf({ ...session, head: null } as unknown as SessionRow, []));
  for (const head of one.tables.get("heads") ?? []) {
    yield;
    readable("a head", () => headOf(head as unknown as HeadRow));
  }
  yield* checkReferences(one, known);
}

/** Rows must have the order of their events. One event may write several rows only in the table of state. */
function checkOrder(table: LoggedTable, rows: readonly PortableRow[]): void {
  let last = 0;
  for (const { seq } of rows) {
    const isAfter = table === "state" ? Number(seq) >= last : Number(seq) > last;
    if (!isAfter) throw corrupted(`the rows of ${table} are out of order`);
    last = Number(seq);
  }
}

/** Decoders report a damaged row as StoreCorrupted; here the archive is damaged. */
function readable<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw corrupted(`${what} cannot be read`, cause);
  }
}

/** Fills references of invocations to sessions that the exporting store did not have, and this store may have. */
function withLinks(one: ArchivedSession): ArchivedSession {
  const rows = one.tables.get("invocations");
  if (rows === undefined) return one;
  const bodies = bodiesOf(one);
  const linked = rows.map((row): PortableRow => {
    const declared = Object.entries(namesOf(row, bodies)).filter(([name]) => row[name] === null);
    return { ...row, ...Object.fromEntries(declared) };
  });
  return { ...one, tables: new Map([...one.tables, ["invocations", linked]]) };
}
