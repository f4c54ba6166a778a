// An archive that shows what is erased here is older than that erasure. What it holds beyond may have been erased with it,
// so nothing of it is taken: what was erased does not come back.
import { HoldfastError } from "../contracts/errors.ts";
import { LOGGED_TABLES, type LoggedTable, PORTABLE, type PortableRow } from "../contracts/portable.ts";
import type { DiscardedRow, SessionRow } from "../contracts/queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { logged } from "./gather.ts";
import type { Contents } from "./verify.ts";

/** Content that is no blob. */
const WORDS = ["words", "label", "final_summary"];

/** Columns that hold what can be erased. */
function contentOf(table: LoggedTable): readonly string[] {
  const columns = PORTABLE[table].filter(({ name, type }) => type === "blob" || WORDS.includes(name));
  return columns.map(({ name }) => name);
}

export interface Compared {
  /** Heads that are here. */
  readonly heads: ReadonlySet<unknown>;
  /** What is here, and was cleared where the archive comes from. */
  readonly cleared: readonly (readonly [LoggedTable, PortableRow])[];
}

/** What is here in part beside what the archive holds of the same stretches. */
export async function compareErased(
  storage: Storage,
  one: Contents,
  { no, seq }: SessionRow,
  held: ReadonlyMap<number, number>,
): Promise<Compared> {
  const shown = new Map<string, PortableRow>();
  const heads = new Set<unknown>();
  let isShown = false;
  for (const table of LOGGED_TABLES) {
    for await (const found of logged(storage, table, no, 0, seq)) {
      if (table === "heads") heads.add(found.id);
      isShown ||= table !== "annotations" && contentOf(table).some((name) => isThere(found[name]));
      shown.set(nameOf(table, found), found);
    }
  }
  const branches = new Map((one.tables.get("events") ?? []).map((event) => [event.seq, event.branch]));
  const cleared: (readonly [LoggedTable, PortableRow])[] = [];
  for (const table of LOGGED_TABLES) {
    for (const row of one.tables.get(table) ?? []) {
      const branch = Number(row.branch ?? branches.get(row.seq ?? 0));
      if (Number(row.seq) > (held.get(branch) ?? 0)) continue;
      const here = shown.get(nameOf(table, row));
      // Notes go with any deletion; where the rest was kept for forks, that they are gone says nothing of it.
      if (isBack(table, row, here) && !(table === "annotations" && isShown)) throw older(one.id);
      if (here !== undefined && isThere(row.erased_seq) && !isThere(here.erased_seq)) cleared.push([table, here]);
    }
  }
  return { heads, cleared };
}

function isBack(table: LoggedTable, row: PortableRow, here: PortableRow | undefined): boolean {
  if (isThere(here?.erased_seq) && !isThere(row.erased_seq)) return true;
  return contentOf(table).some((name) => isThere(row[name]) && !isThere(here?.[name]));
}

function isThere(cell: unknown): boolean {
  return cell !== null && cell !== undefined;
}

function nameOf(table: LoggedTable, { seq, branch, first_seq, key, id }: PortableRow): string {
  return JSON.stringify([table, seq, branch, first_seq, key, id]);
}

export async function blobsOf(storage: Storage, rows: Compared["cleared"]): Promise<readonly DiscardedRow[]> {
  const found: DiscardedRow[] = [];
  for (const [table, row] of rows) {
    for (const name of contentOf(table)) {
      const digest = row[name];
      if (!(digest instanceof Uint8Array) || WORDS.includes(name)) continue;
      for (const { sha256, store, key } of await storage.query("blob.head", digest)) found.push({ sha256, store, key });
    }
  }
  return found;
}

function older(id: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `something of ${JSON.stringify(id)} that the archive holds was erased before a fork of it was imported here`,
    {
      details: { kind: "session", id },
      hint: "What was erased does not come back: export the session again, as it is now, if it was not deleted.",
    },
  );
}
