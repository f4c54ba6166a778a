// Imports an archive: the blobs are stored first, in bounded commits, and the staging keeps them; the rows stay in memory until the whole
// file is verified, and are then written in one commit, so that an import becomes visible as a whole or not at all.
import { createHash } from "node:crypto";
import type { ImportReport } from "../contracts/archive.ts";
import type { Environment } from "../contracts/environment.ts";
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Commit, Guard, SessionUse } from "../contracts/storage/commit.ts";
import type { ArrivingBlob, BlobStaging, Payloads } from "../contracts/storage/payloads.ts";
import type { RestoredRow } from "../contracts/storage/portable-rows.ts";
import type { DiscardedRow, SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { fromHex, isBytes, sameBytes, toHex } from "../core/bytes.ts";
import { type Decision, decide, type FinalAnswer } from "../core/decide.ts";
import { discardErased } from "../core/erasure.ts";
import { isHeldRun, toggleHold } from "../core/run-owner.ts";
import { deletedSession, IN_PART } from "../core/session-lookup.ts";
import { runInSlices, TimeSlice } from "../core/time-slice.ts";
import { type Completion, completePart } from "./complete.ts";
import { type ReadFrame, readFrames } from "./frames.ts";
import { linkRows } from "./links.ts";
import type { Manifest } from "./manifest.ts";
import { type ReceivedArchive, readManifest, receiveArchive } from "./receive.ts";
import { type ArchivedSession, agentsOf, rowsOf, usesOf } from "./restores.ts";
import { checkContents, type OpenScratch } from "./scratch.ts";
import { decideSources, knownErasures, type Sources } from "./sources.ts";
import { verifyArchive } from "./verify.ts";

export async function importArchive(
  storage: Storage,
  payloads: Payloads,
  scratch: OpenScratch,
  source: unknown,
): Promise<ImportReport> {
  const frames = readFrames(checkSource(source));
  const staging = payloads.stageBlobs();
  try {
    const manifest = readManifest(await frames.next());
    // A conflict is found before the blobs are read. The commit checks again.
    await wholeOutcomes(storage, manifest);
    const slice = new TimeSlice(storage.environment);
    const { contents, blobs, names } = await readContents(frames, staging, manifest, scratch, slice);
    const handOver = await staging.handOver(names);
    const { report, cleared, unused } = await writeOnce(storage, () =>
      decideImport(storage, { manifest, contents, blobs, handOver }, slice),
    );
    // If the import had nothing to write, no commit uses the staged blobs.
    if (report.rows === 0) await staging.abandon();
    const left = [...(cleared ?? []), ...(await findDiscardable(storage, unused, names))];
    if (cleared !== null || left.length > 0) await discardErased(storage, payloads, left);
    return report;
  } catch (error) {
    await staging.abandon();
    throw error;
  } finally {
    await frames.return(undefined);
  }
}

/** Verifies an archive like an import, and writes nothing. A caller that must create the store first uses it before. */
export async function checkArchive(
  environment: Environment,
  scratch: OpenScratch,
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  const frames = readFrames(source);
  try {
    const manifest = readManifest(await frames.next());
    await readContents(frames, { put: matchesHash }, manifest, scratch, new TimeSlice(environment));
  } finally {
    await frames.return(undefined);
  }
}

async function matchesHash(
  blob: ArrivingBlob,
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<boolean> {
  const hash = createHash("sha256");
  for await (const piece of source) hash.update(piece);
  return sameBytes(hash.digest(), blob.sha256);
}

interface ReadContents extends Omit<ReceivedArchive, "rows"> {
  readonly contents: readonly ArchivedSession[];
}

/** Reads and verifies the whole file. */
async function readContents(
  frames: AsyncGenerator<ReadFrame>,
  staging: Pick<BlobStaging, "put">,
  manifest: Manifest,
  scratch: OpenScratch,
  slice: TimeSlice,
): Promise<ReadContents> {
  const { rows, blobs, names } = await receiveArchive(frames, staging, manifest, slice);
  const contents = await runInSlices(verifyArchive(manifest, rows, blobs), slice);
  await checkContents(scratch, contents, blobs, names);
  return { contents, blobs, names };
}

/** A concurrent import may have created a session meanwhile, whole or in part: then the rule decides again. */
async function writeOnce<T>(storage: Storage, rule: () => Promise<Decision<T> | FinalAnswer<T>>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    let committing = false;
    try {
      return await decide(storage, rule, () => {
        committing = true;
      });
    } catch (error) {
      // An error of the rule itself is final.
      if (!committing || !isTaken(error) || attempt === LIMITS.decideAttempts) throw error;
    }
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof HoldfastError && (error.code === "AlreadyExists" || error.code === "SessionDeleted");
}

function checkSource(source: unknown): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if (isBytes(source)) return [source];
  if (isStream(source)) return source;
  throw new HoldfastError("InvalidArgument", "source must be a Uint8Array, or a stream of Uint8Arrays", {
    details: { what: "source" },
  });
}

/** False also for a proxy that throws on every access. */
function isStream(source: unknown): source is AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if (typeof source !== "object" || source === null) return false;
  const given = source as { [Symbol.asyncIterator]?: unknown; [Symbol.iterator]?: unknown };
  try {
    return typeof (given[Symbol.asyncIterator] ?? given[Symbol.iterator]) === "function";
  } catch {
    return false;
  }
}

