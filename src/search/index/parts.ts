// A snapshot is made of parts: segments, and what is not in a segment yet. Each part has its own unit numbers; the snapshot numbers
// the units of its parts one after the other.

import { PostingCache } from "./posting-cache.ts";
import {
  FIELD_MARK,
  type IndexKind,
  type IndexSnapshot,
  type PostingList,
  PREFIX_TERMS_READ_MAX,
  type UnitTable,
} from "./reader.ts";
import { compareTerms } from "./terms.ts";
import { joinUnits, type UnitColumns } from "./unit-columns.ts";

/** The postings of a term in one part: unit numbers of the part, ascending. */
export interface PartPostings {
  readonly units: Int32Array;
  readonly impacts: Uint8Array;
}

export interface TermCount {
  readonly term: string;
  readonly count: number;
}

export interface SnapshotPart {
  readonly columns: UnitColumns;
  readonly itemCount: number;
  /** In the order of the terms; null: no unit of the part has the term. */
  readPostings(terms: readonly string[]): Promise<readonly (PartPostings | null)[]>;
  /** The first terms by bytes that begin with the prefix, at most `limit`, and no field terms. */
  readTerms(prefix: string, limit: number): Promise<readonly TermCount[]>;
}

export function joinParts(kind: IndexKind, parts: readonly SnapshotPart[]): IndexSnapshot {
  const cache = new PostingCache();
  return {
    kind,
    units: joinColumns(parts.map(({ columns }) => columns)),
    itemCount: parts.reduce((sum, { itemCount }) => sum + itemCount, 0),
    readPostings: async (terms) => {
      const lists = new Map(terms.map((term) => [term, cache.get(term)]));
      const missing = [...lists.keys()].filter((term) => lists.get(term) === undefined);
      const found = missing.length === 0 ? [] : await Promise.all(parts.map((part) => part.readPostings(missing)));
      for (const [at, term] of missing.entries()) {
        const list = joinPostings(term, parts, (part) => found[part]?.[at] ?? null);
        cache.add(list);
        lists.set(term, list);
      }
      return terms.map((term) => lists.get(term) ?? joinPostings(term, [], () => null));
    },
    termsWithPrefix: async (prefix, limit) => {
      const counts = new Map<string, number>();
      for (const terms of await Promise.all(parts.map((part) => part.readTerms(prefix, PREFIX_TERMS_READ_MAX)))) {
        for (const { term, count } of terms) counts.set(term, (counts.get(term) ?? 0) + count);
      }
      return [...counts]
        .sort(([a], [b]) => compareTerms(a, b))
        .slice(0, PREFIX_TERMS_READ_MAX)
        .sort(([a, inA], [b, inB]) => inB - inA || compareTerms(a, b))
        .slice(0, limit)
        .map(([term]) => term);
    },
  };
}

interface JoinedTable {
  readonly of: readonly UnitColumns[];
  readonly units: UnitTable;
}

const joined = new WeakMap<UnitColumns, JoinedTable>();

/**
 * Searches of an index that has not changed share one table: it is as long as the index, and rankings keep columns of their own
 * for it.
 */
function joinColumns(columns: readonly UnitColumns[]): UnitTable {
  const [first] = columns;
  const known = first === undefined ? undefined : joined.get(first);
  if (known?.of.length === columns.length && known.of.every((one, at) => one === columns[at])) return known.units;
  const units = joinUnits(columns);
  if (first !== undefined) joined.set(first, { of: columns, units });
  return units;
}

function joinPostings(
  term: string,
  parts: readonly SnapshotPart[],
  postingsIn: (part: number) => PartPostings | null,
): PostingList {
  let count = 0;
  for (const part of parts.keys()) count += postingsIn(part)?.units.length ?? 0;
  const units = new Int32Array(count);
  const impacts = new Uint8Array(count);
  let offset = 0;
  let at = 0;
  for (const [part, { columns }] of parts.entries()) {
    const postings = postingsIn(part);
    if (postings !== null) {
      for (const unit of postings.units) units[at++] = unit + offset;
      impacts.set(postings.impacts, at - postings.units.length);
    }
    offset += columns.count;
  }
  return { term, count, units, impacts };
}

/** Whether a prefix search may find the term. */
export function isPrefixedTerm(term: string, prefix: string): boolean {
  return term.startsWith(prefix) && !term.startsWith(FIELD_MARK);
}
