// What a search reads of the text index: the units of one kind at one moment, and their postings. Numbers of units are positions in
// a snapshot and mean nothing outside of it. Counts of units and of postings are of what is indexed or pending at that moment,
// however it is spread over segments, so that no score depends on merging or on the engine.

/** Messages of sessions, memories of scopes, documents. */
export type IndexKind = "messages" | "memories" | "documents";

/**
 * The columns of units 0 to count - 1. Columns may be longer than that. A unit is a passage of an item, and an item belongs to a
 * group: a message to its session, a memory to its scope; a document is its own group.
 */
export interface UnitTable {
  readonly count: number;
  /** The index of a unit's group. */
  readonly group: Int32Array;
  /** The numbers of the groups: numbers of sessions, scopes, documents. */
  readonly groupNumbers: Float64Array;
  /** By the index of the group: words of all its units. */
  readonly groupWords: Float64Array;
  /** The units before and after a unit in its group, in the order of items and their passages; -1 at an end. */
  readonly previous: Int32Array;
  readonly next: Int32Array;
  /** 1 for each unit of which a neighbour, one or two away, is not as far away by number. */
  readonly isFarLinked: Uint8Array;
  /** The number of a unit's item in its group: the seq of a message. */
  readonly item: Uint32Array;
  /** The number of the passage in its item, from 0. */
  readonly part: Uint32Array;
  /** Words of the passage. */
  readonly words: Uint16Array;
  /** When the item happened, in minutes since 1970. */
  readonly minutes: Uint32Array;
  /** What the kind keeps in the unit itself: of messages the role, see ROLES. */
  readonly flags: Uint8Array;
}

/** The flags of a message's units: the position of its role in this list. */
export const ROLES = ["user", "assistant", "system", "tool", "developer"] as const;

export interface PostingList {
  readonly term: string;
  /** Columns of postings 0 to count - 1. */
  readonly count: number;
  /** Unit numbers, ascending. */
  readonly units: Int32Array;
  /** What the unit's own text contributes: 1 to 255 (ranking/impact.ts); of a field term always 1. */
  readonly impacts: Uint8Array;
}

export interface IndexSnapshot {
  readonly kind: IndexKind;
  readonly units: UnitTable;
  /** Items with at least one unit. */
  readonly itemCount: number;
  /** In the order of the terms, one list for each; the list of a term that no unit has is empty. */
  readPostings(terms: readonly string[]): Promise<readonly PostingList[]>;
  /**
   * At most `limit` terms with this prefix, those of most units first, then by UTF-8 bytes. Of more than PREFIX_TERMS_READ_MAX, the
   * first of those by bytes are compared. Field terms are not among them.
   */
  termsWithPrefix(prefix: string, limit: number): Promise<readonly string[]>;
}

export const PREFIX_TERMS_READ_MAX = 1024;

/** Begins the terms of fields. No text has such a term, because it is no letter. */
export const FIELD_MARK = "\u0001";

/** The term that units of items with this value of a field have. Filters are postings like words. */
export function fieldTerm(field: string, value: string): string {
  return `${FIELD_MARK}${field}:${value.slice(0, FIELD_VALUE_MAX).toWellFormed()}`;
}

/** Code units of a value that an index entry holds; longer values with the same beginning share an entry. */
const FIELD_VALUE_MAX = 256;
