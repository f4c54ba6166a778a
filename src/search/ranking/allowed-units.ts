// Which units a search may find: those of groups, roles, times and fields, without items that have an excluded term, and of a phrase
// only items that have all of its words.
import type { InterruptibleWork } from "../../core/time-slice.ts";
import { itemNumbers } from "../index/item-numbers.ts";
import type { IndexSnapshot, PostingList, UnitTable } from "../index/reader.ts";

export interface UnitFilter {
  /** By the number of the group; without it, all groups. */
  readonly groups?: (groupNumber: number) => boolean;
  /** The flags of units; without it, all. */
  readonly flags?: ReadonlySet<number>;
  /** In minutes since 1970, both included. */
  readonly since?: number;
  readonly until?: number;
}

/** Lists by which units are allowed. */
export interface ListFilter {
  /** Of each of these, units of at least one list. */
  readonly required: readonly (readonly PostingList[])[];
  /** Items that have all of the terms of one of these are allowed only. */
  readonly phrases: readonly (readonly PostingList[])[];
  /** Units of none of these. */
  readonly excludedUnits: readonly PostingList[];
  /** No items of these. */
  readonly excludedItems: readonly PostingList[];
}

const BLOCK = 16_384;

/** null: all units are allowed. */
export function* allowUnits(
  { units }: IndexSnapshot,
  filter: UnitFilter,
  lists: ListFilter,
): InterruptibleWork<Uint8Array | null> {
  const { required, phrases, excludedUnits, excludedItems } = lists;
  const hasLists = [required, phrases, excludedUnits, excludedItems].some(({ length }) => length > 0);
  const hasColumns = Object.values(filter).some((one) => one !== undefined);
  if (!hasLists && !hasColumns) return null;
  const allowed = hasColumns ? yield* allowByColumns(units, filter) : new Uint8Array(units.count).fill(1);
  for (const alternatives of required) {
    const marked = new Uint8Array(units.count);
    for (const list of alternatives) yield* mark(list, marked, 1);
    for (let unit = 0; unit < units.count; unit++) if (marked[unit] === 0) allowed[unit] = 0;
    yield;
  }
  for (const list of excludedUnits) yield* mark(list, allowed, 0);
  if (phrases.length > 0 || excludedItems.length > 0) yield* allowByItems(units, allowed, phrases, excludedItems);
  return allowed;
}

function* allowByColumns(
  { count, group, groupNumbers, flags, minutes }: UnitTable,
  filter: UnitFilter,
): InterruptibleWork<Uint8Array> {
  const allowed = new Uint8Array(count);
  const { since = 0, until = Number.POSITIVE_INFINITY, groups, flags: roles } = filter;
  const ofGroup = Uint8Array.from(groupNumbers, (number) => (groups === undefined || groups(number) ? 1 : 0));
  const ofFlag = Uint8Array.from({ length: 256 }, (_, flag) => (roles === undefined || roles.has(flag) ? 1 : 0));
  for (let from = 0; from < count; from += BLOCK) {
    const to = Math.min(count, from + BLOCK);
    for (let unit = from; unit < to; unit++) {
      const minute = minutes[unit] ?? 0;
      if (minute < since || minute > until || ofFlag[flags[unit] ?? 0] === 0) continue;
      allowed[unit] = ofGroup[group[unit] ?? 0] ?? 0;
    }
    yield;
  }
  return allowed;
}

function* mark({ units, count }: PostingList, marks: Uint8Array, value: 0 | 1): InterruptibleWork<void> {
  for (let at = 0; at < count; at++) {
    marks[units[at] ?? 0] = value;
    if (at % BLOCK === BLOCK - 1) yield;
  }
}

/** An item is long enough for a phrase to begin in one of its units and to end in another. */
function* allowByItems(
  units: UnitTable,
  allowed: Uint8Array,
  phrases: ListFilter["phrases"],
  excluded: readonly PostingList[],
): InterruptibleWork<void> {
  const items = yield* itemNumbers(units);
  const needed = [...new Set(phrases.flat())];
  const found = new Uint16Array(items.count);
  // An item is at `round` after the list of that round only if it was in all lists before.
  for (const [round, list] of needed.entries()) {
    for (let at = 0; at < list.count; at++) {
      const item = items.ofUnit[list.units[at] ?? 0] ?? 0;
      if (found[item] === round) found[item] = round + 1;
      if (at % BLOCK === BLOCK - 1) yield;
    }
  }
  const isExcluded = new Uint8Array(items.count);
  for (const list of excluded) {
    for (let at = 0; at < list.count; at++) {
      isExcluded[items.ofUnit[list.units[at] ?? 0] ?? 0] = 1;
      if (at % BLOCK === BLOCK - 1) yield;
    }
  }
  for (let unit = 0; unit < units.count; unit++) {
    const item = items.ofUnit[unit] ?? 0;
    if (found[item] !== needed.length || isExcluded[item] === 1) allowed[unit] = 0;
    if (unit % BLOCK === BLOCK - 1) yield;
  }
}
