// Finds the rows that refer to damaged blobs: a blob's issue also names a few of them. No index leads from a blob to
// its rows, so the check searches for them at the end, for many blobs at once and only where there is damage.
import type { CheckIssue, CheckKind } from "../contracts/check.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { REFS_ASKED } from "../contracts/storage/store-check-queries.ts";
import { fromRef } from "../core/bytes.ts";
import { rowId } from "../core/row-id.ts";
import { askedBlobs } from "./pages.ts";

const ABOUT_BLOBS: ReadonlySet<CheckKind> = new Set(["blob-hash-mismatch", "blob-missing", "blob-part-missing"]);

/** Each REFS_ASKED blobs need another pass over all rows; this limits the passes. */
const WALKS_MAX = 4;

export async function withReferrers(storage: Storage, issues: readonly CheckIssue[]): Promise<readonly CheckIssue[]> {
  const refs = new Map<number, string>();
  for (const { kind, rows } of issues) {
    const [ref = ""] = rows;
    if (rows.length > 1 || !ABOUT_BLOBS.has(kind) || refs.size >= WALKS_MAX * REFS_ASKED) continue;
    const sha256 = fromRef(ref);
    if (sha256 === null) continue;
    for (const { no } of await storage.query("blob.head", { sha256 })) refs.set(no, ref);
  }
  const found = await referrersOf(storage, refs);
  return issues.map((issue) => {
    const [ref = ""] = issue.rows;
    const rows = issue.rows.length > 1 || !ABOUT_BLOBS.has(issue.kind) ? [] : (found.get(ref) ?? []);
    return rows.length === 0 ? issue : { ...issue, rows: [...issue.rows, ...rows] };
  });
}

async function referrersOf(
  storage: Storage,
  refs: ReadonlyMap<number, string>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>();
  const numbers = [...refs.keys()];
  while (numbers.length > 0) {
    const some = numbers.splice(0, REFS_ASKED);
    for (const { no, session, block, seq } of await storage.query("check.referrers", askedBlobs(some))) {
      const ref = refs.get(no);
      const row = block ?? (session === null ? null : rowId(session, seq));
      if (ref === undefined || row === null) continue;
      const rows = found.get(ref) ?? [];
      if (!rows.includes(row)) rows.push(row);
      found.set(ref, rows);
    }
  }
  return found;
}
