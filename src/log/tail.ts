// A live tail: an iterator over a session's log that waits at the end of the log for more events. It reads pages and
// returns them event by event. Thousands of tails may follow one session, so they share event objects.
import type { LogEvent } from "../contracts/log.ts";
import type { LogFollower, LogMark } from "../contracts/storage/storage.ts";
import type { LOG_VERBS } from "../contracts/verbs/log.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { existingSession, type Locate, requireNoHead } from "../core/session-lookup.ts";
import type { EventPage, EventResult, SharedReads } from "./shared-reads.ts";

const READ_TO_HEAD = "log.read() reads up to it; `after` says where a tail begins.";

type TailValues = ValuesOf<typeof LOG_VERBS.tail>[1];

type TailResult = EventResult | IteratorReturnResult<undefined>;

const DONE: TailResult = Object.freeze({ value: undefined, done: true });

/** The session and the follower of a tail, known before its first read. */
interface OpenedTail {
  readonly session: string;
  readonly types: ReadonlySet<string> | null;
  readonly follower: LogFollower;
}

export class Tail implements AsyncIterableIterator<LogEvent, undefined> {
  readonly #reads: SharedReads;
  readonly #locate: () => ReturnType<Locate>;
  readonly #options: TailValues;
  #opened: OpenedTail | null = null;
  #isOver = false;
  /** Releases the resources of the tail, once. */
  #release: () => void = () => {};
  /** The current page; its events from #index on are not returned yet. */
  #page: EventPage | null = null;
  #index = 0;
  /** The next read begins after this seq. */
  #after = 0;
  /** The mark at which to wait before the next read, because the log ended with the last page; null: read at once. */
  #mark: LogMark | null = null;
  /** Waiting calls of next(), answered in order. */
  #waiting = 0;
  #lastAnswer: Promise<unknown> = Promise.resolve();

  constructor(reads: SharedReads, locate: () => ReturnType<Locate>, options: TailValues) {
    this.#reads = reads;
    this.#locate = locate;
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<TailResult> {
    try {
      const page = this.#waiting === 0 && !this.#reads.slice.isSpent ? this.#page : null;
      return (page === null ? null : this.#take(page)) ?? this.#enqueue();
    } catch (error) {
      return this.throw(error);
    }
  }

  /** Ends the tail at once, also for a call of next() that waits. */
  return(): Promise<TailResult> {
    this.#end();
    return Promise.resolve(DONE);
  }

  throw(error: unknown): Promise<TailResult> {
    this.#end();
    return Promise.reject(error);
  }

  /** The next event of the page that the caller wants; null if there is none. */
  #take(page: EventPage): Promise<EventResult> | null {
    const types = this.#opened?.types ?? null;
    let index = this.#index;
    while (index < page.rows.length && types !== null && !types.has(page.typeAt(index))) index++;
    this.#index = index + 1;
    if (this.#index >= page.rows.length) {
      // Release the page while the caller processes its last event.
      this.#page = null;
      this.#after = page.lastSeq;
    }
    return index < page.rows.length ? page.resultAt(index) : null;
  }

  #enqueue(): Promise<TailResult> {
    const answer = this.#waiting++ === 0 ? this.#advance() : this.#lastAnswer.then(() => this.#advance());
    const isAnswered = () => {
      this.#waiting--;
    };
    this.#lastAnswer = answer.then(isAnswered, isAnswered);
    return answer;
  }

  async #advance(): Promise<TailResult> {
    try {
      while (!this.#isOver) {
        this.#opened ??= await this.#open();
        if (this.#reads.slice.isSpent) await this.#reads.slice.pause();
        const result = this.#page === null ? null : this.#take(this.#page);
        if (result !== null) return await result;
        if (this.#page === null && !this.#isOver) await this.#read(this.#opened);
      }
    } catch (error) {
      this.#end();
      throw error;
    }
    return DONE;
  }

  async #open(): Promise<OpenedTail> {
    const { storage } = this.#reads;
    const session = requireNoHead(await this.#locate(), "a log is followed as it grows", READ_TO_HEAD);
    const { after, signal } = this.#options;
    const types = this.#options.types === undefined ? null : new Set(this.#options.types);
    const { seq } = await existingSession(storage, session);
    this.#after = after === "end" ? seq : after;
    const follower = storage.follow(session);
    if (signal?.aborted) this.#end();
    else if (!this.#isOver) this.#start(session, follower, signal);
    return { session, types, follower };
  }

  #start(session: string, follower: LogFollower, signal: AbortSignal | undefined): void {
    const end = () => this.#end();
    this.#reads.join(session);
    signal?.addEventListener("abort", end, { once: true });
    this.#release = () => {
      this.#release = () => {};
      this.#reads.leave(session);
      signal?.removeEventListener("abort", end);
      follower.stop();
    };
  }

  /** Waits at the end of the log if needed, and reads a page. */
  async #read({ session, follower }: OpenedTail): Promise<void> {
    if (this.#mark !== null) await follower.waitForEvents(this.#after, this.#mark);
    this.#mark = null;
    if (this.#isOver) return;
    const page = await this.#reads.next(session, this.#after, follower.mark());
    if (this.#isOver) return;
    if (page === "gone") return this.#end();
    if (page === "unreachable") return follower.waitForStore();
    if (!page.isFull) this.#mark = page.mark;
    if (page.rows.length === 0) return;
    this.#page = page;
    this.#index = page.indexAfter(this.#after);
  }

  #end(): void {
    this.#isOver = true;
    this.#page = null;
    this.#release();
  }
}
