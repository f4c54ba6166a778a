// What was erased stays erased, whichever way round it comes. An archive that shows what is erased here is older than that
// erasure: what it holds beyond may have been erased with it, so a part does not grow by it. And what an archive says was
// erased where it comes from is erased here too.
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
import { logged } from "./gather.ts";
import type { ArchivedSession } from "./restores.ts";

/** Content that is no blob. */
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

/** Columns that hold what can be erased. */
function contentOf(table: LoggedTable): readonly string[] {
  const columns = portableColumns(table).filter(({ name, type }) => type === "blob" || TEXT_COLUMNS.includes(name));
  return columns.map(({ name }) => name);
}

/** A row as it is here, and the event that erased it where the archive comes from, if one did. */
interface ErasedElsewhere {
  readonly table: ErasedRow;
  readonly here: PortableRow;
  readonly by: PortableCell;
}

export interface ErasureComparison {
  /** Heads that are here. */
  readonly heads: ReadonlySet<unknown>;
  /** What is here, and was erased where the archive comes from. */
  readonly erased: readonly ErasedElsewhere[];
  /** Whether the archive shows what is erased here. */
  readonly isOlder: boolean;
}

/** What is here in part beside what the archive holds of the same stretches. */
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
    for await (const found of logged(storage, table, no, 0, seq)) {
      if (table === "heads") heads.add(found.id);
      isShown ||= table !== "annotations" && contentOf(table).some((name) => isThere(found[name]));
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
      // Notes go with any deletion; where the rest was kept for forks, that they are gone says nothing of it.
      isOlder ||= isBack(table, row, here) && !(table === "annotations" && isShown);
      if (here !== undefined && isHolding(table) && isErased(table, row, here))
        erased.push({ table, here, by: row.erased_seq ?? null });
    }
  }
  // The event of a note is in the archive, and the note is not.
  for (const [table, here] of shown.values()) {
    if (table === "annotations" && branches.has(here.seq ?? 0) && isHeld(here)) erased.push({ table, here, by: null });
  }
  return { heads, erased, isOlder };
}

function isHolding(table: LoggedTable): table is ErasedRow {
  return HOLDING.some((one) => one === table);
}

function isBack(table: LoggedTable, row: PortableRow, here: PortableRow | undefined): boolean {
  if (isThere(here?.erased_seq) && !isThere(row.erased_seq)) return true;
  return contentOf(table).some((name) => isThere(row[name]) && !isThere(here?.[name]));
}

/** Erased there, and not here; or by an earlier event there, which decides which heads still showed a placeholder. */
function isErased(table: LoggedTable, row: PortableRow, here: PortableRow): boolean {
  if (!("erased_seq" in row)) return contentOf(table).some((name) => isThere(here[name]) && !isThere(row[name]));
  if (!isThere(row.erased_seq)) return false;
  return !isThere(here.erased_seq) || Number(row.erased_seq) < Number(here.erased_seq);
}

function isThere(cell: unknown): boolean {
  return cell !== null && cell !== undefined;
}

function nameOf(table: LoggedTable, { seq, branch, first_seq, key, id }: PortableRow): string {
  // A message that is erased has no key any more.
  return JSON.stringify([table, seq, branch, first_seq, table === "events" ? null : key, id]);
}

/** Row by row, as often as needed: a second import that erases the same rows does no harm. */
export function eraseRows(no: number, erased: ErasureComparison["erased"]): readonly Write[] {
  const once = new Map(erased.map((one) => [JSON.stringify([one.table, one.here.seq]), one]));
  return [...once.values()].flatMap(({ table, here, by }): readonly Write[] => {
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
}

/** What may go from the files with them: their blobs, those that these name, and copies of what stood in the rows. */
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
    `something of ${JSON.stringify(id)} that the archive holds was erased before a fork of it was imported here`,
    {
      details: { kind: "session", id },
      hint: "What was erased does not come back: export the session again, as it is now, if it was not deleted.",
    },
  );
}
