// Sorts rows by ORDER BY, in slices, so that a long sort does not block the event loop.
import { orderValues } from "../values/compare.ts";
import type { CypherValue } from "../values/value.ts";
import type { QueryMeter } from "./meter.ts";
import type { Row } from "./row.ts";

export interface SortableRow {
  readonly row: Row;
  readonly keys: readonly CypherValue[];
}

/** Rows sorted in one piece. */
const PIECE = 2048;

/** Stable: rows with the same keys stay in their order. */
export async function sortRows(
  rows: readonly SortableRow[],
  isDescending: readonly boolean[],
  meter: QueryMeter,
): Promise<readonly SortableRow[]> {
  const compare = (left: SortableRow, right: SortableRow) => {
    for (const [index, key] of left.keys.entries()) {
      const order = orderValues(key, right.keys[index] ?? null);
      if (order !== 0) return isDescending[index] === true ? -order : order;
    }
    return 0;
  };
  let pieces: (readonly SortableRow[])[] = [];
  for (let at = 0; at < rows.length; at += PIECE) {
    pieces.push(rows.slice(at, at + PIECE).toSorted(compare));
    if (meter.isSliceSpent) await meter.pause();
  }
  while (pieces.length > 1) {
    const merged: (readonly SortableRow[])[] = [];
    for (let at = 0; at < pieces.length; at += 2) {
      merged.push(await merge(pieces[at] ?? [], pieces[at + 1] ?? [], compare, meter));
    }
    pieces = merged;
  }
  return pieces[0] ?? [];
}

async function merge(
  left: readonly SortableRow[],
  right: readonly SortableRow[],
  compare: (left: SortableRow, right: SortableRow) => number,
  meter: QueryMeter,
): Promise<readonly SortableRow[]> {
  const out: SortableRow[] = [];
  let at = 0;
  for (const one of left) {
    for (let other = right[at]; other !== undefined && compare(one, other) > 0; other = right[++at]) out.push(other);
    out.push(one);
    if (out.length % PIECE === 0 && meter.isSliceSpent) await meter.pause();
  }
  return [...out, ...right.slice(at)];
}
