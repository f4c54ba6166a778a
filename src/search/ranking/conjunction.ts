// The units that have all of several terms, as a list of postings: words that belong together are rarer than each of them.
import type { InterruptibleWork } from "../../core/time-slice.ts";
import type { PostingList } from "../index/reader.ts";

const BLOCK = 16_384;

/** The impact is that of the term with the least. */
export function* intersect(lists: readonly PostingList[]): InterruptibleWork<PostingList> {
  const [first, ...others] = lists.toSorted((a, b) => a.count - b.count);
  const term = lists.map((list) => list.term).join(" ");
  if (first === undefined) return { term, count: 0, units: new Int32Array(0), impacts: new Uint8Array(0) };
  let found: PostingList = first;
  for (const list of others) {
    found = pair(found, list, term);
    yield;
  }
  return { ...found, term };
}

function pair(few: PostingList, many: PostingList, term: string): PostingList {
  const units = new Int32Array(few.count);
  const impacts = new Uint8Array(few.count);
  let count = 0;
  let at = 0;
  for (let from = 0; from < few.count; from++) {
    const unit = few.units[from] ?? 0;
    at = seek(many, unit, at);
    if (at === many.count) break;
    if (many.units[at] !== unit) continue;
    units[count] = unit;
    impacts[count] = Math.min(few.impacts[from] ?? 0, many.impacts[at] ?? 0);
    count += 1;
  }
  return { term, count, units, impacts };
}

/** The first posting from `start` on with this unit or a later one: in growing steps, then by halves. */
function seek({ units, count }: PostingList, unit: number, start: number): number {
  if (start >= count || (units[start] ?? 0) >= unit) return start;
  let low = start;
  let step = 1;
  while (low + step < count && (units[low + step] ?? 0) < unit) {
    low += step;
    step *= 2;
  }
  let high = Math.min(count, low + step);
  while (low + 1 < high) {
    const middle = (low + high) >>> 1;
    if ((units[middle] ?? 0) < unit) low = middle;
    else high = middle;
  }
  return high;
}

/** The units that have any of several terms; the impact is the highest. */
export function* unite(term: string, lists: readonly PostingList[]): InterruptibleWork<PostingList> {
  const [only] = lists;
  if (only !== undefined && lists.length === 1) return only;
  let found: PostingList = { term, count: 0, units: new Int32Array(0), impacts: new Uint8Array(0) };
  // The short ones first, so that the long ones are copied once.
  for (const list of lists.toSorted((a, b) => a.count - b.count)) {
    found = join(found, list, term);
    if (found.count > BLOCK) yield;
  }
  return found;
}

function join(a: PostingList, b: PostingList, term: string): PostingList {
  const units = new Int32Array(a.count + b.count);
  const impacts = new Uint8Array(a.count + b.count);
  let count = 0;
  let i = 0;
  let j = 0;
  while (i < a.count || j < b.count) {
    const left = i < a.count ? (a.units[i] ?? 0) : Number.POSITIVE_INFINITY;
    const right = j < b.count ? (b.units[j] ?? 0) : Number.POSITIVE_INFINITY;
    units[count] = Math.min(left, right);
    impacts[count] = Math.max(left <= right ? (a.impacts[i] ?? 0) : 0, right <= left ? (b.impacts[j] ?? 0) : 0);
    if (left <= right) i += 1;
    if (right <= left) j += 1;
    count += 1;
  }
  return { term, count, units, impacts };
}
