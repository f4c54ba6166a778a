// The vectors of the units of a snapshot: which embedding belongs to which unit, and how near each unit is to a question. A unit counts
// with a share of the units beside it, as its words do: a short message alone says little (docs/decisions/0031).
import { type InterruptibleWork, runInSlices, type TimeSlice } from "../core/time-slice.ts";
import { BestRows } from "../vectors/kernel/best-rows.ts";
import type { PassageMap } from "../vectors/passage-map.ts";
import type { ScoredPassages } from "../vectors/passage-vectors.ts";
import type { UnitTable } from "./index/reader.ts";
import { ScoreSpread } from "./ranking/hybrid.ts";
import type { BesideCheck, VectorsBeside } from "./vectors-beside.ts";

/** The share of each unit beside it, and how alike such units are to one another: by both the length of their sum is estimated. */
const NEIGHBOUR_SHARE = 0.6;
const NEIGHBOUR_LIKENESS = 0.5;

/** By how many neighbours there are. */
const LENGTHS = [0, 1, 2].map((count) =>
  Math.sqrt(
    1 +
      count * NEIGHBOUR_SHARE ** 2 +
      2 * count * NEIGHBOUR_SHARE * NEIGHBOUR_LIKENESS +
      (count === 2 ? 2 * NEIGHBOUR_SHARE ** 2 * NEIGHBOUR_LIKENESS : 0),
  ),
);

const BLOCK = 16_384;

/** The entry of the passage map for each unit, -1: it has no embedding; and the unit for each entry. */
interface Alignment {
  readonly entries: number;
  readonly entryOfUnit: Int32Array;
  readonly unitOfEntry: Int32Array;
  /** Units without an embedding. */
  readonly waiting: number;
}

const alignments = new WeakMap<UnitTable, { readonly map: PassageMap; readonly alignment: Alignment }>();

/** Searches of a store that has not changed share it. */
async function alignUnits(units: UnitTable, map: PassageMap, slice: TimeSlice): Promise<Alignment> {
  const known = alignments.get(units);
  if (known?.map === map && known.alignment.entries === map.count) return known.alignment;
  const alignment = await runInSlices(align(units, map), slice);
  alignments.set(units, { map, alignment });
  return alignment;
}

function* align(units: UnitTable, map: PassageMap): InterruptibleWork<Alignment> {
  const entries = map.count;
  const { order, starts } = yield* orderUnits(units);
  const groups = new Map<number, number>();
  for (const [index, number] of units.groupNumbers.entries()) groups.set(number, index);
  const entryOfUnit = new Int32Array(units.count).fill(-1);
  const unitOfEntry = new Int32Array(entries).fill(-1);
  let waiting = units.count;
  for (let entry = 0; entry < entries; entry++) {
    if (entry % BLOCK === BLOCK - 1) yield;
    const group = groups.get(map.groups[entry] ?? 0);
    if (group === undefined) continue;
    const unit = findUnit(units, order, starts, group, map.numbers[entry] ?? 0, map.parts[entry] ?? 0);
    if (unit === -1) continue;
    // A later entry of the same passage is the one that is there.
    const before = entryOfUnit[unit] ?? -1;
    if (before === -1) waiting -= 1;
    else unitOfEntry[before] = -1;
    entryOfUnit[unit] = entry;
    unitOfEntry[entry] = unit;
  }
  return { entries, entryOfUnit, unitOfEntry, waiting };
}

interface UnitOrder {
  /** Units by group, and within a group by item and part. */
  readonly order: Int32Array;
  /** Where each group begins in it. */
  readonly starts: Int32Array;
}

function* orderUnits({ count, group, groupNumbers, previous, next }: UnitTable): InterruptibleWork<UnitOrder> {
  const starts = new Int32Array(groupNumbers.length + 1);
  const heads = new Int32Array(groupNumbers.length).fill(-1);
  for (let unit = 0; unit < count; unit++) {
    if (unit % BLOCK === BLOCK - 1) yield;
    const of = group[unit] ?? 0;
    starts[of + 1] = (starts[of + 1] ?? 0) + 1;
    if ((previous[unit] ?? -1) === -1) heads[of] = unit;
  }
  const order = new Int32Array(count);
  for (let of = 0; of < heads.length; of++) {
    let at = starts[of] ?? 0;
    starts[of + 1] = (starts[of + 1] ?? 0) + at;
    for (let unit = heads[of] ?? -1; unit !== -1; unit = next[unit] ?? -1) {
      order[at++] = unit;
      if (at % BLOCK === BLOCK - 1) yield;
    }
  }
  return { order, starts };
}

