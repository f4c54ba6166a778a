// Seals a segment: compresses its frames into one frame that depends on nothing, computes its hash, and drops bytes
// that no blob reaches. Growth may open a sealed segment that is not full again: then its frame is the first of many.
import type { Write } from "../../contracts/storage/commit.ts";
import type { BlobRow } from "../../contracts/storage/rows.ts";
import { sha256 } from "../../core/bytes.ts";
import { decide } from "../../core/decide.ts";
import type { BlobContext, StoredBytes } from "./byte-store.ts";
import { corrupted, DamagedPart, readSegment } from "./read.ts";
import { seal } from "./segments.ts";

/** False when there was nothing to do. */
export async function sealSegment(context: BlobContext, id: string): Promise<boolean> {
  const { storage, byteStore } = context;
  let replaced: readonly { readonly store: string; readonly key: string | null }[] = [];
  const made: StoredBytes[] = [];
  const sealed = await decide(storage, async () => {
    const [segment] = await storage.query("segment.get", { id });
    if (segment === undefined || segment.used === null) return { answer: false };
    const { used, size } = segment;
    if (segment.sealed === 1 && used === size) return { answer: false };
    replaced = await storage.query("segment.frameHeaders", { id });
    const bytes = (await readSegment(context, { id, length: size, ...segment })).subarray(0, used);
    const digest = sha256(bytes);
    const placed = await byteStore.put(digest, seal(bytes));
    made.push(placed);
    return {
      commit: {
        guards: [
          { check: "segment.size", key: [id], expect: size },
          { check: "segment.used", key: [id], expect: used },
        ],
        writes: sealWrites(id, bytes.length, digest, placed),
      },
      answer: () => true,
    };
  });
  await byteStore.drop(sealed ? [...replaced, ...made] : made);
  return sealed;
}

export function sealWrites(id: string, size: number, digest: Uint8Array, placed: StoredBytes): Write[] {
  return [
    { op: "run", statement: "frames.clear", params: [id, 0] },
    frameWrite(id, 0, size, placed),
    { op: "run", statement: "segment.seal", params: [size, digest, digest, id] },
  ];
}

export function frameWrite(id: string, start: number, size: number, placed: StoredBytes): Write {
  return { op: "insert", table: "segment_frames", row: { segment_id: id, start, size, ...placed } };
}

/** If the blob has segments, seals the last one, which may still grow. Blobs of chunks have no segments. */

export async function sealBlob(context: BlobContext, row: BlobRow): Promise<void> {
  const last = (await context.storage.query("blob.segments", { blobNo: row.no })).at(-1);
  if (last === undefined) return;
  try {
    await sealSegment(context, last.id);
  } catch (error) {
    if (!(error instanceof DamagedPart)) throw error;
    throw corrupted(row.sha256, new DamagedPart(`segment ${last.ord + 1}`, error.cause));
  }
}
