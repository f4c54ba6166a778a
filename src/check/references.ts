// Counts the rows that refer to each blob and compares the counts with those that the blobs keep. Every table is read
// once, in the order of its keys, so that the work grows with the rows and not with sessions times rows.
import type { Queries } from "../contracts/storage/queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import {
  type CheckedBlobRow,
  REFS_ASKED,
  type ReferenceKeys,
  type ReferenceRow,
  type ReferenceTable,
} from "../contracts/storage/store-check-queries.ts";
import { toRef } from "../core/bytes.ts";
import { BlobSet } from "./blob-set.ts";
import type { IssueReporter } from "./findings.ts";
import { askedBlobs, BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";

/** Blobs whose references are counted in one pass: four bytes each. */
const COUNTED_AT_ONCE = 16_777_216;

/** Events whose blobs are read by one statement. */
const EVENTS_AT_ONCE = 5_000;

/**
 * At most so many blobs with a wrong count are counted again in one statement, a few by each pass over all rows. The
 * rest is reported if both passes counted the same.
 */
const RECOUNTED_MAX = 4 * REFS_ASKED;

/** Keys lower than those of any row. */
const FIRST_KEYS: ReferenceKeys = {
  annotations: { session_no: BEFORE_ALL, seq: BEFORE_ALL },
  state: { session_no: BEFORE_ALL, branch: BEFORE_ALL, key: "", seq: BEFORE_ALL },
  evals: { session_no: BEFORE_ALL, first_seq: BEFORE_ALL, seq: BEFORE_ALL },
  calls: { session_no: BEFORE_ALL, first_seq: BEFORE_ALL, seq: BEFORE_ALL },
  snapshots: { session_no: BEFORE_ALL, seq: BEFORE_ALL },
  heads: { no: BEFORE_ALL },
  captures: { no: BEFORE_ALL },
  documents: { collection_no: BEFORE_ALL, item: BEFORE_ALL },
};

export async function checkReferences(storage: Storage, reporter: IssueReporter): Promise<void> {
  const recounted = { left: RECOUNTED_MAX };
  for (let first = 0, more = true; more; first += COUNTED_AT_ONCE) {
    const counts = new ReferenceCounts(first);
    await countReferences(storage, (no) => counts.add(no));
    more = await compareCounts(storage, reporter, counts, recounted);
  }
}

/** The blobs that are the file lists of captures. */
export async function readManifests(storage: Storage): Promise<BlobSet> {
  const found = new BlobSet();
  await eachRowBlob(storage, "captures", (no) => found.add(no));
  return found;
}

/**
 * Counts the references to each blob with a number above `first`; the array grows on demand, because most stores have
 * few blobs.
 */
class ReferenceCounts {
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

/** Returns whether there are blobs after the last one that was counted. */
async function compareCounts(
  storage: Storage,
  reporter: IssueReporter,
  counts: ReferenceCounts,
  recounted: { left: number },
): Promise<boolean> {
  const doubtful: CheckedBlobRow[] = [];
  const reportDoubtful = async () => {
    await reportWrong(storage, reporter, counts, doubtful.splice(0), recounted.left > 0);
    recounted.left -= REFS_ASKED;
  };
  let more = false;
  for await (const row of rowsOf<CheckedBlobRow>((last) =>
    storage.query("check.blobs", { after: last?.no ?? counts.first, limit: PAGE }),
  )) {
    more = row.no > counts.last;
    if (more) break;
    if (row.refs !== counts.of(row.no)) doubtful.push(row);
    if (doubtful.length >= REFS_ASKED) await reportDoubtful();
  }
  if (doubtful.length > 0) await reportDoubtful();
  return more;
}

async function reportWrong(
  storage: Storage,
  reporter: IssueReporter,
  counts: ReferenceCounts,
  doubtful: readonly CheckedBlobRow[],
  isRecounted: boolean,
): Promise<void> {
  const wrong = isRecounted
    ? await storage.query("check.refsOf", askedBlobs(doubtful.map(({ no }) => no)))
    : doubtful.map(({ no, sha256, refs }) => ({ sha256, refs, n: counts.of(no) }));
  for (const { sha256, refs, n } of wrong) {
    if (refs !== n) reporter.report("blob-refs-wrong", [toRef(sha256)], { stored: refs, counted: n });
  }
}

/** Counts the rows of missing sessions as well: gc counts them too. */
async function countReferences(storage: Storage, add: (no: number) => void): Promise<void> {
  await eachEventBlob(storage, add);
  for (const table of Object.keys(FIRST_KEYS) as ReferenceTable[]) await eachRowBlob(storage, table, add);
  for await (const row of rowsOf<Queries["check.blockRefs"]["row"]>((last) =>
    storage.query("check.blockRefs", {
      afterBlock: last?.block_id ?? "",
      afterVersion: last?.version ?? 0,
      limit: PAGE,
    }),
  )) {
    add(row.value_no);
  }
}

async function eachEventBlob(storage: Storage, add: (no: number) => void): Promise<void> {
  for (let after = BEFORE_ALL; ; ) {
    const [last] = await storage.query("check.eventsUpTo", { after, limit: EVENTS_AT_ONCE });
    if (last?.upto == null) return;
    for (const { blob_no } of await storage.query("check.refs.events", { after, upTo: last.upto })) add(blob_no);
    after = last.upto;
  }
}

async function eachRowBlob<T extends ReferenceTable>(
  storage: Storage,
  table: T,
  add: (no: number) => void,
): Promise<void> {
  for await (const row of rowsOf<ReferenceRow<T>>((last) => {
    const params = { ...(last ?? FIRST_KEYS[table]), limit: PAGE } as Queries[`check.refs.${T}`]["params"];
    return storage.query(`check.refs.${table}`, params) as Promise<readonly ReferenceRow<T>[]>;
  })) {
    for (let i = 0; `blob_${i}` in row; i++) {
      const no = row[`blob_${i}`];
      if (typeof no === "number") add(no);
    }
  }
}
