// A stored segment as a part of a snapshot. Its units and the list of its pages are read once for each version, its pages of terms
// when a search needs them; both stay in memory as long as there is room.
import type { HoldfastError } from "../../contracts/errors.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { encodeText } from "../../core/bytes.ts";
import { runInSlices } from "../../core/time-slice.ts";
import { damagedPage, verifyPage } from "./byte-stream.ts";
import { directorySum } from "./directory.ts";
import type { PageCache } from "./page-cache.ts";
import { isPrefixedTerm, type PartPostings, type SnapshotPart, type TermCount } from "./parts.ts";
import { FIELD_MARK, type IndexKind } from "./reader.ts";
import { REMOVED_PAGE } from "./segment.ts";
import { searchSlice } from "./slice.ts";
import { StaleSnapshot } from "./stale.ts";
import type { SegmentRecord } from "./state.ts";
import { damagedIndex } from "./structure.ts";
import { findPostings, readTermCounts } from "./term-pages.ts";
import { compareTerms } from "./terms.ts";
import { countItems } from "./unit-columns.ts";
import { decodeUnitPages, type LiveUnits, withoutRemoved } from "./unit-pages.ts";

/** The first page that may have a term is before the first one that begins with a later term. */
interface PageEntry {
  readonly page: number;
  readonly first: string;
}

/** What is kept of a segment in memory. */
export interface LoadedSegment extends LiveUnits {
  readonly record: SegmentRecord;
  /** Pages of terms, in their order. */
  readonly directory: readonly PageEntry[];
}

const PAGES_PER_READ = 64;

export async function loadSegment(storage: Storage, kind: IndexKind, record: SegmentRecord): Promise<LoadedSegment> {
  const slice = searchSlice(storage.environment);
  const contents: Uint8Array[] = [];
  let removed: Uint8Array | null = null;
  for await (const { page, body } of readPages(storage, kind, record, REMOVED_PAGE, 0)) {
    if (page === REMOVED_PAGE) removed = verifyPage(body);
    else contents.push(verifyPage(body));
    if (slice.isSpent) await slice.pause();
  }
  const { segment, version } = record;
  const pages = await storage.query("index.directory", { kind, segment, version });
  // Items of other kinds say themselves in which segment they are.
  const [covered] = kind === "messages" ? [] : await storage.query("index.itemCount", { kind, segment });
  // Asked last: then all that was read before is of this version.
  const [current] = await storage.query("index.version", { kind, segment });
  if (current?.version !== version) throw new StaleSnapshot();
  if (directorySum(pages) !== record.directory)
    throw damagedSegment(kind, record, "a page of terms is missing or wrong");
  if (covered !== undefined && covered.items < record.items)
    throw damagedSegment(kind, record, "items of it are elsewhere");
  const directory = pages.map(({ page, first }) => ({ page, first: Buffer.from(first).toString("utf8") }));
  // Their numbers go downwards.
  contents.reverse();
  const columns = await runInSlices(decodeUnitPages(contents, record.units), slice);
  const live = withoutRemoved(columns, removed);
  const isCounted = live.columns.count === record.units - record.removed && countItems(live.columns) === record.items;
  if (!isCounted) throw damagedSegment(kind, record, "its counts are not those of its pages");
  return { record, directory, ...live };
}

function damagedSegment(kind: IndexKind, { segment }: SegmentRecord, reason: string): HoldfastError {
  return damagedIndex(kind, `segment ${segment}: ${reason}`);
}

export interface StoredPage {
  readonly page: number;
  readonly first: Uint8Array;
  readonly body: Uint8Array;
}

/** The pages from a number on, before another, in the order of their numbers. */
export async function* readPages(
  storage: Storage,
  kind: IndexKind,
  { segment, version }: SegmentRecord,
  from: number,
  before: number,
): AsyncGenerator<StoredPage, void, void> {
  for (let next = from; ; ) {
    const rows = await storage.query("index.pages", {
      kind,
      segment,
      version,
      from: next,
      before,
      limit: PAGES_PER_READ,
    });
    yield* rows;
    if (rows.length < PAGES_PER_READ) return;
    next = (rows.at(-1)?.page ?? before) + 1;
  }
}

