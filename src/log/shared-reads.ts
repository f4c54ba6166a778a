// Reads of the log for tails. Tails of one session that wake together share one read, and its rows are decoded once for
// all of them. A tail that lags by more than a page reads its own pages, and nothing is cached for it.
import { HoldfastError } from "../contracts/errors.ts";
import type { LogEvent } from "../contracts/log.ts";
import type { EventRow } from "../contracts/storage/rows.ts";
import type { LogMark, Storage } from "../contracts/storage/storage.ts";
import { SampledSlice } from "../core/time-slice.ts";

const PAGE = 1000;
/** How long the latest page is kept for tails that reach it later; at most twice as long. */
const KEEP_MS = 100;

export type EventResult = IteratorYieldResult<LogEvent>;

/** A page of a session's log. */
export class EventPage {
  readonly rows: readonly EventRow[];
  readonly #after: number;
  /** The mark from before the read. */
  readonly mark: LogMark;
  readonly #decode: (row: EventRow) => LogEvent;
  readonly #results: Promise<EventResult>[] = [];

  constructor(rows: readonly EventRow[], after: number, mark: LogMark, decode: (row: EventRow) => LogEvent) {
    this.rows = rows;
    this.#after = after;
    this.mark = mark;
    this.#decode = decode;
  }

  /** True if the log may be longer. */
  get isFull(): boolean {
    return this.rows.length >= PAGE;
  }

  get lastSeq(): number {
    return this.#rowAt(this.rows.length - 1).seq;
  }

  /** Whether the page has the event after this seq. */
  holdsNext(after: number): boolean {
    return this.rows.length > 0 && this.#after <= after && after < this.lastSeq;
  }

  /** The index of the event after this seq. */
  indexAfter(after: number): number {
    if (after === this.#after) return 0;
    const index = after - this.#after;
    // The seqs of an undamaged log have no gaps.
    return this.rows[index]?.seq === after + 1 ? index : this.rows.findIndex(({ seq }) => seq > after);
  }

  typeAt(index: number): string {
    return this.#rowAt(index).type;
  }

  /**
   * The result of next() for this row: one promise for all tails. The row is decoded when the first tail reaches it, so
   * that tails return all events before a row that cannot be decoded.
   */
  resultAt(index: number): Promise<EventResult> {
    const known = this.#results[index];
    if (known !== undefined) return known;
    const value = freeze(this.#decode(this.#rowAt(index)));
    const result = Promise.resolve(Object.freeze({ value, done: false as const }));
    this.#results[index] = result;
    return result;
  }

  #rowAt(index: number): EventRow {
    const row = this.rows[index];
    if (row === undefined) throw new Error(`bug: a page of ${this.rows.length} rows has no row ${index}`);
    return row;
  }
}

/** Several tails return the same event object, so it is frozen. */
function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}

/** "gone": the session was erased or the store closed. "unreachable": the store does not answer at the moment. */
export type NextPage = EventPage | "gone" | "unreachable";

interface ReadUnderWay {
  readonly after: number;
  readonly mark: LogMark;
  readonly page: Promise<EventPage | "gone">;
}

/** The latest page of a session with several tails. */
interface LatestPage {
  readonly page: EventPage;
  isUsed: boolean;
}

export class SharedReads {
  readonly storage: Storage;
  readonly slice: SampledSlice;
  readonly #decode: (session: string, row: EventRow) => LogEvent;
  readonly #tails = new Map<string, number>();
  readonly #underWay = new Map<string, ReadUnderWay>();
  readonly #latest = new Map<string, LatestPage>();
  #isSweeping = false;

  constructor(storage: Storage, decode: (session: string, row: EventRow) => LogEvent) {
    this.storage = storage;
    this.slice = new SampledSlice(storage.environment);
    this.#decode = decode;
  }

  /** A tail calls join() before its first read, and leave() when it ends. */
  join(session: string): void {
    this.#tails.set(session, (this.#tails.get(session) ?? 0) + 1);
  }

  leave(session: string): void {
    const left = (this.#tails.get(session) ?? 1) - 1;
    if (left > 0) this.#tails.set(session, left);
    else this.#tails.delete(session);
    if (left <= 1) this.#latest.delete(session);
  }

  /** A page that includes the events after `after`; an empty one if the log ends there. */
  async next(session: string, after: number, mark: LogMark): Promise<NextPage> {
    try {
      const latest = this.#latest.get(session);
      if (latest?.page.holdsNext(after)) {
        latest.isUsed = true;
        return latest.page;
      }
      for (let shared = this.#underWay.get(session); shared?.after === after; shared = this.#underWay.get(session)) {
        const page = await shared.page;
        // A read that began before the write which woke this tail may have missed the new event.
        const isNewest = shared.mark.log === mark.log && shared.mark.news === mark.news;
        if (isNewest || (page !== "gone" && page.rows.length > 0)) return page;
      }
      return await this.#read(session, after, mark);
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "Closed") return "gone";
      if (error instanceof HoldfastError && error.code === "StoreUnreachable") return "unreachable";
      throw error;
    }
  }

  #read(session: string, after: number, mark: LogMark): Promise<EventPage | "gone"> {
    const page = this.#readPage(session, after, mark);
    const underWay = { after, mark, page };
    this.#underWay.set(session, underWay);
    const isOver = () => {
      if (this.#underWay.get(session) === underWay) this.#underWay.delete(session);
    };
    page.then(isOver, isOver);
    return page;
  }

  async #readPage(session: string, after: number, mark: LogMark): Promise<EventPage | "gone"> {
    const rows = await this.storage.query("events.read", { session, after, limit: PAGE });
    if (rows.length > 0) {
      const page = new EventPage(rows, after, mark, (row) => this.#decode(session, row));
      if ((this.#tails.get(session) ?? 0) > 1) this.#keep(session, page);
      return page;
    }
    const [row] = await this.storage.query("session.get", { id: session });
    if (row !== undefined && row.deleted_at === null)
      return new EventPage([], after, mark, (none) => this.#decode(session, none));
    this.#latest.delete(session);
    return "gone";
  }

  #keep(session: string, page: EventPage): void {
    const kept = this.#latest.get(session);
    // A tail that lags far behind does not replace the page of the others.
    if (kept !== undefined && kept.page.lastSeq > page.lastSeq) return;
    this.#latest.set(session, { page, isUsed: true });
    if (!this.#isSweeping) void this.#sweep();
  }

  async #sweep(): Promise<void> {
    this.#isSweeping = true;
    while (this.#latest.size > 0) {
      await this.storage.environment.sleep(KEEP_MS);
      for (const [session, latest] of this.#latest) {
        if (!latest.isUsed) this.#latest.delete(session);
        latest.isUsed = false;
      }
    }
    this.#isSweeping = false;
  }
}
