// Reads blobs. Every chunk and sealed segment is compared with its own hash, and the whole with the blob's hash, so
// that wrong bytes are never returned as right ones and the error names the damaged part.
import { createHash } from "node:crypto";
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { BlobRow, FrameRow, SegmentRow } from "../../contracts/storage/rows.ts";
import { sameBytes, sha256, toRef } from "../../core/bytes.ts";
import { yieldToEventLoop } from "../../core/time-slice.ts";
import type { BlobContext, StoredBytes } from "./byte-store.ts";
import { FORM, isExpired } from "./claims.ts";
import { DamagedBytes, MissingBytes, unpack } from "./compress.ts";
import { findInlineContent } from "./inline-content.ts";
import { decodeFrames, type Frame } from "./segments.ts";

type BlobWithBody = BlobRow & { readonly body: Uint8Array | null };

/** Which part of a blob is not what was written; parts are counted from 1. */
export class DamagedPart extends Error {
  override readonly name = "DamagedPart";
  readonly part: string;

  constructor(part: string, cause: unknown) {
    super(`${part}: ${cause instanceof Error ? cause.message : "is damaged"}`, { cause });
    this.part = part;
  }
}

/** The blob's row. Throws if the blob is missing or expired. */
async function findLive(context: BlobContext, digest: Uint8Array): Promise<BlobWithBody> {
  const [row] = await context.storage.query("blob.get", { sha256: digest });
  const there = row !== undefined && row.form !== FORM.holder;
  if (there && !isExpired(row, context.storage.environment.now())) return row;
  const inline = await findInlineContent(context, digest);
  if (inline !== null) return inline;
  throw there ? expired(digest) : notFound(digest);
}

export async function readBlob(context: BlobContext, digest: Uint8Array): Promise<Uint8Array> {
  return again(digest, async () => {
    const row = await findLive(context, digest);
    if (row.size > LIMITS.blobInMemoryBytes) throw tooLargeInOnePiece(row);
    if (row.form <= FORM.zstd) return readPlain(context, row, "bytes");
    if (row.size < 0) throw new DamagedPart("whole", new DamagedBytes(`declares the impossible size ${row.size}`));
    const whole = new Uint8Array(row.size);
    let length = 0;
    for await (const piece of pieces(context, row)) {
      whole.set(piece, length);
      length += piece.length;
    }
    return whole;
  });
}

/**
 * Returns pieces of at most a segment. If the blob changes its form meanwhile, the read continues after the returned
 * bytes.
 */
export async function* streamBlob(context: BlobContext, digest: Uint8Array): AsyncGenerator<Uint8Array> {
  let given = 0;
  for (let attempt = 0; ; attempt++) {
    try {
      let at = 0;
      for await (const piece of pieces(context, await findLive(context, digest))) {
        const fresh = at + piece.length > given ? piece.subarray(Math.max(0, given - at)) : null;
        at += piece.length;
        if (fresh === null) continue;
        given = at;
        yield fresh;
      }
      return;
    } catch (error) {
      if (!(error instanceof DamagedPart)) throw error;
      if (attempt > 0) throw corrupted(digest, error);
    }
  }
}

/**
 * Rows are read one after the other, and a blob may be sealed, converted or deleted in between. So apparent damage is
 * confirmed by a second read from the beginning.
 */
async function again<T>(digest: Uint8Array, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof DamagedPart)) throw error;
  }
  try {
    return await read();
  } catch (error) {
    throw error instanceof DamagedPart ? corrupted(digest, error) : error;
  }
}

/** Verified pieces in order; the last one comes only when the whole is right. */
async function* pieces(context: BlobContext, row: BlobWithBody): AsyncGenerator<Uint8Array> {
  if (row.form <= FORM.zstd) {
    yield await readPlain(context, row, "bytes");
    return;
  }
  const hash = createHash("sha256");
  let left = row.size;
  let held: Uint8Array | null = null;
  for await (const piece of row.form === FORM.chunks ? chunks(context, row) : segments(context, row)) {
    left -= piece.length;
    if (left < 0) throw new DamagedPart("whole", new DamagedBytes("has more parts than it was written with"));
    hash.update(piece);
    if (held !== null) yield held;
    held = piece;
  }
  if (left !== 0 || !sameBytes(hash.digest(), row.sha256)) {
    throw new DamagedPart("whole", new DamagedBytes("is not made of the parts it was written with"));
  }
  if (held !== null) yield held;
}

/** Rows per read: at most 8 MB, 2 MB as a rule. */
const CHUNKS_PER_READ = 32;

async function* chunks(context: BlobContext, row: BlobRow): AsyncGenerator<Uint8Array> {
  for (let after = -1; ; ) {
    const page = await context.storage.query("blob.chunks", {
      blobNo: row.no,
      afterOrd: after,
      limit: CHUNKS_PER_READ,
    });
    for (const chunk of page) {
      const part = `chunk ${chunk.ord + 1}`;
      yield chunk.form <= FORM.zstd
        ? await readPlain(context, chunk, part)
        : await readNested(context, chunk.sha256, part);
      after = chunk.ord;
    }
    if (page.length < CHUNKS_PER_READ) return;
    await yieldToEventLoop(context.storage.environment);
  }
}

