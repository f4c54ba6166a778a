// Numbers for the items of a snapshot, so that what holds of a whole item is found through any of its units.
import type { InterruptibleWork } from "../../core/time-slice.ts";
import type { UnitTable } from "./reader.ts";

export interface ItemNumbers {
  readonly count: number;
  /** Of each unit the number of its item, 0 to count - 1. */
  readonly ofUnit: Int32Array;
}

const known = new WeakMap<UnitTable, ItemNumbers>();
const BLOCK = 16_384;

export function* itemNumbers(units: UnitTable): InterruptibleWork<ItemNumbers> {
  const found = known.get(units);
  if (found !== undefined) return found;
  const ofUnit = new Int32Array(units.count);
  let count = 0;
  for (let first = 0; first < units.count; first++) {
    if ((units.previous[first] ?? -1) !== -1) continue;
    let steps = 0;
    for (let unit = first; unit !== -1; unit = units.next[unit] ?? -1) {
      const before = units.previous[unit] ?? -1;
      if (before === -1 || units.item[before] !== units.item[unit]) count += 1;
      ofUnit[unit] = count - 1;
      steps += 1;
      if (steps % BLOCK === 0) yield;
    }
    if (first % BLOCK === 0) yield;
  }
  const numbers = { count, ofUnit };
  known.set(units, numbers);
  return numbers;
}