/** Whether each whole session is imported or exists already; AlreadyExists for a session with the same id and another log. */
async function wholeOutcomes(
  storage: Storage,
  manifest: Manifest,
): Promise<readonly ImportReport["sessions"][number][]> {
  const found: ImportReport["sessions"][number][] = [];
  for (const { id, seq, chain, whole } of manifest.sessions) {
    if (!whole) continue;
    const [row] = await storage.query("session.get", { id });
    const isPart = row !== undefined && row.deleted_at !== null && row.version === IN_PART;
    if (row !== undefined && row.deleted_at !== null && !isPart) throw await deletedSessionError(storage, row);
    if (row !== undefined && !isPart && (row.seq !== seq || toHex(row.chain) !== chain))
      throw differentHistory(id, row.seq, seq);
    found.push({ id, outcome: row === undefined || isPart ? "imported" : "there", seq, chain });
  }
  return found;
}

interface ImportOutcome {
  readonly report: ImportReport;
  /** Blobs of erased rows of partial sessions, whose files must be deleted; null: nothing was erased. */
  readonly cleared: readonly DiscardedRow[] | null;
  /** Received blobs that no written row refers to, because the row exists already or is erased in this store. */
  readonly unused: readonly string[];
}

/** A verified archive, with its blobs received. */
interface VerifiedArchive {
  readonly manifest: Manifest;
  readonly contents: readonly ArchivedSession[];
  readonly blobs: ReadonlySet<string>;
  /** What the commit needs so that the received blobs stay. */
  readonly handOver: Pick<Commit, "writes" | "uses">;
}