/** A chunk that is also the base of a grown blob is stored as segments. */
async function readNested(context: BlobContext, digest: Uint8Array, part: string): Promise<Uint8Array> {
  const [row] = await context.storage.query("blob.get", { sha256: digest });
  if (row === undefined) throw new DamagedPart(part, new DamagedBytes("is missing"));
  const found: Uint8Array[] = [];
  for await (const piece of pieces(context, row)) found.push(piece);
  return bare(Buffer.concat(found));
}

async function* segments(context: BlobContext, row: BlobRow): AsyncGenerator<Uint8Array> {
  for (const segment of await context.storage.query("blob.segments", { blobNo: row.no })) {
    yield (await readSegment(context, segment)).subarray(0, segment.length);
    await yieldToEventLoop(context.storage.environment);
  }
}

interface Plain extends Omit<StoredBytes, "stored"> {
  readonly sha256: Uint8Array;
  readonly size: number;
  readonly form: number;
}

export function readPlain(context: BlobContext, row: Plain, part: string): Uint8Array | Promise<Uint8Array> {
  if (row.body !== null) return decodePlain(row, row.body, part);
  return inPart(part, async () => decodePlain(row, await context.byteStore.get(row), part));
}

function decodePlain(row: Plain, bytes: Uint8Array, part: string): Uint8Array {
  let plain: Uint8Array;
  try {
    plain = unpack(row.form === FORM.zstd ? "zstd" : "raw", bytes, row.size);
  } catch (error) {
    throw error instanceof DamagedBytes ? new DamagedPart(part, error) : error;
  }
  if (sameBytes(sha256(plain), row.sha256)) return bare(plain);
  throw new DamagedPart(part, new DamagedBytes("not what was written, the hash differs"));
}

/**
 * Reads at least the first `length` bytes of a segment. A sealed segment is read whole, so that its hash can be
 * checked.
 */
export async function readSegment(
  context: BlobContext,
  segment: Omit<SegmentRow, "id" | "ord"> & { readonly id: string; readonly ord?: number },
): Promise<Uint8Array> {
  const part = segment.ord === undefined ? `segment ${segment.id}` : `segment ${segment.ord + 1}`;
  const wanted = segment.sealed === 1 ? segment.size : segment.length;
  return inPart(part, async () => {
    const frames: Frame[] = [];
    let length = 0;
    for (const frame of await context.storage.query("segment.frames", { id: segment.id })) {
      if (length >= wanted) break;
      frames.push(await readFrame(context, frame, length));
      length += frame.size;
    }
    if (length < wanted) throw new DamagedBytes(`has frames for ${length} bytes of ${wanted}`);
    const bytes = decodeFrames(frames);
    const right = segment.sha256 === null || sameBytes(sha256(bytes.subarray(0, segment.size)), segment.sha256);
    if (!right) throw new DamagedBytes("does not have the hash it was sealed with");
    return bytes;
  });
}

async function readFrame(context: BlobContext, frame: FrameRow, start: number): Promise<Frame> {
  if (frame.start !== start) throw new DamagedBytes(`has no frame at byte ${start}`);
  return { bytes: await context.byteStore.get(frame), size: frame.size };
}

async function inPart<T>(part: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof DamagedBytes ? new DamagedPart(part, error) : error;
  }
}

/**
 * Drivers and zlib return Buffers, which compare and print differently from the documented Uint8Array, and may share
 * memory with other data.
 */
function bare(bytes: Uint8Array): Uint8Array {
  const isAlone = bytes.buffer.byteLength === bytes.byteLength;
  if (!isAlone) return new Uint8Array(bytes);
  return Buffer.isBuffer(bytes) ? new Uint8Array(bytes.buffer) : bytes;
}

export function notFound(digest: Uint8Array): HoldfastError {
  return new HoldfastError("BlobNotFound", `there is no blob ${toRef(digest)}`, {
    details: { ref: toRef(digest) },
    hint: "Store the bytes again; refs expire unless they are pinned or a row refers to them.",
  });
}

export function expired(digest: Uint8Array): HoldfastError {
  return new HoldfastError("BlobExpired", `the blob ${toRef(digest)} has expired`, {
    details: { ref: toRef(digest) },
    hint: "Store the bytes again, with a longer ttlMs, or pin the ref while it is needed.",
  });
}

export function corrupted(digest: Uint8Array, damage: DamagedPart): HoldfastError {
  return new HoldfastError("BlobCorrupted", `the blob ${toRef(digest)} is damaged: ${damage.message}`, {
    details: {
      ref: toRef(digest),
      part: damage.part,
      ...(damage.cause instanceof MissingBytes ? { missing: true } : {}),
    },
    hint: "Restore it from a backup, or delete it and store the bytes again; other blobs are not affected.",
    cause: damage,
  });
}

function tooLargeInOnePiece(row: BlobRow): HoldfastError {
  const limit = "blobInMemoryBytes";
  return new HoldfastError("LimitExceeded", `the blob has ${row.size} bytes; the limit ${limit} is ${LIMITS[limit]}`, {
    details: { limit, max: LIMITS[limit], actual: row.size, ref: toRef(row.sha256) },
    hint: "Read it with stream().",
  });
}
