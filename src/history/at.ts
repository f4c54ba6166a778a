// The messages of a lineage as they were at its end, chosen like a range of history. Messages that were erased later
// are included without their content; the caller decides what to show in their place.
import type { MessageAtRow } from "../contracts/lineage-queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { isHidden, type Segment, type Stretch, stretchesBehind } from "../core/lineage.ts";
import { PageSize } from "../core/page-size.ts";
import type { CheckedRange } from "./read.ts";

/** From the newest back: few at first, because mostly the last few are asked for. */
const FIRST_PAGE = 64;

interface HistorySelection {
  readonly session: string;
  /** Only this agent's; undefined: every agent's. */
  readonly agent: string | undefined;
  readonly range: CheckedRange;
}

/** Oldest first. */
export async function historyRowsAt(
  storage: Storage,
  lineage: readonly Segment[],
  { session, agent, range }: HistorySelection,
): Promise<readonly MessageAtRow[]> {
  const { after, run, since, last } = range;
  const stretches = stretchesBehind(lineage, session, after);
  const isChosen = (segment: Segment, row: MessageAtRow) =>
    (agent === undefined || row.agent === agent) &&
    (run === undefined || row.run === run) &&
    row.at >= since &&
    !isHidden(segment, row);
  return last === undefined
    ? readForward(storage, stretches, range, isChosen)
    : readBack(storage, stretches, last, isChosen);
}

type RowFilter = (segment: Segment, row: MessageAtRow) => boolean;

async function readForward(
  storage: Storage,
  stretches: readonly Stretch[],
  { limit, offset }: CheckedRange,
  isChosen: RowFilter,
): Promise<readonly MessageAtRow[]> {
  const found: MessageAtRow[] = [];
  const page = new PageSize();
  for (const { segment, after: first } of stretches.toReversed()) {
    const { no, branch, upTo, horizon } = segment;
    for (let after = first; ; ) {
      const size = Math.min(page.rows, Math.max(FIRST_PAGE, limit + offset - found.length));
      const rows = await storage.query("messages.at", no, branch, after, upTo, horizon, size);
      page.adjust(rows);
      for (const row of rows) if (isChosen(segment, row)) found.push(row);
      if (found.length >= limit + offset) return found.slice(offset, offset + limit);
      if (rows.length < size) break;
      after = rows.at(-1)?.seq ?? after;
    }
  }
  return found.slice(offset);
}

async function readBack(
  storage: Storage,
  stretches: readonly Stretch[],
  last: number,
  isChosen: RowFilter,
): Promise<readonly MessageAtRow[]> {
  const pages: (readonly MessageAtRow[])[] = [];
  const page = new PageSize();
  let found = 0;
  let most = Math.max(FIRST_PAGE, last);
  for (const { segment, after } of stretches) {
    const { no, branch, horizon } = segment;
    for (let { upTo } = segment; found < last; ) {
      const size = Math.min(page.rows, most);
      const rows = await storage.query("messages.lastAt", no, branch, after, upTo, horizon, size);
      page.adjust(rows);
      const chosen = rows.filter((row) => isChosen(segment, row));
      pages.push(chosen);
      found += chosen.length;
      if (rows.length < size) break;
      upTo = (rows[0]?.seq ?? 1) - 1;
      most *= 2;
    }
  }
  return pages.reverse().flat().slice(-last);
}
