// Reads history: the stretches of a session's lineage one after the other, oldest first; for the last messages newest
// first, a few at a time.
import { HoldfastError } from "../contracts/errors.ts";
import type { HistoryRange } from "../contracts/history.ts";
import type { Message } from "../contracts/messages.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { MessageRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { HISTORY_RANGE } from "../contracts/verbs/history.ts";
import type { ValueOf } from "../contracts/verbs/vocabulary.ts";
import { checkArgument } from "../core/arguments.ts";
import { checkInt } from "../core/check.ts";
import {
  currentLineage,
  isHidden,
  type LineageStretch,
  nextWidth,
  readCurrentLineage,
  type StretchRead,
  stretchesAfter,
} from "../core/lineage.ts";
import { PageSize } from "../core/page-size.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { readRows } from "./messages.ts";

const FOREVER = Number.MAX_SAFE_INTEGER;
/** Up to this many messages are read by one statement, regardless of the length of their contents. */
const SHORT_PAGE = 250;
/** The number of messages that one statement may skip: the engine reads all of them. */
const SKIPPED_AT_ONCE = 20_000;

export interface CheckedRange {
  readonly limit: number;
  readonly offset: number;
  readonly after: number | string;
  readonly since: number;
  readonly last: number | undefined;
  readonly run: string | undefined;
}

/** The messages to read: of one agent, or of all. */
interface Scope {
  readonly session: string;
  readonly agent?: string;
}

type RangeValues = ValueOf<typeof HISTORY_RANGE>;

export function checkHistoryRange(range: HistoryRange = {}): CheckedRange {
  return readRange(checkArgument(HISTORY_RANGE, range, "range"));
}

function readRange({ limit, offset, after = 0, since = 0, last, run }: RangeValues): CheckedRange {
  if (last !== undefined && (limit !== undefined || offset !== undefined)) {
    throw new HoldfastError("InvalidArgument", "a range has either `last`, or `limit` and `offset`, not both");
  }
  return {
    // Without a limit, all messages.
    limit: limit ?? FOREVER,
    offset: offset ?? 0,
    after: typeof after === "string" ? after : checkInt(after, "after", 0, FOREVER),
    since,
    last,
    run,
  };
}

export async function readHistory(
  storage: Storage,
  payloads: Payloads,
  scope: Scope,
  asked: RangeValues,
): Promise<readonly Message[]> {
  const range = readRange(asked);
  const read: Read = (stretch, page) => readStretch({ storage, scope, range }, stretch, page);
  const slice = new TimeSlice(storage.environment);
  if (range.last === undefined) {
    const stretches = begin(await currentLineage(storage, scope.session), scope, range);
    return readForward(stretches.reverse(), range, payloads, read, slice);
  }
  return readRows(await readLast(await stretchesBack(storage, scope, range), range.last, read), payloads, slice);
}

type Read = (stretch: StretchRead, page: StretchPage) => Promise<readonly MessageRow[]>;

/** Rows of a stretch: the first `limit`, or with `back` the last, after skipping `offset`. */
interface StretchPage {
  readonly back: boolean;
  readonly limit: number;
  readonly offset: number;
}

interface ReadContext {
  readonly storage: Storage;
  readonly scope: Scope;
  readonly range: CheckedRange;
}

/** Leaves out messages that an inheriting session has cleared. */
function begin(lineage: readonly LineageStretch[], scope: Scope, { after, run }: CheckedRange): StretchRead[] {
  return stretchesAfter(lineage, scope.session, after).filter(({ stretch }) => {
    if (stretch.hides.some((clear) => clear.agent === scope.agent && clear.run === null)) return false;
    return run === undefined || !isHidden(stretch, { agent: scope.agent ?? "", run });
  });
}

/** The next stretches from the newest on; null at the end. */
type NextStretches = (width: number) => Promise<readonly StretchRead[] | null>;

/** Reads the lineage only as far as needed. If the range has `after`, the whole lineage is read to find it. */
async function stretchesBack(storage: Storage, scope: Scope, range: CheckedRange): Promise<NextStretches> {
  const lineage = readCurrentLineage(storage, scope.session);
  if (range.after === 0) {
    return async (width) => {
      const stretches = await lineage.take(width);
      return stretches.length === 0 ? null : begin(stretches, scope, range);
    };
  }
  const known = begin(await lineage.take(FOREVER), scope, range);
  return async (width) => (known.length === 0 ? null : known.splice(0, width));
}

async function readLast(next: NextStretches, last: number, read: Read): Promise<readonly MessageRow[]> {
  let found: readonly MessageRow[] = [];
  for (let width = 1, stretches = 0; found.length < last; stretches += width) {
    width = nextWidth(last, found.length, stretches, width);
    const window = await next(width);
    if (window === null) break;
    const older = await Promise.all(
      window.map((stretch) => read(stretch, { back: true, limit: last - found.length, offset: 0 })),
    );
    found = [...older.reverse().flat(), ...found];
  }
  return found.slice(-last);
}

