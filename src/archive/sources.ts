// Decides what an import does with sessions that an imported session continues. If the store has such a session, its own rows are used,
// provided that they are the same. If not, the inherited rows are stored like those of a deleted session, and later imports extend them.
import { HoldfastError } from "../contracts/errors.ts";
import type { Guard, Write } from "../contracts/storage/commit.ts";
import type { ArchivedTable, PortableRow, RestoredRow } from "../contracts/storage/portable-rows.ts";
import type { DiscardedRow, SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { sameBytes } from "../core/bytes.ts";
import { IN_PART } from "../core/session-lookup.ts";
import { blobsOf, compareErased, eraseRows, olderArchive } from "./erasures.ts";
import type { ArchivedSession } from "./restores.ts";

export interface Sources {
  /** Sessions of which the store had nothing. */
  readonly created: readonly string[];
  /** Sessions of which the store has a part, and that get more rows. */
  readonly grown: readonly string[];
  readonly restores: readonly RestoredRow[];
  readonly guards: readonly Guard[];
  readonly writes: readonly Write[];
  /** Blobs of rows that the store has, and that were erased in the archive; null: there are none. */
  readonly cleared: readonly DiscardedRow[] | null;
}

export async function decideSources(
  storage: Storage,
  sources: readonly ArchivedSession[],
  at: number,
): Promise<Sources> {
  const decided: Sources[] = [];
  for (const source of sources) {
    const [row] = await storage.query("session.get", { id: source.id });
    if (row === undefined) decided.push(createPart(source, at));
    else if (row.deleted_at === null) decided.push(await reuseLiving(storage, source, row));
    else if (row.version !== IN_PART) decided.push(await reuseKept(storage, source, row));
    else decided.push(await extendPart(storage, source, row));
  }
  return mergeSources(decided);
}

/**
 * For an archive whose sessions the store has already: only the erasures in sessions that they continue. All other rows of these are
 * ignored, and so cannot cause a conflict.
 */
export async function knownErasures(storage: Storage, sources: readonly ArchivedSession[]): Promise<Sources> {
  const decided: Sources[] = [];
  for (const source of sources) {
    const [row] = await storage.query("session.get", { id: source.id });
    if (row === undefined || row.deleted_at === null) continue;
    const held = await readKeptSeqs(storage, row);
    if (!(await isSamePast(storage, source, held))) continue;
    decided.push({
      ...NO_CHANGES,
      ...(await applyErasures(storage, source, row, held)),
      guards: keptGuards(source, held),
    });
  }
  return mergeSources(decided);
}

function mergeSources(decided: readonly Sources[]): Sources {
  const cleared = decided.flatMap((one) => (one.cleared === null ? [] : [one.cleared]));
  return {
    created: decided.flatMap(({ created }) => created),
    grown: decided.flatMap((one) => one.grown),
    restores: decided.flatMap(({ restores }) => restores),
    guards: decided.flatMap(({ guards }) => guards),
    writes: decided.flatMap(({ writes }) => writes),
    cleared: cleared.length === 0 ? null : cleared.flat(),
  };
}

const NO_CHANGES: Sources = { created: [], grown: [], restores: [], guards: [], writes: [], cleared: null };

function createPart({ id, tables }: ArchivedSession, at: number): Sources {
  const restores = [...tables].flatMap(([table, rows]) =>
    rows.map((row) => ({ table, row: table === "sessions" ? { ...row, deleted_at: at, updated_at: at } : row })),
  );
  return { ...NO_CHANGES, created: [id], restores };
}

/** The store has the session. Its chain hash at the end of the inherited part must be the same; then all events before it are. */
async function reuseLiving(storage: Storage, source: ArchivedSession, row: SessionRow): Promise<Sources> {
  const last = lastOf(source.tables.get("events") ?? []);
  if (last === undefined || !(await isHere(storage, source.id, last))) throw differentPast(source.id);
  return { ...NO_CHANGES, guards: [{ check: "session.version", key: [source.id], expect: row.version }] };
}

/** The event with the greatest seq. The order of rows in the file is not trusted. */
function lastOf(events: readonly PortableRow[]): PortableRow | undefined {
  let last: PortableRow | undefined;
  for (const event of events) if (last === undefined || Number(event.seq) > Number(last.seq)) last = event;
  return last;
}

async function isHere(storage: Storage, session: string, event: PortableRow): Promise<boolean> {
  const [found] = await storage.query("events.at", { session, seq: Number(event.seq) });
  return found !== undefined && sameBytes(found.hash, event.hash as Uint8Array);
}

type Erasures = Pick<Sources, "writes" | "cleared"> & { readonly isOlder: boolean };

/**
 * Rows of the store that are erased in the archive are erased here too, whichever session inherits them.
 */
async function applyErasures(
  storage: Storage,
  source: ArchivedSession,
  row: SessionRow,
  held: ReadonlyMap<number, number>,
): Promise<Erasures> {
  const { erased, isOlder } = await compareErased(storage, source, row, held);
  if (erased.length === 0) return { writes: [], cleared: null, isOlder };
  return { writes: eraseRows(row.no, erased), cleared: await blobsOf(storage, erased), isOlder };
}

/** The session was deleted in this store: the rows that were kept for its forks are used. A fork never restores deleted rows. */
async function reuseKept(storage: Storage, source: ArchivedSession, row: SessionRow): Promise<Sources> {
  const held = await readKeptSeqs(storage, row);
  for (const { branch, upto } of source.tables.get("remains") ?? []) {
    if (Number(upto) > (held.get(Number(branch)) ?? 0)) throw deletedSource(source.id);
  }
  const guards = await requireSamePast(storage, source, held);
  return { ...NO_CHANGES, guards, ...(await applyErasures(storage, source, row, held)) };
}

/** The store has a part of the session: adds the missing rows of each branch, if the existing ones are the same. */
async function extendPart(storage: Storage, source: ArchivedSession, row: SessionRow): Promise<Sources> {
  const { id, tables } = source;
  const held = await readKeptSeqs(storage, row);
  const guards: Guard[] = [
    ...(await requireSamePast(storage, source, held)),
    // The session was not completed and deleted meanwhile, after which the kept rows would look the same.
    { check: "session.tombstone", key: [id], expect: IN_PART },
  ];
  const restores = missingRows(tables, held);
  const { isOlder, ...erased } = await applyErasures(storage, source, row, held);
  if (restores.length === 0) return { ...NO_CHANGES, guards, ...erased };
  if (isOlder) throw olderArchive(id);
  const end = lastOf(tables.get("events") ?? []);
  if (end === undefined) throw differentPast(id);
  const [session] = tables.get("sessions") ?? [];
  const { created_at = null, kind = null } = session ?? {};
  // If no rows are kept, the end that the row names means nothing.
  const below = held.size === 0 ? Number.MAX_SAFE_INTEGER : Number(end.seq);
  const moved: Write = {
    op: "run",
    statement: "session.remainsTo",
    params: [Number(end.seq), end.hash as Uint8Array, created_at, kind, created_at, id, below],
  };
  return { ...NO_CHANGES, grown: [id], guards, restores, writes: [...erased.writes, moved], cleared: erased.cleared };
}

/** The last kept seq of each branch. */
export async function readKeptSeqs(storage: Storage, { no }: SessionRow): Promise<ReadonlyMap<number, number>> {
  const remains = await storage.query("archive.remains", { session: no });
  return new Map(remains.map(({ branch, upto }) => [Number(branch), Number(upto)]));
}

/** Requires that both are the same as far as both reach. The guards require that the rows are still kept at the commit. */
async function requireSamePast(
  storage: Storage,
  source: ArchivedSession,
  held: ReadonlyMap<number, number>,
): Promise<readonly Guard[]> {
  if (!(await isSamePast(storage, source, held))) throw differentPast(source.id);
  return keptGuards(source, held);
}

async function isSamePast(
  storage: Storage,
  { id, tables }: ArchivedSession,
  held: ReadonlyMap<number, number>,
): Promise<boolean> {
  const events = tables.get("events") ?? [];
  for (const { branch, upto } of tables.get("remains") ?? []) {
    const shared = Math.min(Number(upto), held.get(Number(branch)) ?? 0);
    const last = lastOf(events.filter((event) => event.branch === branch && Number(event.seq) <= shared));
    if (last !== undefined && !(await isHere(storage, id, last))) return false;
  }
  return true;
}

function keptGuards({ id, tables }: ArchivedSession, held: ReadonlyMap<number, number>): readonly Guard[] {
  return (tables.get("remains") ?? []).map(
    ({ branch }): Guard => ({
      check: "remains.upto",
      key: [id, Number(branch)],
      expect: held.get(Number(branch)) ?? null,
    }),
  );
}

function missingRows(tables: ArchivedSession["tables"], held: ReadonlyMap<number, number>): readonly RestoredRow[] {
  const branches = new Map((tables.get("events") ?? []).map(({ seq, branch }) => [seq, Number(branch)]));
  const isNew = (table: ArchivedTable, row: PortableRow) => {
    if (table === "sessions") return false;
    if (table === "remains") return Number(row.upto) > (held.get(Number(row.branch)) ?? 0);
    const branch = row.branch === undefined ? branches.get(row.seq ?? 0) : Number(row.branch);
    return Number(row.seq) > (held.get(branch ?? 0) ?? 0);
  };
  return [...tables].flatMap(([table, rows]) => rows.filter((row) => isNew(table, row)).map((row) => ({ table, row })));
}

function deletedSource(id: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `the archive continues session ${JSON.stringify(id)}, which was deleted in this store, and deleted rows are never restored`,
    {
      details: { kind: "session", id },
      hint: "Import the archive into another store.",
    },
  );
}

function differentPast(id: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `the archive continues another session ${JSON.stringify(id)} than the one in this store`,
    {
      details: { kind: "session", id },
      hint: "The log of the session in this store differs or is shorter. Import the archive into another store.",
    },
  );
}
