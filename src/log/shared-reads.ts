// Reads of the log for tails: tails of one session that are woken together share one read, and what it gave is decoded
// once for all of them. A tail that lags behind reads for itself, so nothing is kept for it.
import { HoldfastError } from "../contracts/errors.ts";
import type { LogEvent } from "../contracts/log.ts";
import type { EventRow } from "../contracts/queries.ts";
import type { Storage } from "../contracts/storage.ts";

const PAGE = 1000;

/** A page of a session's log. */
export class EventPage {
  readonly rows: readonly EventRow[];
  readonly #decode: (row: EventRow) => LogEvent;
  readonly #events: LogEvent[] = [];

  constructor(rows: readonly EventRow[], decode: (row: EventRow) => LogEvent) {
    this.rows = rows;
    this.#decode = decode;
  }

  /** The log may go on behind it. */
  get isFull(): boolean {
    return this.rows.length >= PAGE;
  }

  /** Decoded when the first tail comes to it, so that every tail gives what is before a row that cannot be decoded. */
  event(index: number): LogEvent {
    const known = this.#events[index];
    if (known !== undefined) return known;
    const row = this.rows[index];
    if (row === undefined) throw new Error(`bug: a page of ${this.rows.length} rows has no row ${index}`);
    const event = freeze(this.#decode(row));
    this.#events[index] = event;
    return event;
  }
}

/** Several tails give the same event to their callers: none of them can change it for the others. */
function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}

/** "gone": the session or the store is no more. "unreachable": the store does not answer for now. */
export type NextPage = EventPage | "gone" | "unreachable";

interface ReadUnderWay {
  readonly after: number;
  readonly page: Promise<EventPage>;
}

export class SharedReads {
  readonly #storage: Storage;
  readonly #decode: (session: string, row: EventRow) => LogEvent;
  readonly #underWay = new Map<string, ReadUnderWay>();

  constructor(storage: Storage, decode: (session: string, row: EventRow) => LogEvent) {
    this.#storage = storage;
    this.#decode = decode;
  }

  /** The events behind `after`; none when the log ends there. */
  async next(session: string, after: number): Promise<NextPage> {
    try {
      const shared = this.#underWay.get(session);
      if (shared?.after === after) {
        const page = await shared.page;
        // That read may have begun before what woke this tail was written: that it found nothing says nothing.
        if (page.rows.length > 0) return page;
      }
      const page = await this.#read(session, after);
      if (page.rows.length > 0) return page;
      const [row] = await this.#storage.query("session.get", session);
      return row === undefined || row.deleted_at !== null ? "gone" : page;
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "Closed") return "gone";
      if (error instanceof HoldfastError && error.code === "StoreUnreachable") return "unreachable";
      throw error;
    }
  }

  #read(session: string, after: number): Promise<EventPage> {
    const page = this.#storage
      .query("events.read", session, after, PAGE)
      .then((rows) => new EventPage(rows, (row) => this.#decode(session, row)));
    const underWay = { after, page };
    this.#underWay.set(session, underWay);
    const isOver = () => {
      if (this.#underWay.get(session) === underWay) this.#underWay.delete(session);
    };
    page.then(isOver, isOver);
    return page;
  }
}
