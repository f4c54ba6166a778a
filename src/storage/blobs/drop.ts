// Removes blobs and their parts. Guards refuse the removal of rows that changed since they were read, and a chunk or
// segment stays while another blob shares it. The ref of a large blob is removed at once, and its parts in small steps.
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { Guard, Write } from "../../contracts/storage/commit.ts";
import type { BlobRow } from "../../contracts/storage/rows.ts";
import { sameBytes, toHex, toRef } from "../../core/bytes.ts";
import { refusalError } from "../../core/decide.ts";
import { yieldToEventLoop } from "../../core/time-slice.ts";
import type { BlobContext } from "./byte-store.ts";
import { FORM, isExpired, isPart, unchanged, unheld } from "./claims.ts";
import { findInlineContent } from "./inline-content.ts";
import { commitOrThrow } from "./put.ts";
import { sealSegment } from "./seal.ts";

export interface DropReport {
  readonly blobs: number;
  readonly bytes: number;
}

/** Deletes at once, regardless of time to live and pin; false if there is none. */
export async function deleteBlob(context: BlobContext, digest: Uint8Array): Promise<boolean> {
  for (let attempt = 0; attempt < LIMITS.decideAttempts; attempt++) {
    const [row] = await context.storage.query("blob.head", { sha256: digest });
    if (row === undefined || row.form === FORM.holder) {
      const inline = await findInlineContent(context, digest);
      if (inline !== null) throw inUse(inline);
      return false;
    }
    if (row.refs > 0) throw inUse(row);
    if (row.linked === 1) {
      const [named] = await context.storage.query("blob.named", { blobNo: row.no });
      throw inUse(row, named === undefined ? "a larger blob is made of it" : "a message names it");
    }
    if ((await dropBlobs(context, [row])).blobs === 1) return true;
  }
  throw new HoldfastError("Conflict", `other writers keep storing ${toRef(digest)}`, { retryable: true });
}

function inUse(row: BlobRow, holder?: string): HoldfastError {
  const rows = row.refs === 1 ? "1 row is" : `${row.refs} rows are`;
  const why = holder ?? `${rows} made of it, as the content of a message, a state value, a note, a block or a document`;
  return new HoldfastError("Conflict", `the blob ${toRef(row.sha256)} is in use: ${why}`, {
    details: { ref: toRef(row.sha256), references: row.refs + row.linked },
    hint: "Clear the messages or state that hold it, or delete their session; it can then expire by itself.",
  });
}

/**
 * Deletes those of the rows that did not change since they were read and that nothing needs, together with their parts.
 */
export async function dropBlobs(context: BlobContext, rows: readonly BlobRow[]): Promise<DropReport> {
  const inParts = rows.filter((row) => row.form === FORM.chunks || row.form === FORM.holder);
  const gone = await dropRows(
    context,
    rows.filter((row) => !inParts.includes(row)),
  );
  let { blobs, bytes } = gone;
  for (const row of inParts) {
    const holder = await moveToHolder(context, row);
    if (holder === null) continue;
    if (row.form === FORM.chunks) blobs += 1;
    bytes += await takeApart(context, holder);
  }
  return { blobs, bytes };
}

/**
 * Deletes blobs that no row needs any more at once, with all their parts, instead of leaving them to the next
 * collection. Returns their bytes.
 */
export async function reap(context: BlobContext, digests: readonly Uint8Array[]): Promise<number> {
  let bytes = 0;
  for (const digest of digests) {
    const [row] = await context.storage.query("blob.head", { sha256: digest });
    if (row === undefined || !isExpired(row, context.storage.environment.now())) continue;
    bytes += (await dropBlobs(context, [row])).bytes;
  }
  return bytes;
}

/** One commit for all blobs. If one is still needed, it is left out, and the others are tried again. */
async function dropRows(context: BlobContext, rows: readonly BlobRow[]): Promise<DropReport> {
  const segments = await segmentsOf(context, rows);
  let left = rows;
  while (left.length > 0) {
    const guards = left.flatMap((row) => [unchanged(row), unheld(row)]);
    const outcome = await context.storage.commit({ solo: true, guards, writes: left.flatMap(dropWrites) });
    if (outcome.ok) break;
    if (outcome.refused.reason !== "guard") throw refusalError(outcome.refused);
    const wanted = outcome.refused.guard;
    left = left.filter((row) => !isAbout(wanted, row));
  }
  await context.byteStore.drop(left);
  const bytes = left.reduce((sum, row) => sum + row.stored, 0);
  return { blobs: left.length, bytes: bytes + (await dropSegments(context, segments)) };
}

