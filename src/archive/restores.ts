// Collects what a commit needs besides the rows that it restores: their agents, and how many rows refer to each blob.
import type { Commit } from "../contracts/storage/commit.ts";
import {
  type ArchivedTable,
  type PortableRow,
  portableColumns,
  type RestoredRow,
} from "../contracts/storage/portable-rows.ts";
import { toHex } from "../core/bytes.ts";
import type { TimeSlice } from "../core/time-slice.ts";

/** The rows of all tables of all sessions. */
export async function rowsOf(contents: readonly ArchivedSession[], slice: TimeSlice): Promise<readonly RestoredRow[]> {
  const rows: RestoredRow[] = [];
  for (const { tables } of contents) {
    for (const [table, found] of tables) {
      for (const row of found) {
        if (slice.isSpent) await slice.pause();
        rows.push({ table, row });
      }
    }
  }
  return rows;
}

export async function agentsOf(rows: readonly RestoredRow[], slice: TimeSlice): Promise<readonly string[]> {
  const agents = new Set<string>();
  for (const { table, row } of rows) {
    if (slice.isSpent) await slice.pause();
    for (const { name, type } of portableColumns(table)) {
      if (type === "agent" && row[name] !== null) agents.add(String(row[name]));
    }
  }
  return [...agents];
}

/** How many rows refer to each blob. */
export async function usesOf(rows: readonly RestoredRow[], slice: TimeSlice): Promise<NonNullable<Commit["uses"]>> {
  const counted = new Map<string, { readonly digest: Uint8Array; refs: number }>();
  for (const { table, row } of rows) {
    if (slice.isSpent) await slice.pause();
    for (const digest of blobsOf(table, row)) {
      const known = counted.get(toHex(digest));
      if (known === undefined) counted.set(toHex(digest), { digest, refs: 1 });
      else known.refs++;
    }
  }
  return [...counted.values()].map(({ digest, refs }) => [digest, refs] as const);
}

function* blobsOf(table: ArchivedTable, row: PortableRow): Generator<Uint8Array> {
  for (const { name, type } of portableColumns(table)) {
    const cell = row[name];
    if (type === "blob" && cell instanceof Uint8Array) yield cell;
  }
}

/** Rows of one session. */
export interface ArchivedSession {
  readonly id: string;
  readonly whole: boolean;
  readonly tables: ReadonlyMap<ArchivedTable, readonly PortableRow[]>;
}
