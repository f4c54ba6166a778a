// Compares erasures of an archive and the store, so that erased content never returns. If the archive has content that the store has
// erased, the archive is older than that erasure: its other rows may have been erased with it, so they do not extend a partial session.
// Content that was erased before the archive was exported is erased in the store too.
import { HoldfastError } from "../contracts/errors.ts";
import type { Cell, Write } from "../contracts/storage/commit.ts";
import {
  LOGGED_TABLES,
  type LoggedTable,
  type PortableCell,
  type PortableRow,
  portableColumns,
} from "../contracts/storage/portable-rows.ts";
import type { DiscardedRow, SessionRow } from "../contracts/storage/rows.ts";
import type { ErasedRow } from "../contracts/storage/statement-names.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { toHex } from "../core/bytes.ts";
import { changeSegmentWrites } from "../core/erasure.ts";
import { readLoggedRows } from "./gather.ts";
import type { ArchivedSession } from "./restores.ts";

/** Content columns that are not blobs. */
const TEXT_COLUMNS = ["words", "label", "final_summary"];
const HOLDING: readonly ErasedRow[] = [
  "events",
  "evals",
  "calls",
  "snapshots",
  "heads",
  "invocations",
  "state",
  "annotations",
];

/** The columns of a table with content that can be erased. */
function contentOf(table: LoggedTable): readonly string[] {
  const columns = portableColumns(table).filter(({ name, type }) => type === "blob" || TEXT_COLUMNS.includes(name));
  return columns.map(({ name }) => name);
}

/** A row of this store, and the event that erased it in the store of the archive, if there is one. */
interface ErasedElsewhere {
  readonly table: ErasedRow;
  readonly here: PortableRow;
  readonly by: PortableCell;
}

export interface ErasureComparison {
  /** Ids of heads that the store has. */
  readonly heads: ReadonlySet<unknown>;
  /** Rows of this store that were erased in the store of the archive. */
  readonly erased: readonly ErasedElsewhere[];
  /** Whether the archive has content that this store has erased. */
  readonly isOlder: boolean;
}

/** Compares the partial session of this store with the same ranges of the archive. */
export async function compareErased(
  storage: Storage,
  one: ArchivedSession,
  { no, seq }: SessionRow,
  held: ReadonlyMap<number, number>,
): Promise<ErasureComparison> {
  const shown = new Map<string, readonly [LoggedTable, PortableRow]>();
  const heads = new Set<unknown>();
  let isShown = false;
  for (const table of LOGGED_TABLES) {
    for await (const found of readLoggedRows(storage, table, no, 0, seq)) {
      if (table === "heads") heads.add(found.id);
      isShown ||= table !== "annotations" && contentOf(table).some((name) => isPresent(found[name]));
      shown.set(nameOf(table, found), [table, found]);
    }
  }
  const branches = new Map((one.tables.get("events") ?? []).map((event) => [event.seq, event.branch]));
  const isHeld = (row: PortableRow) =>
    Number(row.seq) <= (held.get(Number(row.branch ?? branches.get(row.seq ?? 0))) ?? 0);
  const erased: ErasedElsewhere[] = [];
  let isOlder = false;
  for (const table of LOGGED_TABLES) {
    for (const row of one.tables.get(table) ?? []) {
      const name = nameOf(table, row);
      const here = shown.get(name)?.[1];
      shown.delete(name);
      if (!isHeld(row)) continue;
      // Any deletion removes annotations, so a missing annotation does not show that the rows kept for forks were erased.
      isOlder ||= showsErased(table, row, here) && !(table === "annotations" && isShown);
      if (here !== undefined && isHolding(table) && isErased(table, row, here))
        erased.push({ table, here, by: row.erased_seq ?? null });
    }
  }
  // The archive has the event of an annotation without the annotation: it was erased there.
  for (const [table, here] of shown.values()) {
    if (table === "annotations" && branches.has(here.seq ?? 0) && isHeld(here)) erased.push({ table, here, by: null });
  }
  return { heads, erased, isOlder };
}

