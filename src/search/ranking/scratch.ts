// Columns as long as a snapshot has blocks and groups, in which a ranking adds up. Searches of the same snapshot use them one after the
// other, because to make them anew for each would cost more than most searches.
import type { UnitTable } from "../index/reader.ts";
import { countBlocks } from "./blocks.ts";

export interface RankingScratch {
  /** Of the term that is being summarized: its highest impact and the sum of its impacts in each block, and the blocks that have any. */
  readonly highest: Uint8Array;
  readonly sums: Int32Array;
  readonly blocks: NumberList;
  /** How often the term is in each group, and the groups that have it. */
  readonly frequencies: Float64Array;
  readonly groups: NumberList;
  /** Over all terms: the bound of each block, and the score of each group, and those that are not 0. */
  readonly bounds: Int32Array;
  readonly boundBlocks: NumberList;
  readonly groupScores: Int32Array;
  readonly scoredGroups: NumberList;
}

/** A list of numbers that keeps its memory. */
export class NumberList {
  items = new Int32Array(1024);
  length = 0;

  push(number: number): void {
    if (this.length === this.items.length) {
      const longer = new Int32Array(this.length * 2);
      longer.set(this.items);
      this.items = longer;
    }
    this.items[this.length] = number;
    this.length += 1;
  }

  copy(): Int32Array {
    return this.items.slice(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }
}

const free = new WeakMap<UnitTable, RankingScratch[]>();

export function takeScratch(units: UnitTable): RankingScratch {
  const reused = free.get(units)?.pop();
  if (reused !== undefined) return reused;
  const blocks = countBlocks(units);
  const groups = units.groupNumbers.length;
  return {
    highest: new Uint8Array(blocks),
    sums: new Int32Array(blocks),
    blocks: new NumberList(),
    frequencies: new Float64Array(groups),
    groups: new NumberList(),
    bounds: new Int32Array(blocks),
    boundBlocks: new NumberList(),
    groupScores: new Int32Array(groups),
    scoredGroups: new NumberList(),
  };
}

/** Only after a search that has ended: one that was interrupted leaves numbers behind. */
export function releaseScratch(units: UnitTable, scratch: RankingScratch): void {
  const { bounds, boundBlocks, groupScores, scoredGroups } = scratch;
  for (let at = 0; at < boundBlocks.length; at++) bounds[boundBlocks.items[at] ?? 0] = 0;
  for (let at = 0; at < scoredGroups.length; at++) groupScores[scoredGroups.items[at] ?? 0] = 0;
  boundBlocks.clear();
  scoredGroups.clear();
  const known = free.get(units);
  if (known === undefined) free.set(units, [scratch]);
  else known.push(scratch);
}
