// Which segments are merged: eight neighbours of about one size become one of the next size, so that a unit is written a few times
// only, and a search reads few segments. The largest are not merged any more.
import type { SegmentRecord } from "./state.ts";

/** Live units of a segment of each size, below. */
const SIZES = [8192, 65_536];
const SEGMENTS_PER_MERGE = 8;
/** A merged segment has no more units. It is read and written at once. */
const UNITS_MAX = 98_304;

/** null: none are to be merged. The segments are in the order of their items. */
export function chooseMerge(segments: readonly SegmentRecord[]): readonly SegmentRecord[] | null {
  for (const size of SIZES) {
    let run: SegmentRecord[] = [];
    let units = 0;
    for (const segment of segments) {
      const live = liveUnits(segment);
      const isSmall = !segment.isDropped && live < size;
      if (!isSmall || !isSameForm(run[0], segment) || units + live > UNITS_MAX) {
        run = [];
        units = 0;
      }
      if (!isSmall) continue;
      run.push(segment);
      units += live;
      if (run.length === SEGMENTS_PER_MERGE) return run;
    }
  }
  const sparse = segments.find((segment) => !segment.isDropped && segment.removed * 3 > segment.units);
  return sparse === undefined ? null : [sparse];
}

function liveUnits({ units, removed }: SegmentRecord): number {
  return units - removed;
}

function isSameForm(one: SegmentRecord | undefined, other: SegmentRecord): boolean {
  return one === undefined || (one.language === other.language && one.tokeniser === other.tokeniser);
}
