// The checksum of a row: over the columns that nothing else in the store proves (no log, no hash, no other row).
// SQLite's pages have no checksum, so without this one a flipped bit in such a column would be read as if it had been
// written.
import { hash } from "node:crypto";
import type { ColumnType, TableShape } from "../contracts/storage/table-shape.ts";
import { TABLES } from "../contracts/storage/tables.ts";

export type ChecksumCell = null | number | bigint | string | Uint8Array;

/**
 * 16 hexadecimal digits of a SHA-256. This function uses nothing but its arguments, because a thread gets its source
 * text. postgres/dialect.ts computes the same in SQL.
 */
export function checksumOf(
  digest: (algorithm: string, data: string | Uint8Array, encoding: "hex") => string,
  table: string,
  cells: readonly (ChecksumCell | undefined)[],
): string {
  let text = table;
  for (const cell of cells) {
    if (cell === null || cell === undefined) text += ",n";
    else if (typeof cell === "string") text += `,t${cell.replaceAll(",", ",,")}`;
    else if (typeof cell === "object") text += `,x${digest("sha256", cell, "hex")}`;
    else text += `,i${cell}`;
  }
  return digest("sha256", text, "hex").slice(0, 16);
}

export type CheckedTable = {
  [T in keyof typeof TABLES]: (typeof TABLES)[T] extends { readonly checksum: readonly string[] } ? T : never;
}[keyof typeof TABLES];

const SHAPES: Readonly<Record<string, TableShape>> = TABLES;

/** The columns that a table's checksum covers, in their order; null: its rows have none. */
export function coveredBy(table: string): readonly (readonly [column: string, type: ColumnType])[] | null {
  const shape = SHAPES[table];
  if (shape?.checksum === undefined) return null;
  return shape.checksum.map((column) => {
    const type = shape.columns[column];
    if (type === undefined) throw new Error(`bug: the checksum of ${table} covers ${column}, which it does not have`);
    return [column, type];
  });
}

/** The checksum of a row that is about to be written. Such a row names blobs by sha256. */
export function rowChecksum(table: CheckedTable, row: Readonly<Record<string, ChecksumCell | undefined>>): string {
  const columns: readonly string[] = TABLES[table].checksum;
  return checksumOf(
    hash,
    table,
    columns.map((column) => row[column]),
  );
}