function isAbout(guard: Guard, row: BlobRow): boolean {
  const [digest] = guard.key;
  return digest instanceof Uint8Array && sameBytes(digest, row.sha256);
}

function dropWrites(row: BlobRow): Write[] {
  return [
    { op: "run", statement: "blob.drop", params: [row.sha256] },
    { op: "run", statement: "links.drop", params: [row.no, row.no] },
    { op: "run", statement: "segments.drop", params: [row.no, row.no] },
  ];
}

/** Removes the ref. A holder row, whose name is returned, keeps its parts. */
async function moveToHolder(context: BlobContext, row: BlobRow): Promise<Uint8Array | null> {
  const holder = context.storage.environment.random(32);
  const outcome = await context.storage.commit({
    solo: true,
    guards: [unchanged(row), unheld(row)],
    writes: [{ op: "run", statement: "blob.disown", params: [holder, holder, row.sha256] }],
  });
  if (!outcome.ok && outcome.refused.reason !== "guard") throw refusalError(outcome.refused);
  return outcome.ok ? holder : null;
}

const PARTS_PER_STEP = 64;

/** Frees the parts of a holder step by step, and the holder last. Returns the stored bytes that were freed. */
export async function takeApart(context: BlobContext, holder: Uint8Array): Promise<number> {
  const [row] = await context.storage.query("blob.head", { sha256: holder });
  if (row === undefined) return 0;
  let bytes = 0;
  for (;;) {
    const parts = await context.storage.query("blob.parts", { sha256: holder, limit: PARTS_PER_STEP });
    const last = parts.at(-1);
    if (last === undefined) break;
    await commitOrThrow(context, { writes: [{ op: "run", statement: "links.cut", params: [holder, last.ord] }] });
    // Blobs that it only named have their own claims, which garbage collection checks.
    const distinct = new Map(parts.filter(isPart).map((part) => [toHex(part.sha256), part.sha256]));
    const now = await Promise.all(
      [...distinct.values()].map((digest) => context.storage.query("blob.head", { sha256: digest })),
    );
    const free = now.flatMap(([part]) => (part !== undefined && isPart(part) && part.linked === 0 ? [part] : []));
    bytes += (await dropRows(context, free)).bytes;
    await yieldToEventLoop(context.storage.environment);
  }
  const segments = (await context.storage.query("blob.segments", { blobNo: row.no })).map((segment) => segment.id);
  await commitOrThrow(context, {
    solo: true,
    writes: [
      { op: "run", statement: "segments.forget", params: [holder] },
      { op: "run", statement: "blob.drop", params: [holder] },
    ],
  });
  return bytes + (await dropSegments(context, segments));
}

async function segmentsOf(context: BlobContext, rows: readonly BlobRow[]): Promise<readonly string[]> {
  const grown = rows.filter((row) => row.form === FORM.segments);
  const found = await Promise.all(grown.map((row) => context.storage.query("blob.segments", { blobNo: row.no })));
  return [...new Set(found.flat().map((segment) => segment.id))];
}

/** Removes the segments that no blob uses, and cuts those that are longer than any blob in them. */
export async function dropSegments(context: BlobContext, ids: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const id of ids) {
    const [segment] = await context.storage.query("segment.get", { id });
    if (segment === undefined) continue;
    if (segment.used === null) bytes += await dropSegment(context, id);
    else if (segment.used < segment.size) await sealSegment(context, id).catch((error) => skipped(context, id, error));
  }
  return bytes;
}

/** A segment without a blob stays without one: blobs take segments only from blobs they grow from. */
async function dropSegment(context: BlobContext, id: string): Promise<number> {
  const frames = await context.storage.query("segment.frameHeaders", { id });
  await commitOrThrow(context, {
    solo: true,
    writes: [
      { op: "run", statement: "frames.drop", params: [id, id] },
      { op: "run", statement: "segment.drop", params: [id, id] },
    ],
  });
  await context.byteStore.drop(frames);
  return frames.reduce((sum, frame) => sum + frame.stored, 0);
}

/** A damaged segment is not changed, so that people can inspect it. Reads of its blobs report the damage. */
function skipped(context: BlobContext, id: string, error: unknown): void {
  context.storage.environment.log("warn", "blobs.segment.skipped", { segment: id, error: String(error) });
}
