// The messages of a lineage as they were at its end, for recorded reads of runs and for views of a head. Messages that were
// erased later are included without their content; the caller decides what to show in their place.
import { HoldfastError } from "../contracts/errors.ts";
import type { MessageAt, View } from "../contracts/lineage.ts";
import type { MessageAtRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { MessageRow, SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { checkInt, checkLimit, checkOptionalId, checkRecord } from "../core/check.ts";
import { decodeRow, oneOf, whole } from "../core/decode.ts";
import {
  isHidden,
  type LineageStretch,
  type LinePosition,
  lineageAt,
  nextWidth,
  readLineageAt,
  type StretchRead,
  stretchesAfter,
} from "../core/lineage.ts";
import { PageSize } from "../core/page-size.ts";
import { rowId } from "../core/row-id.ts";
import type { TimeSlice } from "../core/time-slice.ts";
import { ROLES } from "./append.ts";
import { readRows } from "./messages.ts";
import type { CheckedRange } from "./read.ts";

/**
 * Pages are read from the newest back. The first ones are short, because most callers need only the last few messages.
 */
const FIRST_PAGE = 64;

interface HistorySelection {
  readonly session: string;
  /** Only messages of this agent; undefined: of every agent. */
  readonly agent: string | undefined;
  readonly range: CheckedRange;
}

/** Oldest first. */
export async function historyRowsAt(
  storage: Storage,
  lineage: readonly LineageStretch[],
  { session, agent, range }: HistorySelection,
): Promise<readonly MessageAtRow[]> {
  const { after, run, since, last } = range;
  const stretches = stretchesAfter(lineage, session, after);
  const isChosen = (stretch: LineageStretch, row: MessageAtRow) =>
    (agent === undefined || row.agent === agent) &&
    (run === undefined || row.run === run) &&
    row.at >= since &&
    !isHidden(stretch, row);
  return last === undefined
    ? readForward(storage, stretches, range, isChosen)
    : readBack(storage, stretches, last, isChosen);
}

/** Events of a stretch's log, after one seq up to another. */
interface RowWindow {
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
}

/** The first messages of a window, oldest first. */
export function readRowsAt(
  storage: Storage,
  { no, branch, horizon }: LineageStretch,
  window: RowWindow,
): Promise<readonly MessageAtRow[]> {
  return storage.query("messages.at", { session: no, branch, erasedAfter: horizon, ...window });
}

/** The last messages of a window, oldest first. */
export function readLastRowsAt(
  storage: Storage,
  { no, branch, horizon }: LineageStretch,
  window: RowWindow,
): Promise<readonly MessageAtRow[]> {
  return storage.query("messages.lastAt", { session: no, branch, erasedAfter: horizon, ...window });
}

type RowFilter = (stretch: LineageStretch, row: MessageAtRow) => boolean;

async function readForward(
  storage: Storage,
  stretches: readonly StretchRead[],
  { limit, offset }: CheckedRange,
  isChosen: RowFilter,
): Promise<readonly MessageAtRow[]> {
  const found: MessageAtRow[] = [];
  const page = new PageSize();
  for (const { stretch, after: first } of stretches.toReversed()) {
    const { upTo } = stretch;
    for (let after = first; ; ) {
      const size = Math.min(page.rows, Math.max(FIRST_PAGE, limit + offset - found.length));
      const rows = await readRowsAt(storage, stretch, { after, upTo, limit: size });
      page.adjust(rows);
      for (const row of rows) if (isChosen(stretch, row)) found.push(row);
      if (found.length >= limit + offset) return found.slice(offset, offset + limit);
      if (rows.length < size) break;
      after = rows.at(-1)?.seq ?? after;
    }
  }
  return found.slice(offset);
}

async function readBack(
  storage: Storage,
  stretches: readonly StretchRead[],
  last: number,
  isChosen: RowFilter,
): Promise<readonly MessageAtRow[]> {
  const pages: (readonly MessageAtRow[])[] = [];
  const page = new PageSize();
  let found = 0;
  let most = Math.max(FIRST_PAGE, last);
  for (const { stretch, after } of stretches) {
    for (let { upTo } = stretch; found < last; ) {
      const size = Math.min(page.rows, most);
      const rows = await readLastRowsAt(storage, stretch, { after, upTo, limit: size });
      page.adjust(rows);
      const chosen = rows.filter((row) => isChosen(stretch, row));
      pages.push(chosen);
      found += chosen.length;
      if (rows.length < size) break;
      upTo = (rows[0]?.seq ?? 1) - 1;
      most *= 2;
    }
  }
  return pages.reverse().flat().slice(-last);
}

/** All of them, oldest first. */
export async function messageRowsAt(
  storage: Storage,
  lineage: readonly LineageStretch[],
): Promise<readonly MessageAtRow[]> {
  const all: MessageAtRow[] = [];
  for (const stretch of lineage.toReversed()) for (const row of await readAll(storage, stretch)) all.push(row);
  return all;
}

/** The last messages, oldest first. The lineage is read only as far as needed. */
async function lastRowsAt(storage: Storage, at: LinePosition, last: number): Promise<readonly MessageAtRow[]> {
  const lineage = readLineageAt(storage, at);
  let found: readonly MessageAtRow[] = [];
  for (let width = 1, stretches = 0; found.length < last; stretches += width) {
    width = nextWidth(last, found.length, stretches, width);
    const window = await lineage.take(width);
    if (window.length === 0) break;
    const older = await Promise.all(window.map((stretch) => readLast(storage, stretch, last - found.length)));
    found = [...older.reverse().flat(), ...found];
  }
  return found.slice(-last);
}

/** The rows of a range of messages in the lineage that ends at a position of `session`, without reading content. */
export async function messageRowsIn(
  storage: Storage,
  at: LinePosition,
  session: string,
  range: NonNullable<Parameters<View["messages"]>[0]> | undefined,
): Promise<readonly MessageAtRow[]> {
  const { agent, after, limit, offset, last } = checkRange(range);
  if (last !== undefined && after === 0 && agent === undefined) return lastRowsAt(storage, at, last);
  const stretches = stretchesAfter(await lineageAt(storage, at), session, after);
  const found: MessageAtRow[] = [];
  for (const { stretch, after: first } of stretches.toReversed()) {
    const isAll = agent === undefined && last === undefined && stretch.hides.length === 0;
    const most = isAll ? limit + offset - found.length : FOREVER;
    for await (const rows of pagesOf(storage, stretch, first, most)) {
      for (const row of rows) if (agent === undefined || row.agent === agent) found.push(row);
      if (last !== undefined) found.splice(0, found.length - last);
      else if (found.length >= limit + offset) return found.slice(offset, offset + limit);
    }
  }
  return last === undefined ? found.slice(offset) : found;
}

const FOREVER = Number.MAX_SAFE_INTEGER;

function checkRange(range: NonNullable<Parameters<View["messages"]>[0]> | undefined) {
  const given = checkRecord(range, "range", ["agent", "after", "limit", "offset", "last"]);
  const last = given.last === undefined ? undefined : checkLimit(given.last, "historyPage", "last");
  if (last !== undefined && (given.limit !== undefined || given.offset !== undefined)) {
    throw new HoldfastError("InvalidArgument", "a range has either `last`, or `limit` and `offset`, not both");
  }
  const whole = (name: string) => (given[name] === undefined ? 0 : checkInt(given[name], name, 0, FOREVER));
  return {
    agent: checkOptionalId(given.agent, "agent"),
    after: typeof given.after === "string" ? given.after : whole("after"),
    limit: given.limit === undefined ? FOREVER : checkLimit(given.limit, "historyPage"),
    offset: whole("offset"),
    last,
  };
}

/** The messages of a stretch after a seq. */
export async function readAll(storage: Storage, stretch: LineageStretch, from = 0): Promise<readonly MessageAtRow[]> {
  const all: MessageAtRow[] = [];
  for await (const rows of pagesOf(storage, stretch, from, FOREVER)) for (const row of rows) all.push(row);
  return all;
}

async function* pagesOf(
  storage: Storage,
  stretch: LineageStretch,
  from: number,
  most: number,
): AsyncGenerator<readonly MessageAtRow[]> {
  const { upTo } = stretch;
  const page = new PageSize();
  for (let after = from; ; ) {
    const size = Math.min(page.rows, most);
    const rows = await readRowsAt(storage, stretch, { after, upTo, limit: size });
    page.adjust(rows);
    yield rows.filter((row) => !isHidden(stretch, row));
    if (rows.length < size) return;
    after = rows.at(-1)?.seq ?? after;
  }
}

async function readLast(storage: Storage, stretch: LineageStretch, last: number): Promise<readonly MessageAtRow[]> {
  if (stretch.hides.length > 0) return (await readAll(storage, stretch)).slice(-last);
  const pages: (readonly MessageAtRow[])[] = [];
  const page = new PageSize();
  for (let [upTo, left] = [stretch.upTo, last]; left > 0; ) {
    const size = Math.min(page.rows, left);
    const rows = await readLastRowsAt(storage, stretch, { after: 0, upTo, limit: size });
    page.adjust(rows);
    pages.push(rows);
    if (rows.length < size) break;
    left -= rows.length;
    upTo = (rows[0]?.seq ?? 1) - 1;
  }
  return pages.reverse().flat();
}

/** The last messages of a session at its current position, without erased ones. */
export async function lastMessageRows(
  storage: Storage,
  session: SessionRow,
  last: number,
): Promise<readonly MessageAtRow[]> {
  for (let asked = last; ; asked *= 2) {
    const rows = await lastRowsAt(storage, session, asked);
    const live = rows.filter((row) => row.erased_seq === null);
    if (live.length >= last || rows.length < asked) return live.slice(-last);
  }
}

export async function messagesOf(
  rows: readonly MessageAtRow[],
  payloads: Payloads,
  slice: TimeSlice,
): Promise<readonly MessageAt[]> {
  const messages: MessageAt[] = [];
  for (const row of rows) {
    if (row.erased_seq === null) messages.push(...(await readRows([row as MessageRow], payloads, slice)));
    else messages.push(placeholder(row));
  }
  return messages;
}

function placeholder(row: MessageAtRow): MessageAt {
  const { session, agent } = row;
  const { seq, role, at } = decodeRow({ kind: "message", session, seq: row.seq }, row, {
    seq: whole,
    role: oneOf(ROLES),
    at: whole,
  });
  return { id: rowId(session, seq), session, agent, seq, role, at, erased: true };
}
