// What holds of the rows of a sound index, whatever the texts are: its segments follow one another without a gap and without an overlap
// up to the mark of what is indexed, and no segment is newer than the epoch. A search, a writer and the checker look here, so that a
// damaged row is an error that names reindex, and never a wrong answer.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import type { IndexKind } from "./reader.ts";
import { type IndexState, readUncheckedState, type SegmentRecord } from "./state.ts";

export interface StructureDamage {
  /** The row of the kind, or the rows of segments. */
  readonly part: "marks" | "segments";
  /** null: the row of the kind. */
  readonly segment: number | null;
  readonly reason: string;
}

export function findStructureDamage(state: IndexState): readonly StructureDamage[] {
  const found: StructureDamage[] = findMarkDamage(state).map((reason) => ({ part: "marks", segment: null, reason }));
  for (const one of state.segments) {
    const reason = segmentDamage(state, one);
    if (reason !== null) found.push({ part: "segments", segment: one.segment, reason });
  }
  if (state.kind === "messages") found.push(...findRangeDamage(state));
  return found;
}

/** The first segments of messages, up to the first that is damaged. */
export function soundPrefix(state: IndexState): readonly SegmentRecord[] {
  const sound: SegmentRecord[] = [];
  let end = 0;
  for (const one of state.segments) {
    if (rangeDamage(one, end) !== null || segmentDamage(state, one) !== null || one.high > state.newest) break;
    sound.push(one);
    end = one.high;
  }
  return sound;
}

/** StoreCorrupted if its rows cannot be right. */
export async function readState(storage: Storage, kind: IndexKind): Promise<IndexState> {
  const state = await readUncheckedState(storage, kind);
  if (state === null) throw damagedIndex(kind, "its row is missing");
  const [first] = findStructureDamage(state);
  if (first === undefined) return state;
  const { segment, reason } = first;
  throw damagedIndex(kind, segment === null ? reason : `segment ${segment}: ${reason}`);
}

export function damagedIndex(kind: IndexKind, reason: string): HoldfastError {
  return new HoldfastError("StoreCorrupted", `the text index of ${kind} is damaged (${reason})`, {
    details: { index: kind },
    hint: "The index is made of the stored texts, and can be made again: run `npx holdfast reindex`, or hf.reindex().",
  });
}

function findMarkDamage({ kind, epoch, indexed, settled, newest, language, segments }: IndexState): readonly string[] {
  const found: string[] = [];
  const last = segments.reduce((most, { segment, version }) => Math.max(most, segment, version), 0);
  if (epoch < last) found.push(`its epoch is ${epoch}, and a segment is of epoch ${last}`);
  if (language === null && segments.length > 0) found.push("it has segments, and no language that is known");
  if (kind !== "messages") return found;
  if (settled > newest) found.push(`it is settled up to event ${settled}, and the newest event is ${newest}`);
  if (indexed > settled || indexed < 0)
    found.push(`it is indexed up to event ${indexed}, and settled up to ${settled}`);
  return found;
}

function segmentDamage(
  { kind }: IndexState,
  { units, items, removed, isMarked, isDropped }: SegmentRecord,
): string | null {
  if (isMarked) return "it is marked as rewritten by an erasure that has ended";
  // Items of other kinds are pending by their own rows.
  if (isDropped && kind !== "messages") return "it is dropped, and its items are not pending";
  if (items < 0 || removed < 0 || units < items || units < removed) return "its counts contradict each other";
  return null;
}

/** Each range begins where the one before ends, and the last ends at the mark. */
function findRangeDamage({ indexed, segments }: IndexState): readonly StructureDamage[] {
  const found: StructureDamage[] = [];
  let end = 0;
  for (const one of segments) {
    const reason = rangeDamage(one, end);
    if (reason !== null) found.push({ part: "segments", segment: one.segment, reason });
    end = Math.max(end, one.high);
  }
  if (end < indexed)
    found.push({ part: "segments", segment: null, reason: `events ${end + 1} to ${indexed} are in no segment` });
  if (end > indexed) {
    found.push({
      part: "segments",
      segment: null,
      reason: `segments reach event ${end}, and it is indexed up to ${indexed}`,
    });
  }
  return found;
}

function rangeDamage({ low, high }: SegmentRecord, end: number): string | null {
  if (high <= low) return `it ends at event ${high}, where it has not begun`;
  if (low > end) return `events ${end + 1} to ${low} before it are in no segment`;
  return low < end ? `it begins behind event ${low}, and the segment before it ends at ${end}` : null;
}
