// Items that no segment has yet: their texts are tokenised when they are first read, and the units are kept in memory.
import { runInSlices, type TimeSlice } from "../../core/time-slice.ts";
import type { TextLanguage } from "../text/stem.ts";
import { isPrefixedTerm, type PartPostings, type SnapshotPart, type TermCount } from "./parts.ts";
import { compareTerms } from "./terms.ts";
import { columnsOf, compareUnits, countItems } from "./unit-columns.ts";
import { toMinutes, type UnitRecord } from "./unit-table.ts";
import { type IndexItem, readUnits } from "./units.ts";

export interface PendingUnit extends UnitRecord {
  /** Impacts by term, fields included. */
  readonly terms: ReadonlyMap<string, number>;
}

/** The units of an item. A long text takes several slices. */
export async function unitsOf(
  item: IndexItem,
  language: TextLanguage,
  slice: TimeSlice,
): Promise<readonly PendingUnit[]> {
  return runInSlices(cutUnits(item, language), slice);
}

function* cutUnits(item: IndexItem, language: TextLanguage): Generator<void, readonly PendingUnit[], void> {
  const units: PendingUnit[] = [];
  const { group, flags } = item;
  const minutes = toMinutes(item.at);
  for (const { part, words, terms } of readUnits(item, language)) {
    units.push({ group, item: item.item, part, words, minutes, flags, terms });
    yield;
  }
  return units;
}

export function pendingPart(unsorted: readonly PendingUnit[]): SnapshotPart {
  const units = unsorted.toSorted(compareUnits);
  const columns = columnsOf(units);
  return {
    columns,
    itemCount: countItems(columns),
    readPostings: async (terms) => terms.map((term) => postingsOf(units, term)),
    readTerms: async (prefix, limit) => termsWith(units, prefix, limit),
  };
}

function postingsOf(units: readonly PendingUnit[], term: string): PartPostings | null {
  const found: number[] = [];
  const impacts: number[] = [];
  for (const [unit, { terms }] of units.entries()) {
    const impact = terms.get(term);
    if (impact === undefined) continue;
    found.push(unit);
    impacts.push(impact);
  }
  return found.length === 0 ? null : { units: Int32Array.from(found), impacts: Uint8Array.from(impacts) };
}

function termsWith(units: readonly PendingUnit[], prefix: string, limit: number): readonly TermCount[] {
  const counts = new Map<string, number>();
  for (const { terms } of units) {
    for (const term of terms.keys()) if (isPrefixedTerm(term, prefix)) counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  return [...counts]
    .sort(([a], [b]) => compareTerms(a, b))
    .slice(0, limit)
    .map(([term, count]) => ({ term, count }));
}
