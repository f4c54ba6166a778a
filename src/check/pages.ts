// Reads rows in pages by key: each read is short, so that no writer waits for the checker and no read pins the WAL.
import { type AskedBlobs, REFS_ASKED } from "../contracts/storage/store-check-queries.ts";

export const PAGE = 1000;

/** Lower than any key: a damaged row may have any number, and the check must not skip it. */
export const BEFORE_ALL = Number.MIN_SAFE_INTEGER;

/** Yields every row, page after page; `read` receives the last row of the page before. */
export async function* rowsOf<R>(read: (last: R | undefined) => Promise<readonly R[]>): AsyncGenerator<R> {
  let last: R | undefined;
  for (;;) {
    const rows = await read(last);
    yield* rows;
    last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
  }
}

export interface VersionParams {
  readonly session: number;
  readonly afterFirst: number;
  readonly afterSeq: number;
  readonly limit: number;
}

/** Yields every version of a session's rows with the row before it, which may be a version of another record. */
export async function* versionsOf<R extends { readonly first_seq: number; readonly seq: number }>(
  session: number,
  read: (params: VersionParams) => Promise<readonly R[]>,
): AsyncGenerator<{ readonly row: R; readonly before: R | null }> {
  let before: R | null = null;
  for (;;) {
    const afterFirst: number = before?.first_seq ?? BEFORE_ALL;
    const rows: readonly R[] = await read({ session, afterFirst, afterSeq: before?.seq ?? BEFORE_ALL, limit: PAGE });
    for (const row of rows) {
      yield { row, before };
      before = row;
    }
    if (rows.length < PAGE) return;
  }
}

/** The parameters of a query for up to REFS_ASKED blobs. */
export function askedBlobs(numbers: readonly number[]): AskedBlobs {
  return Object.fromEntries(Array.from({ length: REFS_ASKED }, (_, i) => [`blob_${i}`, numbers[i] ?? 0]));
}
