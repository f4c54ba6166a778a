// The trace of a session (rule SE9): its events in pages, each with summary, row and causes. Also the walk along
// causes.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Locator } from "../contracts/locators.ts";
import type { LogEvent } from "../contracts/log.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { TracedEventRow } from "../contracts/storage/trace-queries.ts";
import type { Causes, TraceEvent, Tracing } from "../contracts/trace.ts";
import { TRACE_VERBS } from "../contracts/verbs/store.ts";
import { parseRowId, rowId } from "../core/row-id.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { existingSession } from "../core/session-lookup.ts";
import { bindVerbs } from "../core/verbs.ts";
import { CauseReader } from "./causes.ts";
import { rowOf } from "./event-row.ts";
import { type EventRange, eventOf, logAt } from "./log.ts";
import { summaryOf } from "./summary.ts";

const PAGE = 1000;

export function createTracing(storage: Storage, lookup: SessionLookup): Tracing {
  return bindVerbs(TRACE_VERBS, lookup, {
    trace: (at, range) => trace(storage, at, range),
    causes: (event, { limit }) => walk(storage, event, limit),
  });
}

async function trace(storage: Storage, at: Locator, range: EventRange): Promise<readonly TraceEvent[]> {
  const { limit } = range;
  const types = range.types === undefined ? null : new Set(range.types);
  let { after } = range;
  const { id: session, upTo, isOn } = await logAt(storage, at);
  const reader = new CauseReader(storage);
  const turns = new OpenTurn(reader, session);
  const traced: TraceEvent[] = [];
  const page = Math.min(PAGE, types === null && at.head === undefined ? limit : PAGE);
  for (;;) {
    const rows = await storage.query("trace.events", { session, after, limit: page });
    for (const row of rows) {
      after = row.seq;
      if (row.seq > upTo) return traced;
      const isWanted = (types === null || types.has(row.type)) && isOn(row);
      if (isWanted) traced.push(await traceOf(reader, session, row, () => turns.at(row)));
      if (traced.length >= limit) return traced;
      turns.pass(row);
    }
    if (rows.length < page) return traced;
  }
}

/** Tracks the open turn while the trace goes through the log, and queries it only if it is unknown. */
class OpenTurn {
  readonly #reader: CauseReader;
  readonly #session: string;
  #branch: number | null = null;
  #turn: number | null = null;

  constructor(reader: CauseReader, session: string) {
    this.#reader = reader;
    this.#session = session;
  }

  async at({ branch, seq }: TracedEventRow): Promise<number | null> {
    if (branch !== this.#branch) {
      this.#turn = await this.#reader.openTurn(this.#session, branch, seq);
      this.#branch = branch;
    }
    return this.#turn;
  }

  pass({ branch, seq, type }: TracedEventRow): void {
    if (type === "turn/begun") [this.#branch, this.#turn] = [branch, seq];
    // A head may have ended the turn.
    else if (type === "head/created") this.#branch = null;
  }
}

async function traceOf(
  reader: CauseReader,
  session: string,
  row: TracedEventRow,
  turn: () => Promise<number | null>,
): Promise<TraceEvent> {
  const event = eventOf(session, row);
  const causes = await reader.of(event, needsTurn(event.type) ? await turn() : null);
  const told = await withHead(reader, event);
  return {
    ...event,
    id: rowId(session, row.seq),
    branch: row.branch,
    summary: summaryOf(told),
    row: rowOf(told, row.erased_seq !== null),
    causes: causes.map(({ kind, id }) => ({ kind, id })),
    causeEventIds: [...new Set(causes.map((cause) => cause.event))],
  };
}

/** The event of a head contains only its id; the rest is in its row. */
async function withHead(reader: CauseReader, event: LogEvent): Promise<LogEvent> {
  if (event.type !== "head/created") return event;
  const head = await reader.head(event.data.head);
  return head === null ? event : { ...event, data: { ...event.data, status: head.status, basis: head.basis } };
}

function needsTurn(type: string): boolean {
  return !/^(session|alias|turn|head|branch|derivation)\//.test(type);
}

async function walk(
  storage: Storage,
  start: { readonly session: string; readonly seq: number },
  limit: number,
): Promise<Causes> {
  await existingSession(storage, start.session);
  const reader = new CauseReader(storage);
  const event = await traceAt(storage, reader, start);
  if (event === null) {
    const id = rowId(start.session, start.seq);
    throw new HoldfastError("NotFound", `there is no event ${id}`, { details: { kind: "event", id } });
  }
  const seen = new Set([event.id]);
  const causes: TraceEvent[] = [];
  const queue = [...event.causeEventIds];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const found = await traceAt(storage, reader, parseRowId(next, "event"));
    if (found === null) continue;
    if (causes.length === limit) return { event, causes, more: true };
    causes.push(found);
    // The queue is bounded too, because at most `limit` events are returned.
    if (queue.length < LIMITS.causes * 4) queue.push(...found.causeEventIds);
  }
  return { event, causes, more: false };
}

/** null if the event or its session was erased. */
async function traceAt(
  storage: Storage,
  reader: CauseReader,
  { session, seq }: { readonly session: string; readonly seq: number },
): Promise<TraceEvent | null> {
  const [row] = await storage.query("trace.events", { session, after: seq - 1, limit: 1 });
  if (row === undefined || row.seq !== seq) return null;
  return traceOf(reader, session, row, () => reader.openTurn(session, row.branch, seq));
}
