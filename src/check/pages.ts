// Rows in pages by key: each read is short, so that nothing waits for the checker and nothing pins the WAL.
import { type AskedBlobs, REFS_ASKED } from "../contracts/storage/store-check-queries.ts";

export const PAGE = 1000;

/** A damaged row may have any number; no seq is passed over. */
export const BEFORE_ALL = Number.MIN_SAFE_INTEGER;

/** Every row, page after page; `read` is given the last row of the page before. */
export async function* rowsOf<R>(read: (last: R | undefined) => Promise<readonly R[]>): AsyncGenerator<R> {
  let last: R | undefined;
  for (;;) {
    const rows = await read(last);
    yield* rows;
    last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
  }
}

/** The parameters of a read that looks up to REFS_ASKED blobs up. */
export function askedBlobs(numbers: readonly number[]): AskedBlobs {
  return Object.fromEntries(Array.from({ length: REFS_ASKED }, (_, i) => [`blob_${i}`, numbers[i] ?? 0]));
}
