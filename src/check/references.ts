// Counts the rows that refer to each blob and compares the counts with those that the blobs keep. Every table is read
// once, in the order of its keys, so that the work grows with the rows and not with sessions times rows.

import type { Queries } from "../contracts/queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { type CheckedBlobRow, REFS_ASKED, type ReferenceTable } from "../contracts/store-check-queries.ts";
import { toRef } from "../core/bytes.ts";
import { BlobSet } from "./blob-set.ts";
import type { SecondLook } from "./findings.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";

/** Blobs whose references are counted in one pass: four bytes each. */
const COUNTED_AT_ONCE = 16_777_216;

/** Events whose blobs are read by one statement. */
const EVENTS_AT_ONCE = 5_000;

/**
 * Blobs with a wrong count that are counted again at one moment, a few by each walk through all rows. The rest is
 * reported if both looks counted the same.
 */
const RECOUNTED_MAX = 4 * REFS_ASKED;

/** The columns of each table's key, for the page behind a row. */
const KEYS: Readonly<Record<ReferenceTable, readonly string[]>> = {
  annotations: ["session_no", "seq"],
  state: ["session_no", "branch", "key", "seq"],
  evals: ["session_no", "first_seq", "seq"],
  calls: ["session_no", "first_seq", "seq"],
  snapshots: ["session_no", "seq"],
  heads: ["no"],
  captures: ["no"],
};

export async function checkReferences(storage: Storage, look: SecondLook): Promise<void> {
  const recounted = { left: RECOUNTED_MAX };
  for (let first = 0, more = true; more; first += COUNTED_AT_ONCE) {
    const counts = new Counts(first);
    await countReferences(storage, (no) => counts.add(no));
    more = await compareCounts(storage, look, counts, recounted);
  }
}

/** The blobs that captures have as their lists of files. */
export async function readManifests(storage: Storage): Promise<BlobSet> {
  const found = new BlobSet();
  await eachRowBlob(storage, "captures", (no) => found.add(no));
  return found;
}

/** How often each blob behind a number was named; the array grows as it is needed, because most stores have few blobs. */
class Counts {
  readonly first: number;
  #counted = new Int32Array(1024);

  constructor(first: number) {
    this.first = first;
  }

  get last(): number {
    return this.first + COUNTED_AT_ONCE;
  }

  add(no: number): void {
    const index = no - this.first - 1;
    if (index < 0 || index >= COUNTED_AT_ONCE) return;
    if (index >= this.#counted.length) {
      const grown = new Int32Array(Math.min(COUNTED_AT_ONCE, 2 ** Math.ceil(Math.log2(index + 1))));
      grown.set(this.#counted);
      this.#counted = grown;
    }
    this.#counted[index] = (this.#counted[index] ?? 0) + 1;
  }

  of(no: number): number {
    return this.#counted[no - this.first - 1] ?? 0;
  }
}

/** Whether there are blobs behind the last that was counted. */
async function compareCounts(
  storage: Storage,
  look: SecondLook,
  counts: Counts,
  recounted: { left: number },
): Promise<boolean> {
  const doubtful: CheckedBlobRow[] = [];
  const settle = async () => {
    await reportWrong(storage, look, counts, doubtful.splice(0), recounted.left > 0);
    recounted.left -= REFS_ASKED;
  };
  let more = false;
  for await (const row of rowsOf<CheckedBlobRow>((last) =>
    storage.query("check.blobs", last?.no ?? counts.first, PAGE),
  )) {
    more = row.no > counts.last;
    if (more) break;
    if (row.refs !== counts.of(row.no)) doubtful.push(row);
    if (doubtful.length >= REFS_ASKED) await settle();
  }
  if (doubtful.length > 0) await settle();
  return more;
}

async function reportWrong(
  storage: Storage,
  look: SecondLook,
  counts: Counts,
  doubtful: readonly CheckedBlobRow[],
  isRecounted: boolean,
): Promise<void> {
  const asked = Array.from({ length: REFS_ASKED }, (_, i) => doubtful[i]?.no ?? 0);
  const wrong = isRecounted
    ? await storage.query("check.refsOf", ...asked)
    : doubtful.map(({ no, sha256, refs }) => ({ sha256, refs, n: counts.of(no) }));
  for (const { sha256, refs, n } of wrong) {
    if (refs !== n) look.report("blob-refs-wrong", [toRef(sha256)], { stored: refs, counted: n });
  }
}

/** Also rows of sessions that are not there: they refer to their blobs all the same. */
async function countReferences(storage: Storage, add: (no: number) => void): Promise<void> {
  await eachEventBlob(storage, add);
  for (const table of Object.keys(KEYS) as ReferenceTable[]) await eachRowBlob(storage, table, add);
  for await (const row of rowsOf<Queries["check.blockRefs"]["row"]>((last) =>
    storage.query("check.blockRefs", last?.block_id ?? "", last?.version ?? 0, PAGE),
  )) {
    add(row.value_no);
  }
}

async function eachEventBlob(storage: Storage, add: (no: number) => void): Promise<void> {
  for (let after = BEFORE_ALL; ; ) {
    const [last] = await storage.query("check.eventsUpTo", after, EVENTS_AT_ONCE);
    if (last?.upto == null) return;
    for (const { blob_no } of await storage.query("check.refs.events", after, last.upto)) add(blob_no);
    after = last.upto;
  }
}

async function eachRowBlob(storage: Storage, table: ReferenceTable, add: (no: number) => void): Promise<void> {
  const columns = KEYS[table];
  const first = columns.map((column) => (column === "key" ? "" : BEFORE_ALL));
  for await (const row of rowsOf<Readonly<Record<string, unknown>>>((last) => {
    const after = last === undefined ? first : columns.map((column) => last[column] as number | string);
    return storage.query(`check.refs.${table}`, ...after, PAGE) as Promise<
      readonly Readonly<Record<string, unknown>>[]
    >;
  })) {
    for (let i = 0; `blob_${i}` in row; i++) {
      const no = row[`blob_${i}`];
      if (typeof no === "number") add(no);
    }
  }
}
