// The SQL function that computes checksums of rows on SQLite, which has none of its own that hashes.
import { hash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { type ChecksumCell, checksumOf } from "../../../core/checksum.ts";

const NAME = "holdfast_checksum";
/** A number that is larger than any we write must not be an error: its row is to be named. */
const OPTIONS = { deterministic: true, varargs: true, useBigIntArguments: true } as const;

export function addChecksumFunction(db: DatabaseSync): void {
  const compute = (...cells: readonly ChecksumCell[]) => checksumOf(hash, String(cells[0]), cells.slice(1));
  db.function(NAME, OPTIONS, compute as (...cells: unknown[]) => string);
}

/** The same for the program of a thread, which has a database `db`. */
export const ADD_CHECKSUM_FUNCTION = `
db.function("${NAME}", ${JSON.stringify(OPTIONS)}, (table, ...cells) =>
  (${checksumOf.toString()})(require("node:crypto").hash, table, cells));
`;
