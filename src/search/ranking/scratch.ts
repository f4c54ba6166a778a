// Columns as long as a snapshot, in which the scores of its units are added up. Searches of the same snapshot use them one after
// the other, because to make them anew for each would cost more than most searches.
import type { UnitTable } from "../index/reader.ts";

export interface RankingScratch {
  /** Of the term that is being added: the weighted impacts of each unit, and how often it is in each group. 0 between terms. */
  readonly sums: Int32Array;
  readonly frequencies: Float64Array;
  /** The scores of units over the terms so far. 0 between searches. */
  readonly texts: Int32Array;
  /** Units in `sums` and in `texts` that are not 0. */
  readonly summed: UnitList;
  readonly scored: UnitList;
}

/** A list of units that keeps its memory. */
class UnitList {
  items = new Int32Array(1024);
  length = 0;

  push(unit: number): void {
    if (this.length === this.items.length) {
      const longer = new Int32Array(this.length * 2);
      longer.set(this.items);
      this.items = longer;
    }
    this.items[this.length] = unit;
    this.length += 1;
  }
}

const free = new WeakMap<UnitTable, RankingScratch[]>();

export function takeScratch(units: UnitTable): RankingScratch {
  const reused = free.get(units)?.pop();
  if (reused !== undefined) return reused;
  return {
    sums: new Int32Array(units.count),
    frequencies: new Float64Array(units.groupNumbers.length),
    texts: new Int32Array(units.count),
    summed: new UnitList(),
    scored: new UnitList(),
  };
}

/** Only after a search that has ended: one that was interrupted leaves numbers behind. */
export function releaseScratch(units: UnitTable, scratch: RankingScratch): void {
  const { texts, scored } = scratch;
  for (let at = 0; at < scored.length; at++) texts[scored.items[at] ?? 0] = 0;
  scored.length = 0;
  const known = free.get(units);
  if (known === undefined) free.set(units, [scratch]);
  else known.push(scratch);
}
