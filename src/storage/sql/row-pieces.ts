// Rows of a statement that is too large, in pieces.
import type { Param } from "./driver.ts";

type Rows = readonly (readonly Param[])[];

/** In order, each of at most so many rows, and of so many bytes unless a single row has more. */
export function pieces(rows: Rows, mostRows: number, mostBytes: number): readonly Rows[] {
  const made: Rows[] = [];
  let start = 0;
  let bytes = 0;
  for (const [i, row] of rows.entries()) {
    const size = bytesOf(row);
    if (i > start && (i - start >= mostRows || bytes + size > mostBytes)) {
      made.push(rows.slice(start, i));
      [start, bytes] = [i, 0];
    }
    bytes += size;
  }
  if (start === 0) return rows.length === 0 ? [] : [rows];
  made.push(rows.slice(start));
  return made;
}

function bytesOf(row: readonly Param[]): number {
  let bytes = 0;
  for (const param of row) {
    if (typeof param === "string") bytes += param.length;
    else bytes += typeof param === "object" && param !== null ? param.byteLength : 16;
  }
  return bytes;
}