async function decideImport(
  storage: Storage,
  { manifest, contents, blobs, handOver }: VerifiedArchive,
  slice: TimeSlice,
): Promise<Decision<ImportOutcome> | FinalAnswer<ImportOutcome>> {
  const at = storage.environment.now();
  const sessions = await wholeOutcomes(storage, manifest);
  const isNew = (id: string) => sessions.some((one) => one.id === id && one.outcome === "imported");
  const fresh = contents.filter(({ id, whole }) => whole && isNew(id));
  const aliases = await freeAliases(storage, manifest, fresh);
  const inherited = contents.filter(({ whole }) => !whole).map(({ id }) => id);
  const report = {
    session: manifest.session,
    sessions,
    blobs: blobs.size,
    aliasesTaken: aliases.taken,
    inherited,
    partial: await listPartial(storage, inherited),
  };
  const continued = contents.filter(({ whole }) => !whole);
  if (fresh.length === 0) return eraseOnly(await knownErasures(storage, continued), { ...report, rows: 0 });
  const sources = await decideSources(storage, continued, at);
  const chosen = fresh.map((one) => withFreeAliases(one, aliases.free));
  const parts = await completeParts(storage, chosen);
  const written = chosen.map(async (one) => parts.get(one.id)?.restores ?? rowsOf([one], slice));
  const rows = [...(await Promise.all(written)).flat(), ...sources.restores];
  const created = [...fresh.map(({ id }) => id).filter((id) => !parts.has(id)), ...sources.created];
  const growing = [...parts.keys(), ...sources.grown];
  const linked = await linkRows(storage, { contents, restores: rows, created: new Set(created), growing }, at);
  // Includes rows of completed sessions, because their references to heads are counted again.
  const all = [...(await rowsOf(chosen, slice)), ...sources.restores];
  const completed = [...parts.values()];
  const uses = await usesOf(all, slice);
  const used = new Set(uses.map(([digest]) => toHex(digest)));
  return {
    commit: {
      solo: true,
      sessions: [...created.map((id): SessionUse => ({ id, mode: "restore", at })), ...linked.sessions],
      agents: (await agentsOf(all, slice)).map((id) => ({ id, at })),
      guards: [
        ...sources.guards,
        ...aliases.guards,
        ...(await boardGuards(storage, fresh)),
        ...(await runGuards(storage, fresh)),
        ...completed.flatMap(({ guards }) => guards),
        ...linked.guards,
      ],
      replaces: completed.flatMap(({ replaces }) => replaces),
      restores: linked.restores.map(holdOpenRun),
      writes: [
        ...(handOver.writes ?? []),
        ...sources.writes,
        ...completed.flatMap(({ writes }) => writes),
        ...linked.writes,
      ],
      uses: [...(handOver.uses ?? []), ...uses],
    },
    answer: () => ({
      report: { ...report, rows: rows.length },
      cleared: allCleared([...completed, sources]),
      unused: [...blobs].filter((hex) => !used.has(hex)),
    }),
  };
}

function allCleared(parts: readonly Pick<ImportOutcome, "cleared">[]): ImportOutcome["cleared"] {
  const cleared = parts.flatMap((part) => (part.cleared === null ? [] : [part.cleared]));
  return cleared.length === 0 ? null : cleared.flat();
}

/** The store has all sessions already: only erasures of the archive remain to be done. */
function eraseOnly(
  { guards, writes, cleared }: Sources,
  report: ImportReport,
): Decision<ImportOutcome> | FinalAnswer<ImportOutcome> {
  if (writes.length === 0) return { answer: { report, cleared: null, unused: [] } };
  return { commit: { solo: true, guards, writes }, answer: () => ({ report, cleared, unused: [] }) };
}

/** Blobs that name others come first, so that blobs that only they name can be deleted with them. */
async function findDiscardable(
  storage: Storage,
  unused: readonly string[],
  names: ReadonlyMap<Uint8Array, readonly Uint8Array[]>,
): Promise<readonly DiscardedRow[]> {
  const naming = new Set([...names.keys()].map(toHex));
  const found: DiscardedRow[] = [];
  for (const hex of [...unused.filter((one) => naming.has(one)), ...unused.filter((one) => !naming.has(one))]) {
    for (const row of await storage.query("blob.head", { sha256: fromHex(hex) ?? new Uint8Array() })) {
      if (row.refs === 0) found.push({ sha256: row.sha256, store: row.store, key: row.key });
    }
  }
  return found;
}

/** Completions of the sessions of which the store has a part. */
async function completeParts(
  storage: Storage,
  fresh: readonly ArchivedSession[],
): Promise<ReadonlyMap<string, Completion>> {
  const found = new Map<string, Completion>();
  for (const one of fresh) {
    const [row] = await storage.query("session.get", { id: one.id });
    if (row !== undefined) found.set(one.id, await completePart(storage, one, row));
  }
  return found;
}

async function listPartial(storage: Storage, ids: readonly string[]): Promise<readonly string[]> {
  const partial: string[] = [];
  for (const id of ids) {
    const [row] = await storage.query("session.get", { id });
    if (row === undefined || row.deleted_at !== null) partial.push(id);
  }
  return partial;
}