function isHolding(table: LoggedTable): table is ErasedRow {
  return HOLDING.some((one) => one === table);
}

function showsErased(table: LoggedTable, row: PortableRow, here: PortableRow | undefined): boolean {
  if (isPresent(here?.erased_seq) && !isPresent(row.erased_seq)) return true;
  return contentOf(table).some((name) => isPresent(row[name]) && !isPresent(here?.[name]));
}

/** Erased in the archive and not here, or by an earlier event there, which decides which heads show a placeholder. */
function isErased(table: LoggedTable, row: PortableRow, here: PortableRow): boolean {
  if (!("erased_seq" in row)) return contentOf(table).some((name) => isPresent(here[name]) && !isPresent(row[name]));
  if (!isPresent(row.erased_seq)) return false;
  return !isPresent(here.erased_seq) || Number(row.erased_seq) < Number(here.erased_seq);
}

function isPresent(cell: unknown): boolean {
  return cell !== null && cell !== undefined;
}

function nameOf(table: LoggedTable, { seq, branch, first_seq, key, id }: PortableRow): string {
  // An erased message has no key, so the name of an event leaves it out.
  return JSON.stringify([table, seq, branch, first_seq, table === "events" ? null : key, id]);
}

/** Writes that erase the rows one by one. Repeating them changes nothing. */
export function eraseRows(no: number, erased: ErasureComparison["erased"]): readonly Write[] {
  const once = new Map(erased.map((one) => [JSON.stringify([one.table, one.here.seq]), one]));
  const rows = [...once.values()].filter(({ table }) => table === "events");
  const ofRows = (statement: "row.events.dropSegments" | "row.events.markPassages") =>
    rows.map(({ here }): Write => ({ op: "run", statement, params: [no, Number(here.seq)] }));
  const drops = ofRows("row.events.dropSegments");
  const writes = [...once.values()].flatMap(({ table, here, by }): readonly Write[] => {
    const where: Cell[] = [no, Number(here.seq)];
    const forget = (...params: Cell[]): Write => ({ op: "run", statement: `row.${table}.erase`, params });
    if (table === "invocations") return [forget(...where)];
    const release: Write = { op: "run", statement: `row.${table}.release`, params: where };
    if (table === "events") {
      const unindex: Write = { op: "run", statement: "row.events.unindex", params: where };
      return [unindex, release, forget(by, ...where, by)];
    }
    const timed = table === "evals" || table === "calls" || table === "snapshots";
    return [release, timed ? forget(by, ...where) : forget(...where)];
  });
  return drops.length === 0 ? writes : [...changeSegmentWrites(drops, ofRows("row.events.markPassages")), ...writes];
}

/** The blobs that may be deleted with the rows: their own, blobs that these name, and copies of inline content. */
export async function blobsOf(storage: Storage, erased: ErasureComparison["erased"]): Promise<readonly DiscardedRow[]> {
  const found = new Map<string, DiscardedRow>();
  const add = async (digest: unknown) => {
    if (!(digest instanceof Uint8Array)) return;
    for (const { sha256, store, key } of await storage.query("blob.head", { sha256: digest }))
      found.set(toHex(sha256), { sha256, store, key });
  };
  for (const { table, here } of erased) {
    const digests = contentOf(table).filter((name) => !TEXT_COLUMNS.includes(name));
    for (const digest of [...digests.map((name) => here[name]), table === "events" ? here.sha256 : null]) {
      await add(digest);
      if (!(digest instanceof Uint8Array)) continue;
      for (const { sha256 } of await storage.query("blob.names", { sha256: digest })) await add(sha256);
    }
  }
  return [...found.values()];
}

export function olderArchive(id: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `the archive has content of session ${JSON.stringify(id)} that was erased in this store`,
    {
      details: { kind: "session", id },
      hint: "Erased content is never restored. If the session still exists, export it again in its current state.",
    },
  );
}
