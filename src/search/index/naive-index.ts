// An index of items that is made at once and never changes: plain maps, so that what it says is easy to believe. Tests compare the
// stored index with it.
import type { TextLanguage } from "../text/stem.ts";
import { FIELD_MARK, type IndexKind, type IndexSnapshot, type PostingList, PREFIX_TERMS_READ_MAX } from "./reader.ts";
import { createUnitTable, toMinutes, type UnitRecord } from "./unit-table.ts";
import { type IndexItem, readUnits } from "./units.ts";

/** Items in any order. Their units have numbers in the order of the items given. */
export function createNaiveIndex(kind: IndexKind, items: readonly IndexItem[], language: TextLanguage): IndexSnapshot {
  const records: UnitRecord[] = [];
  const postings = new Map<string, { unit: number; impact: number }[]>();
  for (const item of items) {
    for (const { part, words, terms } of readUnits(item, language)) {
      const unit = records.length;
      const { group, flags } = item;
      records.push({ group, item: item.item, part, words, minutes: toMinutes(item.at), flags });
      for (const [term, impact] of terms) {
        const list = postings.get(term);
        if (list === undefined) postings.set(term, [{ unit, impact }]);
        else list.push({ unit, impact });
      }
    }
  }
  return {
    kind,
    units: createUnitTable(records),
    itemCount: items.length,
    readPostings: async (terms) => terms.map((term) => listOf(term, postings.get(term) ?? [])),
    termsWithPrefix: async (prefix, limit) =>
      [...postings]
        .filter(([term]) => term.startsWith(prefix) && !term.startsWith(FIELD_MARK))
        .sort(([a], [b]) => compareBytes(a, b))
        .slice(0, PREFIX_TERMS_READ_MAX)
        .sort(([a, inA], [b, inB]) => inB.length - inA.length || compareBytes(a, b))
        .slice(0, limit)
        .map(([term]) => term),
  };
}

function listOf(term: string, found: readonly { unit: number; impact: number }[]): PostingList {
  return {
    term,
    count: found.length,
    units: Int32Array.from(found, ({ unit }) => unit),
    impacts: Uint8Array.from(found, ({ impact }) => impact),
  };
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