export function segmentPart(storage: Storage, kind: IndexKind, loaded: LoadedSegment, cache: PageCache): SnapshotPart {
  const { columns, numbers, directory, record } = loaded;
  const readPage = ({ page, first }: PageEntry) =>
    cache.read({ kind, segment: record.segment, version: record.version, page, first }, storage);
  return {
    columns,
    itemCount: record.items,
    readPostings: (terms) => Promise.all(terms.map((term) => readTerm(term, directory, numbers, readPage))),
    readTerms: (prefix, limit) => readTerms(prefix, limit, directory, readPage),
  };
}

type ReadPage = (entry: PageEntry) => Promise<Uint8Array>;

async function readTerm(
  term: string,
  directory: readonly PageEntry[],
  numbers: Int32Array | null,
  readPage: ReadPage,
): Promise<PartPostings | null> {
  const bytes = encodeText(term);
  const found: PartPostings[] = [];
  const { from, to } = pagesOf(directory, term);
  const contents = await Promise.all(directory.slice(from, to).map(readPage));
  for (const content of contents) {
    const postings = findPostings(content, bytes);
    if (postings !== null) found.push(postings);
  }
  if (found.length === 0) return null;
  const joined = joinLists(found);
  if (numbers === null) return joined;
  const { units } = joined;
  for (let at = 0; at < units.length; at++) {
    const unit = numbers[units[at] ?? 0] ?? -1;
    if (unit === -1) throw damagedPage();
    units[at] = unit;
  }
  return joined;
}

function joinLists(lists: readonly PartPostings[]): PartPostings {
  const [only] = lists;
  if (only !== undefined && lists.length === 1) return only;
  const count = lists.reduce((sum, { units }) => sum + units.length, 0);
  const joined = { units: new Int32Array(count), impacts: new Uint8Array(count) };
  let at = 0;
  for (const { units, impacts } of lists) {
    joined.units.set(units, at);
    joined.impacts.set(impacts, at);
    at += units.length;
  }
  return joined;
}

/** The pages that may have the term: those that begin with it, and the last one that begins with an earlier term. */
function pagesOf(directory: readonly PageEntry[], term: string): { readonly from: number; readonly to: number } {
  const firstFrom = lowerBound(directory, (first) => compareTerms(first, term) >= 0);
  const to = lowerBound(directory, (first) => compareTerms(first, term) > 0);
  return { from: Math.max(0, firstFrom - 1), to };
}

/** The first entry of which the condition holds; it holds for all after one. */
function lowerBound(directory: readonly PageEntry[], holds: (first: string) => boolean): number {
  let low = 0;
  let high = directory.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(directory[middle]?.first ?? "")) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The terms of fields are before all others. */
const AFTER_FIELDS = String.fromCharCode(FIELD_MARK.charCodeAt(0) + 1);

async function readTerms(
  prefix: string,
  limit: number,
  directory: readonly PageEntry[],
  readPage: ReadPage,
): Promise<readonly TermCount[]> {
  const counts = new Map<string, number>();
  const start = prefix === "" ? AFTER_FIELDS : prefix;
  for (let at = pagesOf(directory, start).from; at < directory.length; at++) {
    const entry = directory[at] as PageEntry;
    if (compareTerms(entry.first, start) > 0 && !isPrefixedTerm(entry.first, prefix)) break;
    let isBeyond = false;
    for (const [bytes, count] of readTermCounts(await readPage(entry))) {
      const term = Buffer.from(bytes).toString("utf8");
      if (isPrefixedTerm(term, prefix)) {
        const known = counts.get(term);
        if (known === undefined && counts.size === limit) isBeyond = true;
        else counts.set(term, (known ?? 0) + count);
      } else if (compareTerms(term, start) > 0) isBeyond = true;
      if (isBeyond) break;
    }
    if (isBeyond) break;
  }
  return [...counts].map(([term, count]) => ({ term, count }));
}
