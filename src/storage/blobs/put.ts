// One put of a blob in one piece, as a row of a commit. If the blob exists, the put updates its claim.
import type { BlobWrite, Commit } from "../../contracts/storage/commit.ts";
import { sha256 } from "../../core/bytes.ts";
import { refusalError } from "../../core/decide.ts";
import type { BlobContext, StoredBytes } from "./byte-store.ts";
import { type BlobClaim, FORM, renewal } from "./claims.ts";
import { pack } from "./compress.ts";

/** The caller must not change `bytes` afterwards. */
export async function storePlain(context: BlobContext, bytes: Uint8Array, claim: BlobClaim): Promise<Uint8Array> {
  const digest = sha256(bytes);
  // In the database the row contains the bytes, so no lookup is needed before.
  if (context.byteStore.store !== "" && (await renew(context, digest, claim))) return digest;
  const blob = await placePlain(context, digest, bytes, claim);
  await commitOrThrow(context, { blobs: [blob] });
  // Another commit may have been faster: then the row names that commit's bytes, and ours are unused.
  await context.byteStore.drop([blob]);
  return digest;
}

export function placePlain(
  context: BlobContext,
  digest: Uint8Array,
  bytes: Uint8Array,
  claim: BlobClaim,
): BlobWrite | Promise<BlobWrite> {
  const packed = pack(bytes);
  const form = packed.codec === "zstd" ? FORM.zstd : FORM.plain;
  const placed = context.byteStore.put(digest, packed.bytes);
  const write = (where: StoredBytes): BlobWrite => ({ sha256: digest, size: bytes.length, form, ...where, ...claim });
  return placed instanceof Promise ? placed.then(write) : write(placed);
}

/** A put that hits: true when the blob was there and has the claim now. */
export async function renew(context: BlobContext, digest: Uint8Array, claim: BlobClaim): Promise<boolean> {
  const [row] = await context.storage.query("blob.head", { sha256: digest });
  if (row === undefined) return false;
  const outcome = await context.storage.commit({ uses: [[digest, 0]], blobs: [renewal(row, claim)] });
  if (!outcome.ok && outcome.refused.reason !== "blob-missing") throw refusalError(outcome.refused);
  return outcome.ok;
}

export async function commitOrThrow(context: BlobContext, commit: Commit): Promise<void> {
  const outcome = await context.storage.commit(commit);
  if (!outcome.ok) throw refusalError(outcome.refused);
}
