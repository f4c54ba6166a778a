// Blobs: every part is there, every byte has its hash, and each is referred to by as many rows as it counts.
import { type CheckedBlobRow, REFS_ASKED } from "../contracts/check-queries.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Queries } from "../contracts/queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { toRef } from "../core/bytes.ts";
import type { Look } from "./findings.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";
import type { Reading } from "./patience.ts";

type Count = (what: string, n?: number) => void;

/** Under a random name it only holds parts that are on their way. */
const HOLDER = 4;

export async function checkParts(storage: Storage, look: Look): Promise<void> {
  for await (const row of rowsOf<Queries["check.parts"]["row"]>((last) =>
    storage.query("check.parts", last?.parent_no ?? 0, last?.ord ?? 0, PAGE),
  )) {
    // Links of what is gone wait for gc.
    if (row.parent === null || row.child !== null) continue;
    look.report("blob-part-missing", [toRef(row.parent)], { part: row.ord < 0 ? "named" : row.ord + 1 });
  }
  for await (const row of rowsOf<Queries["check.blockRefs"]["row"]>((last) =>
    storage.query("check.blockRefs", last?.block_id ?? "", last?.version ?? 0, PAGE),
  )) {
    if (row.value !== null) continue;
    look.report("blob-missing", [row.block_id], { table: "block_versions", payload: "value", version: row.version });
  }
}

/** Every blob that somebody may still ask for; what has expired waits for gc and is counted. */
export async function checkBytes(storage: Storage, blobs: Reading, look: Look, count: Count): Promise<void> {
  for await (const row of rowsOf<CheckedBlobRow>((last) => storage.query("check.blobs", last?.no ?? 0, PAGE))) {
    if (row.form === HOLDER) continue;
    // Chunks have no time of their own; they are read with the blobs made of them.
    const isKept = row.refs > 0 || row.pinned === 1 || (row.linked === 1 && row.expires_at !== 0);
    const isInTime = row.expires_at === null || row.expires_at > storage.environment.now();
    if (!isKept && !isInTime) continue;
    count("blobs");
    await readThrough(blobs, look, row.sha256);
  }
}

export async function readThrough(blobs: Reading, look: Look, sha256: Uint8Array, row?: string): Promise<void> {
  const ref = toRef(sha256);
  const rows = row === undefined ? [ref] : [ref, row];
  try {
    for await (const _ of blobs.stream(ref));
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const { missing, part } = error.details;
    const where = typeof part === "string" ? { part } : {};
    if (error.code === "BlobCorrupted")
      look.report(missing === true ? "blob-missing" : "blob-hash-mismatch", rows, where);
    else if (error.code === "BlobNotFound" || error.code === "BlobExpired") {
      // It may just have been deleted, which a row that names it would have prevented.
      if (row !== undefined) look.report("blob-missing", rows, where);
    } else throw error;
  }
}

/** What a blob names, as the content of a message its attachments; null where that is not there. */
export async function* namedBy(storage: Storage, sha256: Uint8Array): AsyncGenerator<Uint8Array | null> {
  for await (const row of rowsOf<Queries["check.named"]["row"]>((last) =>
    storage.query("check.named", sha256, last?.ord ?? BEFORE_ALL, PAGE),
  )) {
    yield row.sha256;
  }
}

/** Blobs nobody needs any more: they wait for gc. */
export async function countOrphans(storage: Storage, count: Count): Promise<void> {
  const now = storage.environment.now();
  count("orphanBlobs", 0);
  for await (const { free, chunk } of rowsOf<Queries["gc.freeable"]["row"]>((last) =>
    storage.query("gc.freeable", now, last?.no ?? 0, PAGE),
  )) {
    if (free === 1 && chunk === 0) count("orphanBlobs");
  }
}

/** Blobs whose references are counted in one pass: four bytes each. */
const COUNTED_AT_ONCE = 4_194_304;
const SESSIONS_AT_ONCE = 20;
const BLOBS_AT_ONCE = 20_000;

/** All rows are counted while others write; what seems wrong is then counted again, a few blobs at one moment. */
export async function checkReferences(storage: Storage, look: Look): Promise<void> {
  for (let first = 0, more = true; more; first += COUNTED_AT_ONCE) {
    // Grown as it is needed: most stores have few blobs.
    let counted = new Int32Array(1024);
    await countSessions(storage, first, (no, n) => {
      const place = no - first - 1;
      if (place < 0 || place >= COUNTED_AT_ONCE) return;
      if (place >= counted.length) {
        const grown = new Int32Array(Math.min(COUNTED_AT_ONCE, 2 ** Math.ceil(Math.log2(place + 1))));
        grown.set(counted);
        counted = grown;
      }
      counted[place] = (counted[place] ?? 0) + n;
    });
    const doubtful: number[] = [];
    more = false;
    for await (const row of rowsOf<CheckedBlobRow>((last) => storage.query("check.blobs", last?.no ?? first, PAGE))) {
      more = row.no > first + COUNTED_AT_ONCE;
      if (more) break;
      if (row.refs !== (counted[row.no - first - 1] ?? 0)) doubtful.push(row.no);
      if (doubtful.length >= REFS_ASKED) await settle(storage, look, doubtful.splice(0));
    }
    if (doubtful.length > 0) await settle(storage, look, doubtful);
  }
}

async function countSessions(storage: Storage, first: number, add: (no: number, n: number) => void): Promise<void> {
  // Also rows of sessions that are not there: they refer to their blobs all the same.
  for (let after = -1; after < Number.MAX_SAFE_INTEGER; ) {
    const sessions = await storage.query("check.sessions", Math.max(0, after), SESSIONS_AT_ONCE);
    const upTo = sessions.length < SESSIONS_AT_ONCE ? Number.MAX_SAFE_INTEGER : (sessions.at(-1)?.no ?? after);
    for (let blob = first, more = true; more; ) {
      const rows = await storage.query("check.refs", after, upTo, blob, BLOBS_AT_ONCE);
      for (const { no, n } of rows) add(no, n);
      blob = rows.at(-1)?.no ?? blob;
      more = rows.length === BLOBS_AT_ONCE;
    }
    after = upTo;
  }
  for await (const row of rowsOf<Queries["check.blockRefs"]["row"]>((last) =>
    storage.query("check.blockRefs", last?.block_id ?? "", last?.version ?? 0, PAGE),
  )) {
    add(row.value_no, 1);
  }
}

async function settle(storage: Storage, look: Look, doubtful: readonly number[]): Promise<void> {
  const asked = Array.from({ length: REFS_ASKED }, (_, i) => doubtful[i] ?? 0);
  for (const { sha256, refs, n } of await storage.query("check.refsOf", ...asked)) {
    if (refs !== n) look.report("blob-refs-wrong", [toRef(sha256)], { stored: refs, counted: n });
  }
}
