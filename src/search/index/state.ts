// What the store says of the index of one kind: its segments, and up to where items are in them. One statement reads it, so that it is
// of one moment.
import { type IndexStateRow, PENDING_MAX } from "../../contracts/storage/index-queries.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { TEXT_LANGUAGES, type TextLanguage } from "../text/stem.ts";
import { TOKENISER_VERSION } from "../text/tokenise.ts";
import type { IndexKind } from "./reader.ts";

export interface SegmentRecord {
  readonly segment: number;
  /** Of messages: the segment has those whose events have numbers above `low`, up to `high`. */
  readonly low: number;
  readonly high: number;
  /** The epoch in which it was last changed. */
  readonly version: number;
  /** Its pages are gone, because an item of it was erased: its other items are pending. */
  readonly isDropped: boolean;
  /** Never outside of a commit that erases. */
  readonly isMarked: boolean;
  /** Units, those that were removed included. */
  readonly units: number;
  readonly items: number;
  readonly removed: number;
  readonly bytes: number;
  /** See directory.ts. */
  readonly directory: number;
  readonly language: string;
  readonly tokeniser: number;
}

export interface IndexState {
  readonly kind: IndexKind;
  /** Counts the changes of segments and the erasures: a change is made of what was read in the same epoch, or not at all. */
  readonly epoch: number;
  /** The number of the last event whose message is in a segment. */
  readonly indexed: number;
  /** Up to this number no further event can be added. */
  readonly settled: number;
  /** The number of the newest event. */
  readonly newest: number;
  /** Items behind all segments, counted up to PENDING_MAX. */
  readonly pending: number;
  /** null until the first segment is written. */
  readonly language: TextLanguage | null;
  readonly segments: readonly SegmentRecord[];
}

/** For what looks for damage, and repairs it: others use readState() of structure.ts. null: the row of the kind is missing. */
export async function readUncheckedState(storage: Storage, kind: IndexKind): Promise<IndexState | null> {
  const rows = await storage.query("index.state", { kind });
  const [first] = rows;
  if (first === undefined) return null;
  const { epoch, indexed, settled, newest, pending, language } = first;
  return {
    kind,
    epoch,
    indexed,
    settled,
    newest,
    pending,
    language: TEXT_LANGUAGES.find((one) => one === language) ?? null,
    segments: rows.flatMap(segmentOf),
  };
}

/**
 * Whether both states are of the same items in the same segments: an erasure and a change of segments count an epoch, and what is
 * added is one item more. On PostgreSQL an event may become visible after a newer one, so the newest alone does not tell.
 */
export function isSameState(a: IndexState, b: IndexState): boolean {
  return a.epoch === b.epoch && a.newest === b.newest && a.pending === b.pending && b.pending < PENDING_MAX;
}

function segmentOf(row: IndexStateRow): readonly SegmentRecord[] {
  if (row.segment === null) return [];
  const { segment, low, high, version, dropped, marked, units, items, removed, bytes, directory } = row;
  return [
    {
      segment,
      low: Number(low),
      high: Number(high),
      version: Number(version),
      isDropped: dropped !== 0,
      isMarked: marked !== 0,
      units: Number(units),
      items: Number(items),
      removed: Number(removed),
      bytes: Number(bytes),
      directory: Number(directory),
      language: String(row.segment_language),
      tokeniser: Number(row.segment_tokeniser),
    },
  ];
}

/** Whether the segment was made by another tokeniser or for another language: it still answers, and is made again. */
export function isOutdated({ isDropped, language, tokeniser }: SegmentRecord, now: TextLanguage): boolean {
  return !isDropped && (language !== now || tokeniser !== TOKENISER_VERSION);
}
