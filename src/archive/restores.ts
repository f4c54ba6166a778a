// What a commit that restores rows must name beside them: their agents, and their blobs with how many rows refer to each.
import { type ArchivedTable, PORTABLE, type PortableRow, type RestoredRow } from "../contracts/portable.ts";
import type { Commit } from "../contracts/storage.ts";
import { toHex } from "../core/bytes.ts";

export function agentsOf(rows: readonly RestoredRow[]): readonly string[] {
  const agents = rows.flatMap(({ table, row }) =>
    PORTABLE[table].flatMap(({ name, type }) => (type === "agent" && row[name] !== null ? [String(row[name])] : [])),
  );
  return [...new Set(agents)];
}

/** How many rows refer to each blob. */
export function usesOf(rows: readonly RestoredRow[]): NonNullable<Commit["uses"]> {
  const counted = new Map<string, { readonly digest: Uint8Array; refs: number }>();
  for (const { table, row } of rows) {
    for (const digest of blobsOf(table, row)) {
      const known = counted.get(toHex(digest));
      if (known === undefined) counted.set(toHex(digest), { digest, refs: 1 });
      else known.refs++;
    }
  }
  return [...counted.values()].map(({ digest, refs }) => [digest, refs] as const);
}

function blobsOf(table: ArchivedTable, row: PortableRow): readonly Uint8Array[] {
  return PORTABLE[table].flatMap(({ name, type }) => {
    const cell = row[name];
    return type === "blob" && cell instanceof Uint8Array ? [cell] : [];
  });
}
