// Checks the text indexes: their rows with each other, and each segment with the texts that it is made of. Writers replace segments
// meanwhile: what was found in one counts only if it is still the same afterwards.
import type { CheckKind } from "../contracts/check.ts";
import type { StoredPayload } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { toRef } from "../core/bytes.ts";
import { allTextIndexes } from "../search/index/all-indexes.ts";
import type { IndexSource } from "../search/index/source.ts";
import { type IndexState, readUncheckedState, type SegmentRecord } from "../search/index/state.ts";
import { findStructureDamage, type StructureDamage } from "../search/index/structure.ts";
import { type SegmentDamage, verifySegment } from "../search/index/verify-segment.ts";
import type { IssueReporter } from "./findings.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";
import type { BlobReader } from "./yielding-reads.ts";

export function indexSources(storage: Storage, blobs: BlobReader): readonly IndexSource[] {
  const payloads = { read: (stored: StoredPayload) => readStored(blobs, stored) };
  return allTextIndexes(storage, { payloads }).map(({ source }) => source);
}

/** Without verifying the hash: that is a check of its own. */
async function readStored(blobs: BlobReader, { sha256, form, body, size }: StoredPayload): Promise<Uint8Array> {
  if (form === 0 && body !== null && body.length === size) return body;
  const pieces: Uint8Array[] = [];
  for await (const piece of blobs.stream(toRef(sha256))) pieces.push(piece);
  return Buffer.concat(pieces);
}

const STRUCTURE: Readonly<Record<StructureDamage["part"], CheckKind>> = {
  marks: "text-index-marks-wrong",
  segments: "text-index-range-wrong",
};

/** The rows of an index with each other. */
export async function checkIndexRows(storage: Storage, { kind }: IndexSource, reporter: IssueReporter): Promise<void> {
  const state = await readUncheckedState(storage, kind);
  if (state === null) return reporter.report("text-index-marks-wrong", [kind], { reason: "its row is missing" });
  for (const { part, segment, reason } of findStructureDamage(state)) {
    reporter.report(STRUCTURE[part], [nameOf(kind, segment)], { reason });
  }
  const withPages = new Set(state.segments.filter(({ isDropped }) => !isDropped).map(({ segment }) => segment));
  const named = await storage.query("index.segmentsOfPages", { kind });
  const strays = named.filter(({ segment }) => !withPages.has(segment));
  if (strays.length > 0 && !(await isUnchanged(storage, state))) return;
  for (const { segment } of strays) reporter.report("text-index-stray", [nameOf(kind, segment)], {});
  for (const { kind: stray } of await storage.query("index.strayKinds", {})) {
    reporter.report("text-index-stray", [stray], { reason: "there is no such kind of index" });
  }
}

async function isUnchanged(storage: Storage, { kind, epoch }: IndexState): Promise<boolean> {
  return (await readUncheckedState(storage, kind))?.epoch === epoch;
}

function nameOf(kind: string, segment: number | null): string {
  return segment === null ? kind : `${kind}/${segment}`;
}

export async function segmentsOf(storage: Storage, { kind }: IndexSource): Promise<readonly number[]> {
  const state = await readUncheckedState(storage, kind);
  return state?.segments.map(({ segment }) => segment) ?? [];
}

const SEGMENT: Readonly<Record<SegmentDamage["part"], CheckKind>> = {
  row: "text-index-segment-wrong",
  pages: "text-index-page-wrong",
  texts: "text-index-text-wrong",
};

/** A segment that is replaced meanwhile is not looked at again: the one that takes its place has just been made. */
export async function checkSegment(
  storage: Storage,
  source: IndexSource,
  segment: number,
  reporter: IssueReporter,
): Promise<void> {
  if (!reporter.isRequested(...Object.values(SEGMENT))) return;
  const record = await findSegment(storage, source, segment);
  if (record === null || record.isDropped) return;
  const found = await verifySegment(storage, source, record);
  if (found.length === 0) return;
  const after = await findSegment(storage, source, segment);
  if (after?.version !== record.version || after.isDropped) return;
  for (const { part, details } of found) reporter.report(SEGMENT[part], [nameOf(source.kind, segment)], details);
}

async function findSegment(storage: Storage, { kind }: IndexSource, segment: number): Promise<SegmentRecord | null> {
  const state = await readUncheckedState(storage, kind);
  return state?.segments.find((one) => one.segment === segment) ?? null;
}

/** The rows of items with the items, and with their segments. */
export async function checkIndexItems(storage: Storage, reporter: IssueReporter): Promise<void> {
  for await (const { kind, group_no, item, placed, there } of rowsOf<ItemRow>((last) =>
    storage.query("check.indexItems", {
      afterKind: last?.kind ?? "",
      afterGroup: last?.group_no ?? BEFORE_ALL,
      afterItem: last?.item ?? BEFORE_ALL,
      limit: PAGE,
    }),
  )) {
    const details = { kind, group: group_no, item };
    if (there === 0) reporter.report("text-index-item-wrong", [], { ...details, reason: "there is no such item" });
    else if (placed === 0)
      reporter.report("text-index-item-wrong", [], { ...details, reason: "its segment is missing" });
  }
  for await (const { id } of rowsOf<{ readonly no: number; readonly id: string }>((last) =>
    storage.query("check.unindexedMemories", { after: last?.no ?? BEFORE_ALL, limit: PAGE }),
  )) {
    reporter.report("text-index-item-wrong", [id], { kind: "memories", reason: "the index does not know it" });
  }
  for await (const { collection, item, id } of rowsOf<UnindexedDocument>((last) =>
    storage.query("check.unindexedDocuments", {
      afterCollection: last?.collection ?? BEFORE_ALL,
      afterItem: last?.item ?? BEFORE_ALL,
      limit: PAGE,
    }),
  )) {
    const details = { kind: "documents", group: collection, item, reason: "the index does not know it" };
    reporter.report("text-index-item-wrong", [id], details);
  }
}

interface UnindexedDocument {
  readonly collection: number;
  readonly item: number;
  readonly id: string;
}

interface ItemRow {
  readonly kind: string;
  readonly group_no: number;
  readonly item: number;
  readonly placed: number;
  readonly there: number;
}
