// Blobs for callers: one by its ref, or all of them page by page.
import type { BlobStat } from "../../contracts/blobs.ts";
import type { Page } from "../../contracts/json.ts";
import type { BlobRow } from "../../contracts/storage/rows.ts";
import type { BLOB_VERBS } from "../../contracts/verbs/blobs.ts";
import type { ValuesOf } from "../../contracts/verbs/vocabulary.ts";
import { toHex, toRef } from "../../core/bytes.ts";
import { invalid } from "../../core/check.ts";
import { type ListOrder, listStart, readPage } from "../../core/cursor.ts";
import { yieldToEventLoop } from "../../core/time-slice.ts";
import type { BlobContext } from "./byte-store.ts";
import { FORM, NO_TIME } from "./claims.ts";
import { countInlineContent, INLINE_NO } from "./inline-content.ts";

const COMPRESSION = ["none", "zstd", "chunks", "segments"] as const;

export async function statOf(context: BlobContext, row: BlobRow): Promise<BlobStat> {
  const inParts = row.form === FORM.chunks || row.form === FORM.segments;
  const own = inParts ? ((await context.storage.query("blob.ownBytes", { blobNo: row.no }))[0]?.n ?? 0) : row.stored;
  return {
    ref: toRef(row.sha256),
    sha256: toHex(row.sha256),
    size: row.size,
    mediaType: row.media,
    encoding: row.utf8 === 1 ? "utf-8" : "binary",
    compression: COMPRESSION[row.form] ?? "none",
    storedSize: own,
    store: row.store === "" ? "database" : row.store,
    key: row.key ?? toHex(row.sha256),
    createdAt: row.created_at,
    // A blob that only rows or a pin keep has no expiry.
    expiresAt: row.expires_at !== null && row.expires_at <= NO_TIME ? null : row.expires_at,
    pinned: row.pinned === 1,
    references: row.no === INLINE_NO ? await countInlineContent(context, row.sha256) : row.refs + row.linked,
  };
}

/** Rows per read. A large blob has thousands of chunks, and all of them are skipped. */
const ROWS = 1000;

export async function listBlobs(
  context: BlobContext,
  { limit, sort, cursor, order: given }: ValuesOf<typeof BLOB_VERBS.list>[0],
): Promise<Page<BlobStat>> {
  if (sort === "size" && given !== undefined) throw invalid("order", "left out where the largest come first", given);
  if (sort === "size") return listLargest(context, limit, cursor);
  const order = given ?? "newest";
  return readPage({
    list: "blobs.list",
    order,
    limit,
    cursor,
    start: listStart(order),
    read: ([last], most) => readWhole(context, order, last, most),
    item: (row) => statOf(context, row),
    position: ({ no }) => [no],
  });
}

/** The next rows of whole blobs; there are more than `most` if a read brings more. */
async function readWhole(
  { storage }: BlobContext,
  order: ListOrder,
  from: number,
  most: number,
): Promise<readonly BlobRow[]> {
  const found: BlobRow[] = [];
  let seen = from;
  for (let asked = most; found.length < most; asked = ROWS) {
    const rows = await storage.query(order === "newest" ? "blobs.list" : "blobs.list.oldest", {
      last: seen,
      limit: asked,
    });
    for (const row of rows) if (!isMerePart(row)) found.push(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < asked) break;
    seen = last.no;
    await yieldToEventLoop(storage.environment);
  }
  return found;
}

/** A size, and the number of a blob among those of one size. */
const LARGEST_START: readonly [number, number] = [Number.MAX_SAFE_INTEGER, 0];

async function listLargest(context: BlobContext, limit: number, cursor: string | null): Promise<Page<BlobStat>> {
  return readPage({
    list: "blobs.list",
    order: "largest",
    limit,
    cursor,
    start: LARGEST_START,
    read: ([size, no], most) => context.storage.query("blobs.largest", { size, beforeNo: no, limit: most }),
    item: (row) => statOf(context, row),
    position: (row) => [row.size, row.no],
  });
}

/** As in storage/sql/stats.ts: chunks, and what holds them while they come and go. */
function isMerePart(row: BlobRow): boolean {
  return row.form === FORM.holder || (row.refs === 0 && row.pinned === 0 && row.expires_at === 0);
}
