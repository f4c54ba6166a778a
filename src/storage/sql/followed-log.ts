// The state of a session's log that readers follow, and the readers that wait for new events.
import type { Environment } from "../../contracts/environment.ts";
import type { LogFollower, LogMark } from "../../contracts/storage/storage.ts";

/**
 * After readers were woken, the log wakes none for a time that grows with their number, and events written meanwhile
 * reach them together. So very many readers of one log leave time for its writers. Few readers are woken without delay.
 */
const REST_MS = 0.02;
const SHORTEST_REST_MS = 1;

interface Waiter {
  /** Wakes when the log is longer than this; null: at the next check. */
  readonly after: number | null;
  readonly mark: number;
  readonly wake: () => void;
}

export class FollowedLog {
  readonly session: string;
  readonly #environment: Environment;
  readonly #waiters = new Set<Waiter>();
  /** Followers that have not stopped. */
  followers = 0;
  /** Whether a follower has used the log since the waker's last check of all logs. */
  isUsed = true;
  #news = 0;
  #seq = 0;
  #isGone = false;
  #isDropped = false;
  #restsUntil = 0;
  #isWakingLater = false;

  constructor(session: string, environment: Environment) {
    this.session = session;
    this.#environment = environment;
  }

  /** A counter of changes, so that a reader can tell what is new to it. */
  get news(): number {
    return this.#news;
  }

  get seq(): number {
    return this.#seq;
  }

  get hasWaiters(): boolean {
    return this.#waiters.size > 0;
  }

  noteChange(seq: number, isGone: boolean): void {
    if (this.#seq === seq && this.#isGone === isGone) return;
    this.#news++;
    this.#seq = seq;
    this.#isGone = isGone;
    this.#wakeDue();
  }

  wakeFailedReaders(): void {
    for (const { after, wake } of [...this.#waiters]) if (after === null) wake();
  }

  /** The log is dropped: a follower must read again before it waits again. */
  drop(): void {
    this.#isDropped = true;
    for (const { wake } of [...this.#waiters]) wake();
  }

  /** Passes the caller a function that ends the wait. */
  wait(after: number | null, mark: number, ended: () => void): () => void {
    const waiter: Waiter = {
      after,
      mark,
      wake: () => {
        if (this.#waiters.delete(waiter)) ended();
      },
    };
    this.#waiters.add(waiter);
    if (this.#isDropped) waiter.wake();
    else if (this.#isDue(waiter)) this.#wakeDue();
    return waiter.wake;
  }

  #isDue({ after, mark }: Waiter): boolean {
    return after !== null && this.#news !== mark && (this.#isGone || this.#seq > after);
  }

  #wakeDue(): void {
    const now = this.#environment.monotonic();
    if (now < this.#restsUntil) {
      this.#wakeLater(this.#restsUntil - now);
      return;
    }
    const due = [...this.#waiters].filter((waiter) => this.#isDue(waiter));
    const restMs = due.length * REST_MS;
    if (restMs >= SHORTEST_REST_MS) this.#restsUntil = now + restMs;
    for (const { wake } of due) wake();
  }

  #wakeLater(ms: number): void {
    if (this.#isWakingLater) return;
    this.#isWakingLater = true;
    this.#environment.sleep(ms).then(() => {
      this.#isWakingLater = false;
      this.#wakeDue();
    });
  }
}

/** The followed logs of a handle. */
export interface FollowedLogs {
  /** The session's log as it is watched from now on; null when the store is closed. */
  attach(session: string, known: FollowedLog | null): FollowedLog | null;
  detach(log: FollowedLog): void;
}

/** One reader. While it processes what it has read, nothing refers to it. */
export class Follower implements LogFollower {
  readonly #session: string;
  readonly #logs: FollowedLogs;
  #log: FollowedLog | null = null;
  #isStopped = false;
  #wake: (() => void) | null = null;

  constructor(session: string, logs: FollowedLogs) {
    this.#session = session;
    this.#logs = logs;
  }

  mark(): LogMark {
    if (!this.#isStopped) this.#log = this.#logs.attach(this.#session, this.#log);
    return { log: this.#log, news: this.#log?.news ?? 0 };
  }

  async waitForEvents(after: number, { log, news }: LogMark): Promise<void> {
    // If a dropped log is followed again, events written in between are unknown.
    if (log === this.#log) await this.#wait(after, news);
  }

  waitForStore(): Promise<void> {
    return this.#wait(null, 0);
  }

  stop(): void {
    this.#isStopped = true;
    this.#wake?.();
    if (this.#log !== null) this.#logs.detach(this.#log);
    this.#log = null;
  }

  #wait(after: number | null, mark: number): Promise<void> {
    const log = this.#log;
    if (log === null) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = log.wait(after, mark, () => {
        this.#wake = null;
        resolve();
      });
    });
  }
}
