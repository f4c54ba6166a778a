// Which segments are merged: eight neighbours of about one size become one of the next size, so that a unit is written a few times
// only, and a search reads few segments. The largest are not merged any more.
import type { IndexKind } from "./reader.ts";
import type { SegmentRecord } from "./state.ts";

interface Levels {
  /** Live units of a segment of each size, below. */
  readonly sizes: readonly number[];
  /** A segment that is made of texts has so many units, and a few more of the last item. */
  readonly unitsMade: number;
  /** A merged segment has no more units. It is read and written at once. */
  readonly unitsMax: number;
}

/** Documents and memories are replaced one by one, and the next search reads the texts of the whole segment again. */
const SMALL: Levels = { sizes: [256], unitsMade: 2048, unitsMax: 2048 };
export const LEVELS: Readonly<Record<IndexKind, Levels>> = {
  messages: { sizes: [8192, 65_536], unitsMade: 4096, unitsMax: 98_304 },
  memories: SMALL,
  documents: SMALL,
};
const SEGMENTS_PER_MERGE = 8;

/** null: none are to be merged. The segments are in the order of their items. */
export function chooseMerge(kind: IndexKind, segments: readonly SegmentRecord[]): readonly SegmentRecord[] | null {
  const { sizes, unitsMax } = LEVELS[kind];
  for (const size of sizes) {
    let run: SegmentRecord[] = [];
    let units = 0;
    for (const segment of segments) {
      const live = liveUnits(segment);
      const isSmall = !segment.isDropped && live < size;
      if (!isSmall || !isSameForm(run[0], segment) || units + live > unitsMax) {
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
