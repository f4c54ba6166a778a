// Rows on their way to another thread: their bytes in one buffer that is handed over, everything else in one list. To clone
// every small array by itself would take the sender longer than to write the rows.
import type { Param } from "../driver.ts";

export interface PackedRows {
  /** Parameters of one row. */
  readonly width: number;
  /** Row after row; `undefined` where bytes stand. */
  readonly cells: readonly (null | number | string | undefined)[];
  /** Of the bytes, in the order of the cells. */
  readonly lengths: Uint32Array<ArrayBuffer>;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** All rows have as many parameters as the first. */
export function packRows(rows: readonly (readonly Param[])[]): PackedRows {
  const width = rows[0]?.length ?? 0;
  const cells: (null | number | string | undefined)[] = [];
  const parts: Uint8Array[] = [];
  let size = 0;
  for (const row of rows) {
    for (const param of row) {
      if (typeof param !== "object" || param === null) cells.push(param);
      else {
        cells.push(undefined);
        parts.push(param);
        size += param.byteLength;
      }
    }
  }
  const lengths = new Uint32Array(parts.length);
  // Its own memory, never a piece of the pool: transferring it detaches it from all other code.
  const bytes = new Uint8Array(new ArrayBuffer(size));
  let at = 0;
  for (const [i, part] of parts.entries()) {
    bytes.set(part, at);
    lengths[i] = part.byteLength;
    at += part.byteLength;
  }
  return { width, cells, lengths, bytes };
}
