// Payloads of rows: bytes that a rule commits together with its rows. Small payloads are prepared synchronously,
// because every append waits for it. Larger ones are written before the commit, which takes them over.
import type { BlobBackend } from "../../contracts/blobs.ts";
import type { BlobWrite, Write } from "../../contracts/storage/commit.ts";
import type { PayloadOptions, Payloads, Prepare, PreparedPayload } from "../../contracts/storage/payloads.ts";
import type { StoredPayload } from "../../contracts/storage/rows.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { sha256 } from "../../core/bytes.ts";
import { type BlobContext, createByteStore } from "./byte-store.ts";
import { cut } from "./chunks.ts";
import { type BlobClaim, FORM, NO_TIME, renewal } from "./claims.ts";
import { reap } from "./drop.ts";
import { findInlineContent } from "./inline-content.ts";
import { Leftovers, leavesOpen } from "./leftovers.ts";
import { placePlain } from "./put.ts";
import { corrupted, DamagedPart, readBlob, readPlain, streamBlob } from "./read.ts";
import { createBlobStaging } from "./staging.ts";
import { BATCH_BYTES, dropHolder, hold, link, Upload, wholeWrite } from "./upload.ts";
import { LARGE_BYTES } from "./write.ts";

const NONE: readonly never[] = [];

/** Content up to this size is inline in its message's row: a blob of its own would cost several times as much. */
const INLINE_BYTES = 1024;

export function createPayloads(storage: Storage, backend?: BlobBackend): Payloads {
  const context: BlobContext = { storage, byteStore: createByteStore(storage, backend) };
  return {
    preparing: (work) => preparing(context, work),
    prepareInline: (bytes) => (bytes.length <= INLINE_BYTES ? inlinePayload(context, bytes) : null),
    read: (stored) => read(context, stored),
    findInline: async (digest) => {
      const found = await findInlineContent(context, digest);
      return found === null ? null : { bytes: found.body, session: found.session, guard: found.guard };
    },
    stageBlobs: () => createBlobStaging(context),
    stream: (digest) => streamBlob(context, digest),
    discard: async (erased) => {
      await context.byteStore.drop(erased);
      await reap(
        context,
        erased.map((one) => one.sha256),
      );
    },
  };
}

function inlinePayload({ storage }: BlobContext, bytes: Uint8Array): PreparedPayload {
  const salt = storage.environment.random(16);
  return { sha256: sha256(bytes), salt, blobs: NONE, writes: NONE, uses: NONE, inline: bytes };
}

async function preparing<T>(context: BlobContext, work: (prepare: Prepare) => Promise<T>): Promise<T> {
  // Created on demand: small payloads leave nothing behind.
  let leftovers: Leftovers | null = null;
  const begin = () => {
    leftovers ??= new Leftovers(context);
    return leftovers;
  };
  let known = true;
  try {
    return await work((bytes, options) => {
      const made = prepare(context, begin, bytes, options);
      // A payload that is ready synchronously is only in the commit.
      if (made instanceof Promise) begin().expect(made);
      return made;
    });
  } catch (error) {
    known = !leavesOpen(error);
    throw error;
  } finally {
    if (known && leftovers !== null) await (leftovers as Leftovers).releaseAll();
  }
}

