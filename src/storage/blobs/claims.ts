// What keeps a blob alive, as read from its row: references, a pin, time left, a blob that holds it. A commit that
// deletes or reshapes a blob guards these values as they were read, so that a concurrent put makes it decide again.
import type { BlobWrite, Guard } from "../../contracts/storage/commit.ts";
import type { BlobRow } from "../../contracts/storage/rows.ts";

/** What a put requires for a blob: expiry and pin. */
export interface BlobClaim {
  readonly media: string;
  readonly utf8: boolean;
  readonly refs: number;
  /** null: for ever. */
  readonly expiresAt: number | null;
  readonly at: number;
}

/** The claim of a blob that only rows or a pin keep: without them it has expired, on any clock. */
export const NO_TIME = 1;

/** Only the blobs made of them keep chunks: without such a blob, a chunk has expired. */
export const PART: Omit<BlobClaim, "at"> = { media: "application/octet-stream", utf8: false, refs: 0, expiresAt: 0 };

export const FORM = { plain: 0, zstd: 1, chunks: 2, segments: 3, holder: 4 } as const;

export function isExpired(row: BlobRow, now: number): boolean {
  return row.refs === 0 && row.pinned === 0 && row.linked === 0 && row.expires_at !== null && row.expires_at <= now;
}

/** A chunk that was never stored as a separate blob. */
export function isPart(row: BlobRow): boolean {
  return row.refs === 0 && row.pinned === 0 && row.expires_at === 0 && row.form <= FORM.zstd;
}

/** The row is as it was read; made like the guard's text in storage/sql/blobs.ts. */
export function unchanged(row: BlobRow): Guard {
  const { no, form, refs, pinned, epoch, expires_at, condemned } = row;
  const expect = [no, form, refs, pinned, epoch, expires_at ?? -1, condemned ?? -1].join(":");
  return { check: "blob.claims", key: [row.sha256], expect };
}

export function unheld(row: BlobRow): Guard {
  return { check: "blob.parents", key: [row.sha256], expect: 0 };
}

/** A put that hits: the row stays and gets the new claim and the current epoch. `uses` must say that it is there. */
export function renewal(row: BlobRow, claim: BlobClaim): BlobWrite {
  return {
    sha256: row.sha256,
    size: row.size,
    media: row.media,
    utf8: row.utf8 === 1,
    form: row.form as BlobWrite["form"],
    body: null,
    stored: row.stored,
    store: row.store,
    key: row.key,
    refs: claim.refs,
    expiresAt: claim.expiresAt,
    at: claim.at,
  };
}
