// How the lists of tables.ts describe a table.

/**
 * serial: integer key given by the database, in order of insertion; never leaves it.
 * blobref: written as a sha256, kept as the integer key of the blob.
 */
export type ColumnType = "serial" | "int" | "real" | "text" | "bytes" | "blobref";

export interface TableShape {
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** What a put replaces and a remove names; none: rows are neither replaced nor removed one by one. */
  readonly key: readonly string[];
  /** Columns that only the row's own checksum proves: see core/checksum.ts. */
  readonly checksum?: readonly string[];
}
