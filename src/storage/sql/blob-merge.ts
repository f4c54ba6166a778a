// Blobs of the commits of one batch, each as one row: a statement may not touch a row twice, and all commits lock rows
// in the order of their hashes.
import type { BlobWrite, Commit } from "../../contracts/storage/commit.ts";
import { toHex } from "../../core/bytes.ts";
import { rowChecksum } from "../../core/checksum.ts";
import type { Param } from "./driver.ts";

/** One row per blob, references added up, in the order of their hashes: the order in which rows are locked. */
export function mergeBlobs(accepted: readonly Commit[]): Param[][] {
  const merged = new Map<string, { blob: BlobWrite; refs: number }>();
  for (const { blobs } of accepted) {
    for (const blob of blobs ?? []) {
      const key = toHex(blob.sha256);
      const known = merged.get(key);
      if (known === undefined) merged.set(key, { blob, refs: blob.refs });
      else {
        known.refs += blob.refs;
        if (later(blob.expiresAt, known.blob.expiresAt)) known.blob = { ...known.blob, expiresAt: blob.expiresAt };
      }
    }
  }
  return [...merged]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { blob, refs }]) => [
      blob.sha256,
      blob.size,
      blob.media,
      blob.utf8 ? 1 : 0,
      blob.form,
      blob.stored,
      blob.body,
      blob.store,
      blob.key,
      refs,
      blob.expiresAt,
      blob.at,
      checksumOfNew(blob),
    ]);
}

function checksumOfNew({ sha256, media, utf8, stored, expiresAt, at }: BlobWrite): string {
  const cells = { sha256, media, utf8: utf8 ? 1 : 0, stored, pinned: 0, expires_at: expiresAt, created_at: at };
  return rowChecksum("blobs", cells);
}

/** References added per blob that was there before, in the order of the hashes. */
export function mergeUses(accepted: readonly Commit[]): Param[][] {
  const merged = new Map<string, { readonly sha256: Uint8Array; refs: number }>();
  for (const { uses } of accepted) {
    for (const [sha256, refs] of uses ?? []) {
      const key = toHex(sha256);
      const known = merged.get(key);
      if (known === undefined) merged.set(key, { sha256, refs });
      else known.refs += refs;
    }
  }
  return [...merged].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { sha256, refs }]) => [refs, sha256]);
}

function later(a: number | null, b: number | null): boolean {
  return b !== null && (a === null || a > b);
}
