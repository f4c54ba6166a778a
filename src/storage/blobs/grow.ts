// Growth (BL3): if bytes begin with the bytes of another blob, both share its segments, and only the rest is added. The
// last segment of the older blob is extended, unless another blob has extended it with other bytes: then its prefix is
// copied. An older blob of another form is converted to segments, so that the common prefix is stored once.
import { createHash } from "node:crypto";
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { BlobWrite, Commit, Write } from "../../contracts/storage/commit.ts";
import type { BlobRow, SegmentRow } from "../../contracts/storage/rows.ts";
import { sameBytes, toRef } from "../../core/bytes.ts";
import { refusalError } from "../../core/decide.ts";
import { yieldToEventLoop } from "../../core/time-slice.ts";
import type { BlobContext } from "./byte-store.ts";
import { type BlobClaim, FORM, isExpired, unchanged } from "./claims.ts";
import { takeApart } from "./drop.ts";
import { extendSegment, newSegment, type SegmentChange, type Use } from "./extend.ts";
import { commitOrThrow, renew } from "./put.ts";
import { DamagedPart, readSegment } from "./read.ts";
import { plan, SEGMENT_BYTES } from "./segments.ts";
import { BATCH_BYTES, dropHolder, holderWrite, wholeWrite } from "./upload.ts";

/** null if `bytes` do not begin with a live blob of this name. The caller must not change the bytes meanwhile. */
export async function storeGrown(
  context: BlobContext,
  bytes: Uint8Array,
  from: Uint8Array,
  claim: BlobClaim,
): Promise<Uint8Array | null> {
  let digest: Uint8Array | null = null;
  for (let attempt = 0; attempt < LIMITS.decideAttempts; attempt++) {
    const [base] = await context.storage.query("blob.head", { sha256: from });
    if (base === undefined || base.form === FORM.holder || base.size > bytes.length) return null;
    if (isExpired(base, context.storage.environment.now())) return null;
    digest ??= await digestAfter(context, bytes, base);
    if (digest === null) return null;
    if (await renew(context, digest, claim)) return digest;
    if (await new Growth(context, bytes, digest, base).commit(claim)) return digest;
  }
  throw new HoldfastError("Conflict", `other writers keep growing from ${toRef(from)} at the same time`, {
    retryable: true,
  });
}

/** The hash of all bytes, or null if the prefix does not have the hash of the base. */
async function digestAfter(context: BlobContext, bytes: Uint8Array, base: BlobRow): Promise<Uint8Array | null> {
  const hash = createHash("sha256");
  const add = async (from: number, to: number) => {
    for (let at = from; at < to; at += BATCH_BYTES) {
      hash.update(bytes.subarray(at, Math.min(at + BATCH_BYTES, to)));
      await yieldToEventLoop(context.storage.environment);
    }
  };
  await add(0, base.size);
  if (!sameBytes(hash.copy().digest(), base.sha256)) return null;
  await add(base.size, bytes.length);
  return hash.digest();
}

/** What the grown blob takes over from its base. */
interface Start {
  readonly shared: readonly Use[];
  /** Bytes that the shared segments hold. */
  readonly covered: number;
  /** The open segment. It contains the next `size` bytes, maybe more, and can be extended. */
  readonly open: { readonly id: string; readonly size: number } | null;
}

const NOTHING: Start = { shared: [], covered: 0, open: null };

/** One attempt. Segments that do not fit into one commit are committed before, with a holder. */
class Growth {
  readonly #context: BlobContext;
  readonly #bytes: Uint8Array;
  readonly #digest: Uint8Array;
  readonly #base: BlobRow;
  readonly #uses: Use[] = [];
  readonly #replaced: SegmentChange["replaced"][number][] = [];
  #pending: SegmentChange[] = [];
  #holder: Uint8Array | null = null;
  #held = 0;

  constructor(context: BlobContext, bytes: Uint8Array, digest: Uint8Array, base: BlobRow) {
    this.#context = context;
    this.#bytes = bytes;
    this.#digest = digest;
    this.#base = base;
  }

