// How long groups are: a term must be more often in a long session to say as much about it.
import type { InterruptibleWork } from "../../core/time-slice.ts";
import type { UnitTable } from "../index/reader.ts";
import { ONE } from "./weights.ts";

/** BM25's k1, in 64ths as frequencies are, and its b. */
const SATURATION = 2 * ONE;
const LENGTH_SHARE = 0.75;
const UNITS_PER_STEP = 32_768;

const known = new WeakMap<UnitTable, Float64Array>();

/** How often a term must be in each group for half of the score. */
export function* groupHalves(units: UnitTable): InterruptibleWork<Float64Array> {
  const found = known.get(units);
  if (found !== undefined) return found;
  const { group, words, count } = units;
  const lengths = new Float64Array(units.groupNumbers.length);
  for (let unit = 0; unit < count; unit++) {
    const index = group[unit] ?? 0;
    lengths[index] = (lengths[index] ?? 0) + (words[unit] ?? 0);
    if (unit % UNITS_PER_STEP === UNITS_PER_STEP - 1) yield;
  }
  const mean = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
  const halves = lengths.map((length) => SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / Math.max(1, mean)));
  known.set(units, halves);
  return halves;
}