function prepare(
  context: BlobContext,
  leftovers: () => Leftovers,
  given: Uint8Array,
  options: PayloadOptions,
): PreparedPayload | Promise<PreparedPayload> {
  // Attachments are the caller's arrays, and a commit may wait in the queue.
  const bytes = options.owned === true ? given : new Uint8Array(given);
  if (options.inline === true && options.children === undefined && bytes.length <= INLINE_BYTES) {
    return inlinePayload(context, bytes);
  }
  const digest = sha256(bytes);
  const salt = context.storage.environment.random(16);
  const at = context.storage.environment.now();
  // Only rows keep it; without one it has expired, on any clock.
  const claim: BlobClaim = { media: options.media, utf8: options.utf8, refs: 1, expiresAt: NO_TIME, at };
  const ready: Ready = (blob, writes, holder) => ({
    sha256: digest,
    salt,
    blobs: [blob],
    writes: [...writes, ...childWrites(digest, options.children)],
    uses: holder === undefined ? NONE : [[holder, 0, "parts"]],
    inline: null,
  });
  if (bytes.length >= LARGE_BYTES) return prepareLarge(context, leftovers(), { digest, bytes, claim, ready });
  if (context.byteStore.store !== "") return prepareOutside(context, leftovers(), { digest, bytes, claim, ready });
  const blob = placePlain(context, digest, bytes, claim);
  return blob instanceof Promise ? blob.then((made) => ready(made, [])) : ready(blob, []);
}

/** Parts on their way in are held by `holder` until the commit takes them over: it must not have been collected. */
type Ready = (blob: BlobWrite, writes: readonly Write[], holder?: Uint8Array) => PreparedPayload;

interface NewPayload {
  readonly digest: Uint8Array;
  readonly bytes: Uint8Array;
  readonly claim: BlobClaim;
  readonly ready: Ready;
}

async function prepareLarge(
  context: BlobContext,
  leftovers: Leftovers,
  { digest, bytes, claim, ready }: NewPayload,
): Promise<PreparedPayload> {
  const upload = new Upload(context);
  try {
    for (const batch of batches(bytes)) await upload.add(batch);
  } catch (error) {
    await upload.abandon();
    throw error;
  }
  leftovers.addHolder(upload.holder);
  return ready(wholeWrite(context, digest, bytes.length, FORM.chunks, claim), upload.handOver(digest), upload.holder);
}

function* batches(bytes: Uint8Array): Generator<readonly Uint8Array[]> {
  let batch: Uint8Array[] = [];
  let [at, start] = [0, 0];
  for (const length of cut(bytes)) {
    batch.push(bytes.subarray(at, at + length));
    at += length;
    if (at - start < BATCH_BYTES) continue;
    yield batch;
    [batch, start] = [[], at];
  }
  yield batch;
}

/** Bytes that are outside already are not written again: they are held until the commit refers to them. */
async function prepareOutside(
  context: BlobContext,
  leftovers: Leftovers,
  { digest, bytes, claim, ready }: NewPayload,
): Promise<PreparedPayload> {
  const [row] = await context.storage.query("blob.head", { sha256: digest });
  if (row !== undefined) {
    const holder = context.storage.environment.random(32);
    if (await hold(context, holder, digest)) {
      leftovers.addHolder(holder, digest);
      return ready(renewal(row, claim), dropHolder(holder), holder);
    }
  }
  const blob = await placePlain(context, digest, bytes, claim);
  leftovers.addStored(blob);
  return ready(blob, []);
}

/**
 * Negative positions, because positions from 0 on are for chunks. The same bytes always name the same blobs, so the
 * links can be rewritten.
 */
function childWrites(digest: Uint8Array, children: readonly Uint8Array[] = []): Write[] {
  if (children.length === 0) return [];
  return [
    { op: "run", statement: "links.forget", params: [digest] },
    ...children.map((child, i) => link(digest, -1 - i, child)),
  ];
}

function read(context: BlobContext, stored: StoredPayload): Uint8Array | Promise<Uint8Array> {
  if (stored.form === null) throw new Error("bug: a row without its blob was not detected");
  if (stored.form > FORM.zstd) return readBlob(context, stored.sha256);
  // Field by field: spreading a row of the driver's costs more than hashing it.
  const { sha256: digest, size, form, body, store, blob_key: key } = stored;
  const row = { sha256: digest, size, form, body, store, key };
  if (row.body === null)
    return Promise.resolve(readPlain(context, row, "bytes")).catch(() => readBlob(context, row.sha256));
  try {
    return readPlain(context, row, "bytes");
  } catch (error) {
    throw error instanceof DamagedPart ? corrupted(stored.sha256, error) : error;
  }
}