  /** False if another writer was faster, and everything must be read again. */
  async commit(claim: BlobClaim): Promise<boolean> {
    const { storage, byteStore } = this.#context;
    const start = await findStart(this.#context, this.#base, this.#bytes);
    await this.#build(start);
    const conversion = this.#conversion();
    const outcome = await storage.commit(this.#lastCommit(claim, conversion));
    if (!outcome.ok) {
      const { reason } = outcome.refused;
      if (reason !== "guard" && reason !== "blob-missing") throw refusalError(outcome.refused);
      if (this.#holder !== null) await takeApart(this.#context, this.#holder);
      await byteStore.drop(this.#pending.flatMap((one) => one.placed ?? []));
      return false;
    }
    await byteStore.drop(this.#replaced);
    if (conversion?.holder) await takeApart(this.#context, conversion.holder);
    if (conversion !== null) await byteStore.drop([this.#base]);
    return true;
  }

  async #build({ shared, covered, open }: Start): Promise<void> {
    for (const use of shared) this.#uses.push(use);
    let at = covered;
    let size = open?.size ?? 0;
    const rest = this.#bytes.length - covered;
    if (open !== null && size >= rest) {
      await this.#add(await extendSegment(this.#context, open.id, size, this.#bytes.subarray(at)));
      return;
    }
    for (const [i, { take }] of plan(size, rest - size).entries()) {
      const content = this.#bytes.subarray(at, at + size + take);
      const extended = i === 0 && open !== null;
      await this.#add(
        extended
          ? await extendSegment(this.#context, open.id, size, content)
          : await newSegment(this.#context, content),
      );
      at += content.length;
      size = 0;
      await yieldToEventLoop(this.#context.storage.environment);
    }
  }

  async #add(change: SegmentChange): Promise<void> {
    this.#uses.push(change.use);
    this.#replaced.push(...change.replaced);
    this.#pending.push(change);
    // The extension of an open segment is in the last commit, together with its guard.
    const fresh = this.#pending.filter((one) => one.guards.length === 0);
    if (fresh.reduce((sum, one) => sum + (one.placed?.stored ?? 0), 0) < BATCH_BYTES) return;
    this.#pending = this.#pending.filter((one) => one.guards.length > 0);
    await this.#commitAhead(fresh);
  }

  async #commitAhead(fresh: readonly SegmentChange[]): Promise<void> {
    const { environment } = this.#context.storage;
    const uses = this.#holder === null ? [] : [[this.#holder, 0] as const];
    this.#holder ??= environment.random(32);
    const holder = this.#holder;
    await commitOrThrow(this.#context, {
      uses,
      blobs: [holderWrite(this.#context, holder, environment.now())],
      writes: fresh.flatMap((one, i) => [...one.writes, useWrite(holder, this.#held + i, one.use)]),
    });
    this.#held += fresh.length;
  }

  /**
   * Converts the base to the same segments if it has another form and is no row's payload, because growth must not
   * rewrite payloads.
   */
  #conversion(): Conversion | null {
    const base = this.#base;
    if (base.form === FORM.segments || base.refs > 0) return null;
    const holder = base.form === FORM.chunks ? this.#context.storage.environment.random(32) : null;
    const moved: Write[] =
      holder === null ? [] : [{ op: "run", statement: "links.move", params: [holder, base.sha256] }];
    return {
      holder,
      writes: [
        { op: "run", statement: "blob.regrow", params: [base.sha256] },
        ...useWrites(base.sha256, shorten(this.#uses, base.size)),
        ...moved,
      ],
    };
  }

  #lastCommit(claim: BlobClaim, conversion: Conversion | null): Commit {
    const context = this.#context;
    const now = context.storage.environment.now();
    const blobs: BlobWrite[] = [wholeWrite(context, this.#digest, this.#bytes.length, FORM.segments, claim)];
    if (conversion?.holder) blobs.push(holderWrite(context, conversion.holder, now));
    return {
      uses: [[this.#base.sha256, 0], ...(this.#holder === null ? [] : [[this.#holder, 0] as const])],
      guards: [...this.#pending.flatMap((one) => one.guards), ...(conversion === null ? [] : [unchanged(this.#base)])],
      blobs,
      writes: [
        ...this.#pending.flatMap((one) => one.writes),
        ...useWrites(this.#digest, this.#uses),
        ...(conversion?.writes ?? []),
        ...(this.#holder === null ? [] : dropHolder(this.#holder)),
      ],
    };
  }
}

interface Conversion {
  /** Releases the chunks of the base. */
  readonly holder: Uint8Array | null;
  readonly writes: readonly Write[];
}

async function findStart(context: BlobContext, base: BlobRow, bytes: Uint8Array): Promise<Start> {
  if (base.form !== FORM.segments) return NOTHING;
  const segments = await context.storage.query("blob.segments", { blobNo: base.no });
  const last = segments.at(-1);
  if (last === undefined) return NOTHING;
  const shared: Use[] = segments.slice(0, -1).map(({ id, length }) => ({ id, length }));
  const covered = shared.reduce((sum, use) => sum + use.length, 0);
  // If the row and the segments of a base disagree, the base is damaged: it is not changed, and nothing is added to it.
  if (covered + last.length !== base.size) return NOTHING;
  const rest = bytes.subarray(covered);
  if (!(await beginsAlike(context, last, rest))) return { shared, covered, open: null };
  const isFull = last.size === SEGMENT_BYTES && rest.length >= SEGMENT_BYTES;
  if (!isFull) return { shared, covered, open: { id: last.id, size: last.size } };
  return { shared: [...shared, { id: last.id, length: last.size }], covered: covered + last.size, open: null };
}

/**
 * Whether the segment's content equals the new bytes as far as both reach. Its first `length` bytes are known to be
 * equal.
 */
async function beginsAlike(context: BlobContext, segment: SegmentRow, ours: Uint8Array): Promise<boolean> {
  if (segment.size === segment.length || ours.length <= segment.length) return true;
  try {
    const theirs = await readSegment(context, { ...segment, length: segment.size });
    const common = Math.min(ours.length, segment.size);
    return sameBytes(theirs.subarray(0, common), ours.subarray(0, common));
  } catch (error) {
    if (error instanceof DamagedPart) return false;
    throw error;
  }
}

function useWrites(blob: Uint8Array, uses: readonly Use[]): Write[] {
  return [
    { op: "run", statement: "segments.forget", params: [blob] },
    ...uses.map((use, ord) => useWrite(blob, ord, use)),
  ];
}

function useWrite(blob: Uint8Array, ord: number, { id, length }: Use): Write {
  return { op: "insert", table: "blob_segments", row: { blob_no: blob, ord, segment_id: id, length } };
}

function shorten(uses: readonly Use[], size: number): Use[] {
  let left = size;
  return uses.flatMap(({ id, length }) => {
    const taken = Math.min(left, length);
    left -= taken;
    return taken === 0 ? [] : [{ id, length: taken }];
  });
}
