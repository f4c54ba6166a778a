// Reads the stored messages of a context: those after the last compaction that were not erased. Without a budget it
// reads all of them; with a budget it reads pages from the newest message back, so that a long past costs nothing if
// only its end fits.
import type { Context } from "../contracts/context.ts";
import type { MessageAtRow } from "../contracts/storage/lineage-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { isHidden, type LineageStretch, NOW } from "../core/lineage.ts";
import { parseRowId, rowId } from "../core/row-id.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { readAll, readLastRowsAt, readRowsAt } from "../history/at.ts";

/** The first pages are short, because a small budget is full soon. The size of a page is bounded for any budget. */
const FIRST_PAGE = 64;
const PAGE = 1000;

/** The stretches to read, newest first, each with the seq after which it begins. */
export interface ContextRange {
  readonly stretches: readonly { readonly stretch: LineageStretch; readonly after: number }[];
  readonly summary: string | undefined;
  readonly over: readonly string[];
  /** Only this agent's. */
  readonly agent: string | undefined;
  /** True: includes messages that were erased after the end of the lineage, without their content. */
  readonly keepsErased: boolean;
}

/** The messages that a compaction covers may have been erased. */
export function contextRangeOf(
  lineage: readonly LineageStretch[],
  compaction: NonNullable<Context["compaction"]> | null,
  agent: string | undefined,
  keepsErased: boolean,
): ContextRange {
  const from = compaction === null ? null : parseRowId(compaction.upTo, "compaction.upTo");
  // Of the stretches of its session, the oldest that reaches so far holds it.
  const oldest =
    from === null ? -1 : lineage.findLastIndex(({ session, upTo }) => session === from.session && from.seq <= upTo);
  const reached = lineage.slice(0, oldest === -1 ? undefined : oldest + 1);
  const stretches = reached.map((stretch, i) => ({ stretch, after: i === oldest ? (from?.seq ?? 0) : 0 }));
  return { stretches, agent, summary: compaction?.summary, over: compaction?.over ?? [], keepsErased };
}

function isWanted({ agent, summary, over, keepsErased }: ContextRange, row: MessageAtRow): boolean {
  if ((row.erased_seq !== null && !keepsErased) || (agent !== undefined && row.agent !== agent)) return false;
  const id = rowId(row.session, row.seq);
  return id !== summary && !over.includes(id);
}

/** The summary's own row, unless it was erased. */
export async function summaryRow(storage: Storage, asked: ContextRange): Promise<MessageAtRow | undefined> {
  return asked.summary === undefined ? undefined : rowAt(storage, asked, asked.summary);
}

async function rowAt(storage: Storage, asked: ContextRange, id: string): Promise<MessageAtRow | undefined> {
  const { session, seq } = parseRowId(id, "compaction.summary");
  for (const { stretch, after } of asked.stretches) {
    if (stretch.session !== session || seq > stretch.upTo || seq <= after) continue;
    const [row] = await readRowsAt(storage, stretch, { after: seq - 1, upTo: seq, limit: 1 });
    const isThere = row !== undefined && (row.erased_seq === null || asked.keepsErased);
    if (isThere && !isHidden(stretch, row)) return row;
  }
  return undefined;
}

/** Oldest first. */
export async function allRows(storage: Storage, asked: ContextRange): Promise<readonly MessageAtRow[]> {
  const slice = new TimeSlice(storage.environment);
  const newestFirst: (readonly MessageAtRow[])[] = [];
  for (const window of windowsOf(asked)) {
    const read = await Promise.all(window.map(({ stretch, after }) => readAll(storage, stretch, after)));
    for (const rows of read) newestFirst.push(rows);
  }
  const wanted: MessageAtRow[] = [];
  for (const rows of newestFirst.reverse()) {
    for (const row of rows) {
      if (slice.isSpent) await slice.pause();
      if (isWanted(asked, row)) wanted.push(row);
    }
  }
  return wanted;
}

/** Yields pages from the newest back; each page is oldest first. */
export async function* pagesBack(storage: Storage, asked: ContextRange): AsyncGenerator<readonly MessageAtRow[]> {
  let size = FIRST_PAGE;
  for (const { stretch, after } of asked.stretches) {
    for (let upTo = stretch.upTo; ; ) {
      const rows = await readLastRowsAt(storage, stretch, { after, upTo, limit: size });
      yield rows.filter((row) => isWanted(asked, row) && !isHidden(stretch, row));
      if (rows.length < size) break;
      upTo = (rows[0]?.seq ?? 1) - 1;
      size = Math.min(PAGE, size * 2);
    }
  }
}

/** How many stretches are read at once. */
const WINDOW = 64;

function* windowsOf({ stretches }: ContextRange): Generator<ContextRange["stretches"], void> {
  for (let next = 0; next < stretches.length; next += WINDOW) yield stretches.slice(next, next + WINDOW);
}

/** Counts the messages without reading them. */
export async function countRows(storage: Storage, asked: ContextRange): Promise<number> {
  let count = 0;
  for (const window of windowsOf(asked)) {
    const counts = await Promise.all(window.map((stretch) => countStretch(storage, asked, stretch)));
    for (const n of counts) count += n;
  }
  for (const id of [...(asked.summary === undefined ? [] : [asked.summary]), ...asked.over]) {
    const by = (await rowAt(storage, asked, id))?.agent;
    if (by !== undefined && (asked.agent === undefined || asked.agent === by)) count--;
  }
  return count;
}

async function countStretch(
  storage: Storage,
  asked: ContextRange,
  { stretch, after }: ContextRange["stretches"][number],
): Promise<number> {
  const { no, branch, upTo, hides } = stretch;
  const erasedAfter = asked.keepsErased ? stretch.horizon : NOW;
  // Runs matter only if a run's messages of this stretch were cleared.
  const groups =
    hides.length === 0
      ? await storage.query("messages.count", { session: no, branch, after, upTo, erasedAfter })
      : await storage.query("messages.countRuns", { session: no, branch, after, upTo, erasedAfter });
  let count = 0;
  for (const { agent, run, n } of groups) {
    const isAsked = asked.agent === undefined || asked.agent === agent;
    if (isAsked && !isHidden(stretch, { agent, run })) count += n;
  }
  return count;
}
