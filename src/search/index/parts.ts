// A snapshot is made of parts: segments, and what is not in a segment yet. Each part has its own unit numbers; the snapshot numbers
// the units of its parts one after the other.

import { appendUnits, type JoinedUnits, joinUnits } from "./join-units.ts";
import { PostingCache } from "./posting-cache.ts";
import { FIELD_MARK, type IndexKind, type IndexSnapshot, type PostingList, PREFIX_TERMS_READ_MAX } from "./reader.ts";
import { compareTerms } from "./terms.ts";
import type { UnitColumns } from "./unit-columns.ts";

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

/** The segments of a snapshot. Snapshots that differ in what is pending alone share them, with the postings that were read. */
export class StoredParts {
  readonly parts: readonly SnapshotPart[];
  readonly units: JoinedUnits;
  readonly #lists = new PostingCache();

  constructor(parts: readonly SnapshotPart[]) {
    this.parts = parts;
    this.units = joinUnits(parts.map(({ columns }) => columns));
  }

  has(parts: readonly SnapshotPart[]): boolean {
    return parts.length === this.parts.length && parts.every((part, at) => part.columns === this.parts[at]?.columns);
  }

  /** In the order of the terms. */
  readPostings(terms: readonly string[]): Promise<readonly PostingList[]> {
    return readThrough(this.#lists, terms, async (missing) => {
      const found = await Promise.all(this.parts.map((part) => part.readPostings(missing)));
      return missing.map((term, at) => joinPostings(term, this.parts, (part) => found[part]?.[at] ?? null));
    });
  }
}

async function readThrough(
  cache: PostingCache,
  terms: readonly string[],
  read: (missing: readonly string[]) => Promise<readonly PostingList[]>,
): Promise<readonly PostingList[]> {
  const lists = new Map(terms.map((term) => [term, cache.get(term)]));
  const missing = [...lists.keys()].filter((term) => lists.get(term) === undefined);
  for (const list of missing.length === 0 ? [] : await read(missing)) {
    cache.add(list);
    lists.set(list.term, list);
  }
  return terms.map((term) => lists.get(term) ?? joinPostings(term, [], () => null));
}

/** `pending` is what is in no segment; its units come last. */
export function joinParts(kind: IndexKind, stored: StoredParts, pending: SnapshotPart | null): IndexSnapshot {
  const parts = pending === null ? stored.parts : [...stored.parts, pending];
  return {
    kind,
    units: pending === null ? stored.units.table : appendUnits(stored.units, pending.columns),
    itemCount: parts.reduce((sum, { itemCount }) => sum + itemCount, 0),
    readPostings: pending === null ? (terms) => stored.readPostings(terms) : readBoth(stored, pending),
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

function readBoth(stored: StoredParts, pending: SnapshotPart): IndexSnapshot["readPostings"] {
  const cache = new PostingCache();
  const offset = stored.units.table.count;
  return (terms) =>
    readThrough(cache, terms, async (missing) => {
      const [lists, found] = await Promise.all([stored.readPostings(missing), pending.readPostings(missing)]);
      return lists.map((list, at) => appendPostings(list, found[at] ?? null, offset));
    });
}

function appendPostings(list: PostingList, more: PartPostings | null, offset: number): PostingList {
  if (more === null) return list;
  const count = list.count + more.units.length;
  const units = new Int32Array(count);
  const impacts = new Uint8Array(count);
  units.set(list.units);
  impacts.set(list.impacts);
  for (const [at, unit] of more.units.entries()) units[list.count + at] = unit + offset;
  impacts.set(more.impacts, list.count);
  return { term: list.term, count, units, impacts };
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
