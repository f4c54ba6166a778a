// How the lists of tables.ts describe a table.

/**
 * serial: an integer key that the database assigns in the order of insertion; it never leaves the database.
 * blobref: written as a SHA-256, stored as the blob's integer key.
 */
export type ColumnType = "serial" | "int" | "real" | "text" | "bytes" | "blobref";

export interface TableShape {
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** The columns by which a put replaces a row and a remove names it. Empty: single rows are neither replaced nor removed. */
  readonly key: readonly string[];
  /** Columns that only the row's own checksum proves: see core/checksum.ts. */
  readonly checksum?: readonly string[];
}
