// The messages before and after a hit, as the session shows them in which it was found.
import type { Message } from "../contracts/messages.ts";
import type { SearchNeighbour } from "../contracts/search.ts";
import type { MessageAtRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { MessageRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { isHidden, type LineageStretch } from "../core/lineage.ts";
import { messageTimeOf } from "../core/message-time.ts";
import { runInSlices, TimeSlice } from "../core/time-slice.ts";
import { readLastRowsAt, readRowsAt } from "../history/at.ts";
import { readRows } from "../history/messages.ts";
import { messageText } from "./index/message-item.ts";
import { readPassage } from "./ranking/snippet.ts";
import type { MessageLine } from "./shown-messages.ts";
import type { IndexQuery } from "./text/query.ts";
import type { TextLanguage } from "./text/stem.ts";

export interface Neighbours {
  readonly before: readonly SearchNeighbour[];
  readonly after: readonly SearchNeighbour[];
}

/** What reading messages around a hit needs. */
export interface NeighbourReads {
  readonly storage: Storage;
  readonly payloads: Pick<Payloads, "read">;
  readonly query: IndexQuery;
  readonly language: TextLanguage;
}

/** At most `count` on each side, oldest first. */
export async function readNeighbours(
  reads: NeighbourReads,
  line: MessageLine,
  seq: number,
  count: number,
): Promise<Neighbours> {
  const { before, after } = await readRowsAround(reads.storage, line, seq, count);
  return { before: await toNeighbours(reads, before), after: await toNeighbours(reads, after) };
}

/** The same messages, whole. */
export async function readMessagesAround(
  { storage, payloads }: NeighbourReads,
  line: MessageLine,
  seq: number,
  count: number,
): Promise<readonly Message[]> {
  const { before, after } = await readRowsAround(storage, line, seq, count);
  return readRows([...before, ...after], payloads, new TimeSlice(storage.environment));
}

interface RowsAround {
  readonly before: readonly MessageRow[];
  readonly after: readonly MessageRow[];
}

async function readRowsAround(
  storage: Storage,
  { lineage, stretch }: MessageLine,
  seq: number,
  count: number,
): Promise<RowsAround> {
  const own = lineage[stretch];
  if (own === undefined) throw new Error("bug: a line does not have the stretch of its message");
  const before: MessageRow[] = [];
  for (const [index, one] of lineage.slice(stretch).entries()) {
    const upTo = index === 0 ? Math.min(one.upTo, seq - 1) : one.upTo;
    before.push(...(await readBack(storage, { ...one, upTo }, count - before.length)));
    if (before.length >= count) break;
  }
  const after: MessageRow[] = [];
  for (const [index, one] of lineage
    .slice(0, stretch + 1)
    .reverse()
    .entries()) {
    after.push(...(await readOn(storage, one, index === 0 ? seq : 0, count - after.length)));
    if (after.length >= count) break;
  }
  return { before: before.reverse(), after };
}

/** Rows of one page; some may be of messages that were erased or are hidden, and more are read in their place. */
const PAGE = 16;

/** The last messages of a stretch, newest first. */
async function readBack(storage: Storage, stretch: LineageStretch, count: number): Promise<readonly MessageRow[]> {
  const found: MessageRow[] = [];
  for (let { upTo } = stretch; found.length < count; ) {
    const rows = await readLastRowsAt(storage, stretch, { after: 0, upTo, limit: PAGE });
    found.push(...rows.toReversed().filter((row) => isShown(stretch, row)));
    if (rows.length < PAGE) break;
    upTo = (rows[0]?.seq ?? 1) - 1;
  }
  return found.slice(0, count);
}

/** The messages of a stretch after a seq, oldest first. */
async function readOn(
  storage: Storage,
  stretch: LineageStretch,
  seq: number,
  count: number,
): Promise<readonly MessageRow[]> {
  const found: MessageRow[] = [];
  for (let after = seq; found.length < count; ) {
    const rows = await readRowsAt(storage, stretch, { after, upTo: stretch.upTo, limit: PAGE });
    found.push(...rows.filter((row) => isShown(stretch, row)));
    if (rows.length < PAGE) break;
    after = rows.at(-1)?.seq ?? after;
  }
  return found.slice(0, count);
}

function isShown(stretch: LineageStretch, row: MessageAtRow): row is MessageAtRow & MessageRow {
  return row.erased_seq === null && !isHidden(stretch, row);
}

async function toNeighbours(
  { storage, payloads, query, language }: NeighbourReads,
  rows: readonly MessageRow[],
): Promise<readonly SearchNeighbour[]> {
  const slice = new TimeSlice(storage.environment);
  const found: SearchNeighbour[] = [];
  for (const message of await readRows(rows, payloads, slice)) {
    const { id, role, agent, content } = message;
    const { snippet } = await runInSlices(readPassage(messageText(content), 0, query, language), slice);
    found.push({ id, role, agent, at: messageTimeOf(message), snippet });
  }
  return found;
}
