// What an imported session inherits from others. Where such a session is here, its own rows serve, if they are the same
// past; where it is not, what is inherited is kept like the remains of a deleted session, and grows with later imports.
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
  /** Sessions that were not here at all. */
  readonly created: readonly string[];
  /** Sessions that are here in part, and of which more comes. */
  readonly grown: readonly string[];
  readonly restores: readonly RestoredRow[];
  readonly guards: readonly Guard[];
  readonly writes: readonly Write[];
  /** Blobs of what is here, and was erased where the archive comes from; null when nothing was. */
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
    if (row === undefined) decided.push(whollyNew(source, at));
    else if (row.deleted_at === null) decided.push(await living(storage, source, row));
    else if (row.version !== IN_PART) decided.push(await kept(storage, source, row));
    else decided.push(await grown(storage, source, row));
  }
  return together(decided);
}

/**
 * Of an archive whose sessions are all here: what it knows to be erased of those they continue. What else it holds of
 * them is not asked for, so that nothing of it is refused.
 */
export async function knownErasures(storage: Storage, sources: readonly ArchivedSession[]): Promise<Sources> {
  const decided: Sources[] = [];
  for (const source of sources) {
    const [row] = await storage.query("session.get", { id: source.id });
    if (row === undefined || row.deleted_at === null) continue;
    const held = await readKeptSeqs(storage, row);
    if (!(await isSamePast(storage, source, held))) continue;
    decided.push({ ...NOTHING, ...(await erasures(storage, source, row, held)), guards: stillHeld(source, held) });
  }
  return together(decided);
}

function together(decided: readonly Sources[]): Sources {
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

const NOTHING: Sources = { created: [], grown: [], restores: [], guards: [], writes: [], cleared: null };

function whollyNew({ id, tables }: ArchivedSession, at: number): Sources {
  const restores = [...tables].flatMap(([table, rows]) =>
    rows.map((row) => ({ table, row: table === "sessions" ? { ...row, deleted_at: at, updated_at: at } : row })),
  );
  return { ...NOTHING, created: [id], restores };
}

/** Its chain hash where the inherited part ends says that all before it is the same. */
async function living(storage: Storage, source: ArchivedSession, row: SessionRow): Promise<Sources> {
  const last = lastOf(source.tables.get("events") ?? []);
  if (last === undefined || !(await isHere(storage, source.id, last))) throw otherPast(source.id);
  return { ...NOTHING, guards: [{ check: "session.version", key: [source.id], expect: row.version }] };
}

/** By their seq: where a row stands in the file proves nothing. */
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
 * What is here and is erased according to the archive is erased here too, whichever session inherits it and however
 * much of it comes.
 */
async function erasures(
  storage: Storage,
  source: ArchivedSession,
  row: SessionRow,
  held: ReadonlyMap<number, number>,
): Promise<Erasures> {
  const { erased, isOlder } = await compareErased(storage, source, row, held);
  if (erased.length === 0) return { writes: [], cleared: null, isOlder };
  return { writes: eraseRows(row.no, erased), cleared: await blobsOf(storage, erased), isOlder };
}

/** Of a session that was deleted here, what is kept serves as it is. Nothing that went comes back with a fork. */
async function kept(storage: Storage, source: ArchivedSession, row: SessionRow): Promise<Sources> {
  const held = await readKeptSeqs(storage, row);
  for (const { branch, upto } of source.tables.get("remains") ?? []) {
    if (Number(upto) > (held.get(Number(branch)) ?? 0)) throw deletedHere(source.id);
  }
  const guards = await samePast(storage, source, held);
  return { ...NOTHING, guards, ...(await erasures(storage, source, row, held)) };
}

/** Only what is missing of each branch, when what is here of it is the same. */
async function grown(storage: Storage, source: ArchivedSession, row: SessionRow): Promise<Sources> {
  const { id, tables } = source;
  const held = await readKeptSeqs(storage, row);
  const guards: Guard[] = [
    ...(await samePast(storage, source, held)),
    // Nor completed since, and deleted again: what is kept then looks the same.
    { check: "session.tombstone", key: [id], expect: IN_PART },
  ];
  const restores = missing(tables, held);
  const { isOlder, ...erased } = await erasures(storage, source, row, held);
  if (restores.length === 0) return { ...NOTHING, guards, ...erased };
  if (isOlder) throw olderArchive(id);
  const end = lastOf(tables.get("events") ?? []);
  if (end === undefined) throw otherPast(id);
  const [session] = tables.get("sessions") ?? [];
  const { created_at = null, kind = null } = session ?? {};
  // Where nothing is kept, whatever its row says is of nothing.
  const below = held.size === 0 ? Number.MAX_SAFE_INTEGER : Number(end.seq);
  const moved: Write = {
    op: "run",
    statement: "session.remainsTo",
    params: [Number(end.seq), end.hash as Uint8Array, created_at, kind, created_at, id, below],
  };
  return { ...NOTHING, grown: [id], guards, restores, writes: [...erased.writes, moved], cleared: erased.cleared };
}

/** Up to where each branch is kept. */
export async function readKeptSeqs(storage: Storage, { no }: SessionRow): Promise<ReadonlyMap<number, number>> {
  const remains = await storage.query("archive.remains", { session: no });
  return new Map(remains.map(({ branch, upto }) => [Number(branch), Number(upto)]));
}

/** As far as both reach; and that it is still kept when the rows are written. */
async function samePast(
  storage: Storage,
  source: ArchivedSession,
  held: ReadonlyMap<number, number>,
): Promise<readonly Guard[]> {
  if (!(await isSamePast(storage, source, held))) throw otherPast(source.id);
  return stillHeld(source, held);
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

function stillHeld({ id, tables }: ArchivedSession, held: ReadonlyMap<number, number>): readonly Guard[] {
  return (tables.get("remains") ?? []).map(
    ({ branch }): Guard => ({
      check: "remains.upto",
      key: [id, Number(branch)],
      expect: held.get(Number(branch)) ?? null,
    }),
  );
}

function missing(tables: ArchivedSession["tables"], held: ReadonlyMap<number, number>): readonly RestoredRow[] {
  const branches = new Map((tables.get("events") ?? []).map(({ seq, branch }) => [seq, Number(branch)]));
  const isNew = (table: ArchivedTable, row: PortableRow) => {
    if (table === "sessions") return false;
    if (table === "remains") return Number(row.upto) > (held.get(Number(row.branch)) ?? 0);
    const branch = row.branch === undefined ? branches.get(row.seq ?? 0) : Number(row.branch);
    return Number(row.seq) > (held.get(branch ?? 0) ?? 0);
  };
  return [...tables].flatMap(([table, rows]) => rows.filter((row) => isNew(table, row)).map((row) => ({ table, row })));
}

function deletedHere(id: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `the session ${JSON.stringify(id)}, which the archive continues, was deleted here, and what it held is not brought back`,
    {
      details: { kind: "session", id },
      hint: "Import the archive into another store.",
    },
  );
}

function otherPast(id: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `the session ${JSON.stringify(id)} here is not the one that the archive continues`,
    {
      details: { kind: "session", id },
      hint: "Its log has another past, or less of it. Import the archive into another store.",
    },
  );
}
