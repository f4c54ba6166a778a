// Wakes the readers that wait for a session. One waker serves a whole handle. It gets the changed sessions from the
// handle's own commits and from the engine's watch, and wakes only the readers of these sessions. If the engine cannot
// say which sessions changed, one lookup reads the lengths of all followed logs.
import type { Environment } from "../../contracts/environment.ts";
import type { LogFollower } from "../../contracts/storage/storage.ts";
import { type Driver, LOOKUP } from "./driver.ts";
import { FollowedLog, type FollowedLogs, Follower } from "./followed-log.ts";

/** The interval at which the waker checks all followed logs, because a notification may be lost. */
const LOOK_MS = 2000;
/** How long the engine is still watched without readers: a reader that was woken usually waits again at once. */
const LINGER_MS = 200;
/**
 * After a check the waker pauses for this multiple of the check's duration, so that many tails leave time for other
 * work.
 */
const REST = 4;
const LONGEST_REST_MS = 50;
/** A wait that ends aborts its own timer: with a reason, because an AbortError would be made with its stack. */
const OVER = "the wait is over";

export const LENGTH_LOOKUP = `SELECT id, seq, deleted_at FROM sessions WHERE id ${LOOKUP}`;

export class SessionWaker implements FollowedLogs {
  readonly #driver: Driver;
  readonly #environment: Environment;
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #followed = new Map<string, FollowedLog>();
  /** Sessions to check; null: all followed sessions. */
  #requested: Set<string> | null = new Set();
  #isLooking = false;
  #unwatch: (() => void) | null = null;
  #ticking: AbortController | null = null;
  #isClosed = false;

  constructor(driver: Driver, environment: Environment) {
    this.#driver = driver;
    this.#environment = environment;
  }

  /** See Storage.waitForChange. */
  listen(session: string, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#watch();
    const over = new AbortController();
    const done = new Promise<void>((resolve) => {
      const listeners = this.#listeners.get(session) ?? new Set();
      this.#listeners.set(session, listeners);
      const stop = () => {
        // Its own sleep comes back to it, too, when others may be waiting under the same name already.
        if (!listeners.delete(stop)) return;
        if (listeners.size === 0) this.#listeners.delete(session);
        signal?.removeEventListener("abort", stop);
        over.abort(OVER);
        resolve();
      };
      listeners.add(stop);
      signal?.addEventListener("abort", stop, { once: true });
      this.#environment.sleep(timeoutMs, over.signal).then(stop);
    });
    return done.then(() => this.#unwatchSoon());
  }

  /** See Storage.follow. */
  follow(session: string): LogFollower {
    return new Follower(session, this);
  }

  /** The handle's own commit has changed these sessions; null: how long their logs are now is not known. */
  notifyCommit(sessions: ReadonlyMap<string, number | null>): void {
    for (const [session, seq] of sessions) {
      this.#wakeListeners(session);
      const followed = this.#followed.get(session);
      if (followed === undefined) continue;
      if (seq === null) this.#look([session]);
      else followed.noteChange(Math.max(followed.seq, seq), false);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#unwatch?.();
    this.#unwatch = null;
    for (const session of [...this.#listeners.keys()]) this.#wakeListeners(session);
    for (const followed of [...this.#followed.values()]) this.#drop(followed);
  }

  /** Another process has written to these sessions; null: it may have written to any. */
  #onChange(sessions: readonly string[] | null): void {
    for (const session of sessions ?? [...this.#listeners.keys()]) this.#wakeListeners(session);
    this.#look(sessions);
  }

  #wakeListeners(session: string): void {
    const listeners = this.#listeners.get(session);
    if (listeners !== undefined) for (const stop of [...listeners]) stop();
  }

  #watch(): void {
    this.#unwatch ??= this.#driver.watch((sessions) => this.#onChange(sessions));
  }

  #unwatchSoon(): void {
    if (this.#unwatch === null || !this.#isUnused()) return;
    this.#environment.sleep(LINGER_MS).then(() => {
      if (!this.#isUnused()) return;
      this.#unwatch?.();
      this.#unwatch = null;
    });
  }

  #isUnused(): boolean {
    return this.#listeners.size === 0 && this.#followed.size === 0;
  }

  attach(session: string, known: FollowedLog | null): FollowedLog | null {
    if (this.#isClosed) return null;
    let followed = this.#followed.get(session);
    if (followed === undefined) {
      followed = new FollowedLog(session, this.#environment);
      this.#followed.set(session, followed);
      this.#watch();
      this.#tick();
    }
    followed.isUsed = true;
    if (followed !== known) followed.followers++;
    return followed;
  }

  detach(followed: FollowedLog): void {
    followed.followers--;
    if (followed.followers === 0 && this.#followed.get(followed.session) === followed) this.#drop(followed);
  }

  #drop(followed: FollowedLog): void {
    this.#followed.delete(followed.session);
    followed.drop();
    if (this.#followed.size > 0) return;
    this.#ticking?.abort(OVER);
    this.#ticking = null;
    this.#unwatchSoon();
  }

  #tick(): void {
    if (this.#ticking !== null) return;
    this.#ticking = new AbortController();
    void this.#lookNowAndThen(this.#ticking.signal);
  }

  async #lookNowAndThen(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#environment.sleep(LOOK_MS, signal);
      if (signal.aborted) return;
      // The log of a reader that was abandoned, or is processing what it has read, need not be checked.
      for (const followed of [...this.#followed.values()]) {
        if (!followed.isUsed && !followed.hasWaiters) this.#drop(followed);
        followed.isUsed = false;
      }
      this.#look(null);
    }
  }

  #look(sessions: readonly string[] | null): void {
    if (sessions === null) this.#requested = null;
    else if (this.#requested !== null)
      for (const one of sessions) if (this.#followed.has(one)) this.#requested.add(one);
    if (!this.#isLooking) void this.#lookOn();
  }

  async #lookOn(): Promise<void> {
    this.#isLooking = true;
    while (!this.#isClosed && (this.#requested === null || this.#requested.size > 0)) {
      const asked = this.#requested ?? this.#followed.keys();
      this.#requested = new Set();
      const logs = [...asked].flatMap((session) => this.#followed.get(session) ?? []);
      if (logs.length === 0) continue;
      const start = this.#environment.monotonic();
      await this.#readLengths(logs);
      const tookMs = this.#environment.monotonic() - start;
      if (tookMs >= 1) await this.#environment.sleep(Math.min(tookMs * REST, LONGEST_REST_MS));
    }
    this.#isLooking = false;
  }

  async #readLengths(logs: readonly FollowedLog[]): Promise<void> {
    const marks = logs.map(({ news }) => news);
    const found = new Map<string, { readonly seq: number; readonly isGone: boolean }>();
    try {
      const rows = await this.#driver.lookup(
        LENGTH_LOOKUP,
        logs.map(({ session }) => session),
      );
      for (const { id, seq, deleted_at } of rows) {
        found.set(String(id), { seq: Number(seq), isGone: deleted_at !== null });
      }
    } catch (error) {
      // The next check follows in time, so a failure only causes a delay.
      this.#environment.log("debug", "waker.look", { error: String(error) });
      return;
    }
    for (const [i, followed] of logs.entries()) {
      const { seq, isGone } = found.get(followed.session) ?? { seq: 0, isGone: true };
      // The handle's own commits may have reported a newer length meanwhile.
      followed.noteChange(followed.news === marks[i] ? seq : Math.max(seq, followed.seq), isGone);
      followed.wakeFailedReaders();
    }
  }
}