interface Aliases {
  readonly free: ReadonlySet<string>;
  readonly taken: readonly string[];
  readonly guards: readonly Guard[];
}

async function freeAliases(storage: Storage, manifest: Manifest, fresh: readonly ArchivedSession[]): Promise<Aliases> {
  const free = new Set<string>();
  const taken: string[] = [];
  const ids = new Set(manifest.sessions.map(({ id }) => id));
  for (const name of fresh.flatMap(({ tables }) => (tables.get("aliases") ?? []).map((row) => String(row.name)))) {
    const [session] = await storage.query("session.get", { id: name });
    const [holder] = await storage.query("alias.get", { name });
    if (session !== undefined || holder !== undefined || ids.has(name)) taken.push(name);
    else free.add(name);
  }
  return { free, taken, guards: [...free].map((name) => ({ check: "alias.session", key: [name], expect: null })) };
}

/**
 * A run that has not ended may still be running in the store that exported it, so here it continues only after resume() or unpause().
 */
function holdOpenRun(restored: RestoredRow): RestoredRow {
  const { table, row } = restored;
  const beat = Number(row.beat);
  if (table !== "runs" || row.ended_at != null || isHeldRun({ beat })) return restored;
  return { table, row: { ...row, beat: toggleHold(beat) } };
}

async function runGuards(storage: Storage, fresh: readonly ArchivedSession[]): Promise<readonly Guard[]> {
  const ids = fresh.flatMap(({ tables }) => (tables.get("runs") ?? []).map((row) => String(row.id)));
  for (const id of ids) {
    const [run] = await storage.query("run.get", { id });
    if (run !== undefined) {
      throw new HoldfastError("AlreadyExists", `there is a run ${JSON.stringify(id)} already`, {
        details: { kind: "run", id, session: run.session },
        hint: "In this store the id belongs to another session than in the archive. Import the archive into another store.",
      });
    }
    const [gone] = await storage.query("run.taken", { id });
    if (gone !== undefined) throw deletedRun(id);
  }
  return ids.map((id) => ({ check: "run.version", key: [id], expect: null }));
}

function deletedRun(id: string): HoldfastError {
  return new HoldfastError("Conflict", `the run ${JSON.stringify(id)} was deleted here; ids are not used again`, {
    details: { kind: "run", id, deleted: true },
    hint: "Deleted runs are never restored: delete the run in the store that exported the archive, and export the session again.",
  });
}

async function boardGuards(storage: Storage, fresh: readonly ArchivedSession[]): Promise<readonly Guard[]> {
  const ids = fresh.flatMap(({ tables }) => (tables.get("boards") ?? []).map((row) => String(row.id)));
  for (const id of ids) {
    const [board] = await storage.query("board.get", { id });
    if (board !== undefined) {
      throw new HoldfastError("AlreadyExists", `there is a task list ${JSON.stringify(id)} already`, {
        details: { kind: "board", id, session: board.session },
        hint: "In this store the id belongs to another session than in the archive. Import the archive into another store.",
      });
    }
  }
  return ids.map((id) => ({ check: "board.version", key: [id], expect: null }));
}

/** Removes aliases that other sessions of this store have. */
function withFreeAliases(one: ArchivedSession, free: ReadonlySet<string>): ArchivedSession {
  const aliases = (one.tables.get("aliases") ?? []).filter(({ name }) => free.has(String(name)));
  return { ...one, tables: new Map([...one.tables, ["aliases", aliases]]) };
}

async function deletedSessionError(storage: Storage, row: SessionRow): Promise<HoldfastError> {
  const { code, message, details } = await deletedSession(storage, row);
  const hint = "The id of a deleted session is not used again; import the archive into another store.";
  return new HoldfastError(code, message, { details, hint });
}

function differentHistory(id: string, here: number, there: number): HoldfastError {
  return new HoldfastError("AlreadyExists", `the store has another session with the id ${JSON.stringify(id)}`, {
    details: { kind: "session", id, seq: here, archived: there },
    hint: "Import it into another store, and compare the two with their logs.",
  });
}
