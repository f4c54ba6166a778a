// How growth changes segments: an open segment gets a frame, a full one is sealed, and new ones start with a single
// frame.
import type { Guard, Write } from "../../contracts/storage/commit.ts";
import { sha256 } from "../../core/bytes.ts";
import { newId } from "../../core/new-id.ts";
import type { BlobContext, StoredBytes } from "./byte-store.ts";
import { frameWrite, sealWrites } from "./seal.ts";
import { encodeFrame, mergeFrom, SEGMENT_BYTES, seal } from "./segments.ts";

/** The part of a segment that a blob uses. */
export interface Use {
  readonly id: string;
  readonly length: number;
}

export interface SegmentChange {
  readonly use: Use;
  readonly writes: readonly Write[];
  readonly guards: readonly Guard[];
  readonly placed: StoredBytes | null;
  /** The frames that this one replaces. */
  readonly replaced: readonly { readonly store: string; readonly key: string | null }[];
}

/** A single frame depends on no other, so a new segment counts as sealed until bytes are added. */
export async function newSegment(context: BlobContext, content: Uint8Array): Promise<SegmentChange> {
  const { environment } = context.storage;
  const id = newId(environment, "seg");
  const at = environment.now();
  const digest = sha256(content);
  const placed = await context.byteStore.put(digest, seal(content));
  const row = { id, size: content.length, sealed: 1, sha256: digest, created_at: at, touched_at: at };
  return {
    use: { id, length: content.length },
    writes: [{ op: "insert", table: "segments", row }, frameWrite(id, 0, content.length, placed)],
    guards: [],
    placed,
    replaced: [],
  };
}

/** The segment has the first `size` bytes of `content` and gets the rest. */
export async function extendSegment(
  context: BlobContext,
  id: string,
  size: number,
  content: Uint8Array,
): Promise<SegmentChange> {
  const guards: Guard[] = [{ check: "segment.size", key: [id], expect: size }];
  const use = { id, length: content.length };
  if (content.length <= size) return { use, writes: [], guards, placed: null, replaced: [] };
  const frames = await context.storage.query("segment.frameHeaders", { id });
  if (content.length === SEGMENT_BYTES) {
    const digest = sha256(content);
    const placed = await context.byteStore.put(digest, seal(content));
    return {
      use,
      writes: sealWrites(id, content.length, digest, placed),
      guards,
      placed,
      replaced: frames,
    };
  }
  const keep = mergeFrom([...frames.map((frame) => frame.size), content.length - size]);
  const merged = keep === undefined ? [] : frames.slice(keep);
  const start = merged[0]?.start ?? size;
  const frame = encodeFrame(content.subarray(0, start), content.subarray(start));
  const placed = await context.byteStore.put(sha256(frame), frame);
  const at = context.storage.environment.now();
  return {
    use,
    writes: [
      ...(merged.length === 0 ? [] : [{ op: "run", statement: "frames.clear", params: [id, start] } as const]),
      frameWrite(id, start, content.length - start, placed),
      { op: "run", statement: "segment.grow", params: [content.length, at, at, id] },
    ],
    guards,
    placed,
    replaced: merged,
  };
}
