// Units in blocks of neighbouring numbers. What a term gives to any unit of a block has a bound, so that a ranking scores the units
// of those blocks alone that can have one of the best.
import type { UnitTable } from "../index/reader.ts";

const BLOCK_BITS = 4;
/** Units of a block. */
export const BLOCK_UNITS = 1 << BLOCK_BITS;

export function blockOf(unit: number): number {
  return unit >> BLOCK_BITS;
}

export function firstUnitOf(block: number): number {
  return block << BLOCK_BITS;
}

export function countBlocks({ count }: UnitTable): number {
  return (count + BLOCK_UNITS - 1) >> BLOCK_BITS;
}

const known = new WeakMap<UnitTable, Int32Array>();
const UNITS_PER_STEP = 32_768;

/** Of each block the index of the group that all of its units belong to; -1: they belong to several. */
export function* groupsOfBlocks(units: UnitTable): Generator<void, Int32Array, void> {
  const found = known.get(units);
  if (found !== undefined) return found;
  const { group, count } = units;
  const groups = new Int32Array(countBlocks(units));
  for (let first = 0; first < count; first += BLOCK_UNITS) {
    const end = Math.min(count, first + BLOCK_UNITS);
    const of = group[first] ?? 0;
    let unit = first + 1;
    while (unit < end && group[unit] === of) unit++;
    groups[blockOf(first)] = unit === end ? of : -1;
    if (first % UNITS_PER_STEP === 0) yield;
  }
  known.set(units, groups);
  return groups;
}
