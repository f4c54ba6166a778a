// How long groups are: a term must be more often in a long session to say as much about it.
import type { UnitTable } from "../index/reader.ts";
import { ONE } from "./weights.ts";

/** BM25's k1, in 64ths as frequencies are, and its b. */
const SATURATION = 2 * ONE;
const LENGTH_SHARE = 0.75;

const known = new WeakMap<UnitTable, Float64Array>();

/** How often a term must be in each group for half of the score. */
export function groupHalves(units: UnitTable): Float64Array {
  const found = known.get(units);
  if (found !== undefined) return found;
  const lengths = units.groupWords;
  const mean = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
  const halves = lengths.map((length) => SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / Math.max(1, mean)));
  known.set(units, halves);
  return halves;
}