/** Reads page after page by seq, so that no statement runs long. */
async function readForward(
  stretches: readonly StretchRead[],
  range: CheckedRange,
  payloads: Payloads,
  read: Read,
  slice: TimeSlice,
): Promise<readonly Message[]> {
  const messages: Message[] = [];
  const page = new PageSize();
  let { offset } = range;
  for (const stretch of stretches) {
    // The engine skips fastest, but only within one stretch.
    const alone = stretches.length === 1 && stretch.stretch.hides.length === 0;
    let { after } = stretch;
    for (; alone && offset > SKIPPED_AT_ONCE; offset -= SKIPPED_AT_ONCE) {
      const [last] = await read({ ...stretch, after }, { back: false, limit: 1, offset: SKIPPED_AT_ONCE - 1 });
      if (last === undefined) return messages;
      after = last.seq;
    }
    while (messages.length < range.limit) {
      const limit = Math.min(page.rows, range.limit - messages.length + (alone ? 0 : offset));
      const rows = await read({ ...stretch, after }, { back: false, limit, offset: alone ? offset : 0 });
      page.adjust(rows);
      const skipped = alone ? 0 : Math.min(offset, rows.length);
      for (const message of await readRows(rows.slice(skipped), payloads, slice)) messages.push(message);
      offset -= alone ? offset : skipped;
      if (rows.length < limit) break;
      after = rows.at(-1)?.seq ?? after;
    }
  }
  return messages;
}

/**
 * Reads the first or the last messages of a stretch, oldest first. Messages that younger sessions cleared are left out,
 * and more are read instead.
 */
async function readStretch(
  { storage, scope, range }: ReadContext,
  { stretch, after }: StretchRead,
  { back, limit, offset }: StretchPage,
): Promise<readonly MessageRow[]> {
  const hasHidden = stretch.hides.length > 0;
  if (!hasHidden && (!back || limit <= SHORT_PAGE))
    return readRowsOf(storage, scope, range, stretch, { after, back, limit, offset });
  const pages: (readonly MessageRow[])[] = [];
  const page = new PageSize();
  let { upTo } = stretch;
  for (let [from, found] = [after, 0]; found < limit; ) {
    const size = hasHidden ? page.rows : Math.min(page.rows, limit - found);
    const asked = { after: from, back, limit: size, offset: 0 };
    const rows = await readRowsOf(storage, scope, range, { ...stretch, upTo }, asked);
    page.adjust(rows);
    const shown = hasHidden ? rows.filter((row) => !isHidden(stretch, row)) : rows;
    pages.push(shown);
    found += shown.length;
    if (rows.length < size) break;
    if (back) upTo = (rows[0]?.seq ?? 1) - 1;
    else from = rows.at(-1)?.seq ?? from;
  }
  return back ? pages.reverse().flat().slice(-limit) : pages.flat().slice(0, limit);
}

interface Page extends StretchPage {
  readonly after: number;
}

function readRowsOf(
  storage: Storage,
  { agent }: Scope,
  { run, since }: CheckedRange,
  { no, branch, upTo }: LineageStretch,
  { after, back, limit, offset }: Page,
): Promise<readonly MessageRow[]> {
  if (agent === undefined) {
    if (run === undefined) {
      return back
        ? storage.query("history.sessionLast", { session: no, branch, upTo, after, since, limit })
        : storage.query("history.session", { session: no, branch, upTo, after, since, limit, offset });
    }
    return back
      ? storage.query("history.sessionRunLast", { session: no, branch, upTo, run, after, since, limit })
      : storage.query("history.sessionRun", { session: no, branch, upTo, run, after, since, limit, offset });
  }
  if (run === undefined) {
    return back
      ? storage.query("history.last", { session: no, branch, upTo, agent, after, since, limit })
      : storage.query("history.range", { session: no, branch, upTo, agent, after, since, limit, offset });
  }
  return back
    ? storage.query("history.lastRun", { session: no, branch, upTo, agent, run, after, since, limit })
    : storage.query("history.rangeRun", { session: no, branch, upTo, agent, run, after, since, limit, offset });
}

export async function countMessages(
  storage: Storage,
  { session, agent, run }: { readonly session: string; readonly agent: string; readonly run: string | undefined },
): Promise<number> {
  const [counted] =
    run === undefined
      ? await storage.query("lineage.agentMessages", { session, agent })
      : await storage.query("lineage.runMessages", { session, agent, run });
  if (counted === undefined || counted.clears === 0) return counted?.n ?? 0;
  let n = 0;
  const range: CheckedRange = { limit: FOREVER, offset: 0, after: 0, since: 0, last: undefined, run };
  for (const { stretch } of begin(await currentLineage(storage, session), { session, agent }, range)) {
    const { no, branch, upTo, hides } = stretch;
    if (hides.length > 0) {
      const context = { storage, scope: { session, agent }, range };
      n += (await readStretch(context, { stretch, after: 0 }, { back: false, limit: FOREVER, offset: 0 })).length;
      continue;
    }
    const [row] =
      run === undefined
        ? await storage.query("history.count", { session: no, branch, upTo, agent })
        : await storage.query("history.countRun", { session: no, branch, upTo, agent, run });
    n += row?.n ?? 0;
  }
  return n;
}

/** The session's own message with this key; a message on a line that the session has left does not count. */
export async function findKeyed(storage: Storage, session: string, key: string): Promise<MessageRow | undefined> {
  const rows = await storage.query("history.byKey", { session, key });
  if (rows.length === 0) return undefined;
  const lineage = await currentLineage(storage, session);
  return rows.find(({ branch, seq }) =>
    lineage.some((one) => one.session === session && one.branch === branch && seq <= one.upTo),
  );
}