function findUnit(
  { item, part }: UnitTable,
  order: Int32Array,
  starts: Int32Array,
  group: number,
  wantedItem: number,
  wantedPart: number,
): number {
  let low = starts[group] ?? 0;
  let high = (starts[group + 1] ?? 0) - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const unit = order[middle] ?? 0;
    const difference = (item[unit] ?? 0) - wantedItem || (part[unit] ?? 0) - wantedPart;
    if (difference === 0) return unit;
    if (difference < 0) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

export interface UnitVectors {
  /** Units of the snapshot without an embedding. */
  readonly waiting: number;
  /** See ScoreSpread. */
  readonly floor: number;
  /** About the nearest units that are allowed, nearest first. */
  nearest(count: number, allowed: Uint8Array | null): Promise<readonly number[]>;
  /** The exact scores of units; one without an embedding has none. */
  scoresOf(units: readonly number[]): Promise<ReadonlyMap<number, number>>;
}

export async function readUnitVectors(
  units: UnitTable,
  passages: ScoredPassages,
  question: Float32Array,
  beside: VectorsBeside,
  slice: TimeSlice,
): Promise<UnitVectors> {
  const { entryOfUnit, unitOfEntry, waiting } = await alignUnits(units, passages.map, slice);
  const own = new Float32Array(units.count).fill(Number.NaN);
  await passages.estimateAll(question, (entry, score) => {
    const unit = unitOfEntry[entry] ?? -1;
    if (unit !== -1) own[unit] = score;
  });
  const spread = new ScoreSpread();
  const estimates = await runInSlices(addNeighbours(units, own, beside.marks, spread), slice);
  return {
    waiting,
    floor: spread.floor,
    nearest: (count, allowed) => runInSlices(bestUnits(estimates, count, allowed), slice),
    scoresOf: async (wanted) => {
      const around = new Set(wanted.flatMap((unit) => [unit, units.previous[unit] ?? -1, units.next[unit] ?? -1]));
      const entries = [...around].flatMap((unit) => {
        const entry = entryOfUnit[unit] ?? -1;
        return entry === -1 ? [] : [entry];
      });
      const counts = await beside.readCheck(wanted);
      const exact = await passages.exactScores(question, entries);
      const scoreOf = (unit: number) => exact.get(entryOfUnit[unit] ?? -1) ?? Number.NaN;
      const scores = new Map<number, number>();
      for (const unit of wanted) {
        const score = withNeighbours(units, scoreOf, unit, counts);
        if (!Number.isNaN(score)) scores.set(unit, score);
      }
      return scores;
    },
  };
}

function withNeighbours(
  { previous, next }: UnitTable,
  scoreOf: (unit: number) => number,
  unit: number,
  counts: BesideCheck,
): number {
  const scoreBeside = (other: number) => (other !== -1 && counts(unit, other) ? scoreOf(other) : Number.NaN);
  const before = scoreBeside(previous[unit] ?? -1);
  const after = scoreBeside(next[unit] ?? -1);
  let sum = scoreOf(unit);
  let count = 0;
  if (!Number.isNaN(before)) {
    sum += NEIGHBOUR_SHARE * before;
    count += 1;
  }
  if (!Number.isNaN(after)) {
    sum += NEIGHBOUR_SHARE * after;
    count += 1;
  }
  return sum / (LENGTHS[count] ?? 1);
}

function* addNeighbours(
  units: UnitTable,
  own: Float32Array,
  marks: Uint8Array | null,
  spread: ScoreSpread,
): InterruptibleWork<Float32Array> {
  const estimates = new Float32Array(units.count);
  const counts: BesideCheck = marks === null ? () => true : (_, beside) => marks[beside] === 1;
  const scoreOf = (unit: number) => own[unit] ?? Number.NaN;
  for (let unit = 0; unit < units.count; unit++) {
    if (unit % BLOCK === BLOCK - 1) yield;
    const score = withNeighbours(units, scoreOf, unit, counts);
    estimates[unit] = score;
    if (!Number.isNaN(score)) spread.add(score);
  }
  return estimates;
}

function* bestUnits(
  estimates: Float32Array,
  count: number,
  allowed: Uint8Array | null,
): InterruptibleWork<readonly number[]> {
  const best = new BestRows(count);
  for (let unit = 0; unit < estimates.length; unit++) {
    if (unit % BLOCK === BLOCK - 1) yield;
    const score = estimates[unit] ?? Number.NaN;
    if (Number.isNaN(score) || score < best.worstKey || (allowed !== null && allowed[unit] !== 1)) continue;
    best.offer(score, unit);
  }
  return best.sorted().map(({ row }) => row);
}
