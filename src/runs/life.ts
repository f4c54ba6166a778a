// The life of the current iteration of an execution: its state, which says what steps may still do, its work under way,
// and its waiters. An iteration may wait in several branches while others work. It is suspended only when no work is
// under way, by one commit that lists everything that can wake the run. If something arrives meanwhile, it changes the
// run's version, and the commit is refused.
import type { Verdict } from "../contracts/agent-definitions.ts";
import type { WaitCondition } from "../contracts/run-waits.ts";
import type { EventDraft, Guard } from "../contracts/storage/commit.ts";
import { encodeWaits } from "../core/run-waits.ts";
import type { Change, Writer } from "./writer.ts";

/**
 * - open: steps begin.
 * - draining: the iteration has returned its verdict; begun steps end, and steps in the journal may be requested again.
 * - over: the verdict is final; work under way ends.
 * - suspended: the run's row lists what wakes the run, and no worker has the run.
 * - left: the work ended for another reason: the lease is lost, the worker stops, the run is cancelled, or the store failed.
 */
export type LifeState = "open" | "draining" | "over" | "suspended" | "left";

export type LifeEvent = "verdict" | "close" | "suspend" | "leave";

const TRANSITIONS: Readonly<Record<LifeState, Partial<Readonly<Record<LifeEvent, LifeState>>>>> = {
  open: { verdict: "draining", close: "over", suspend: "suspended", leave: "left" },
  draining: { close: "over", suspend: "suspended", leave: "left" },
  // If the store fails while the verdict is pending, the verdict is dropped, and the iteration will be replayed.
  over: { leave: "left" },
  suspended: {},
  left: {},
};

/** Returns the same state if the event has no effect in it. */
export function nextState(state: LifeState, event: LifeEvent): LifeState {
  return TRANSITIONS[state][event] ?? state;
}

/**
 * Thrown by steps of an iteration that is suspended or left. The agent's code never gets it, because the promise of its
 * call never settles.
 */
export class IterationLeft extends Error {
  constructor() {
    super("bug: an agent's code got the error IterationLeft");
    this.name = "IterationLeft";
  }
}

/** How the work on an iteration ends: with its verdict, or without one. */
export type IterationEnd = { readonly left: true } | Verdict;

/** A branch of the iteration that waits for a value. */
export interface Waiter<T> {
  /**
   * Checks whether the waiter can continue: its value has arrived, or its time is over. If so, it has called `resume`
   * or `fail`.
   */
  readonly ready: (resume: (value: T) => void, fail: (error: unknown) => void) => Promise<boolean>;
  /** null if only time can wake it. */
  readonly waits: WaitCondition | null;
  readonly until: number | null;
  /** Events that the suspending commit writes for this waiter. */
  readonly events: () => readonly EventDraft[];
  readonly guards?: () => readonly Guard[];
}

interface PendingWait extends Omit<Waiter<never>, "ready"> {
  readonly ready: () => Promise<boolean>;
  readonly leave: () => void;
}

/** How often waiters are checked while another branch of the iteration works. */
const WATCH_MS = 1000;

export class IterationLife {
  readonly #writer: Writer;
  readonly #signal: AbortSignal;
  readonly #end = Promise.withResolvers<IterationEnd>();
  readonly #waiters = new Set<PendingWait>();
  #state: LifeState = "open";
  /** The number of pieces of work under way; waiters are not counted. */
  #active = 0;
  #whenIdle: (() => void)[] = [];
  /** Calls of tools and models that have not ended, including those that wait for a person. */
  #calls = 0;
  #whenDrained: (() => void)[] = [];
  #isCheckPlanned = false;
  #isWatching = false;
  #checkNow: AbortController | null = null;
  /** The check of waiters under way: only one runs at a time. */
  #checks: Promise<void> = Promise.resolve();

  constructor(writer: Writer, signal: AbortSignal) {
    this.#writer = writer;
    this.#signal = signal;
  }

  get state(): LifeState {
    return this.#state;
  }

  /** Resolves when the work ends, and with its result; rejects with errors of the store or the lease. */
  get end(): Promise<IterationEnd> {
    return this.#end.promise;
  }

  /** True if no step begins any more, and no call is answered. */
  get isLeft(): boolean {
    return this.#state === "suspended" || this.#state === "left";
  }

  /** Throws if the iteration was suspended or left. */
  refuseLeft(): void {
    if (this.isLeft) throw new IterationLeft();
  }

  /** Ends the work without a verdict, with an error if something failed. The caller throws the result. */
  leave(error?: unknown): IterationLeft {
    if (error instanceof IterationLeft) return error;
    this.#enter("leave");
    if (error === undefined) this.#end.resolve({ left: true });
    else this.#end.reject(error);
    return new IterationLeft();
  }

  /** Called when the iteration has returned its verdict. */
  drain(): void {
    this.#enter("verdict");
  }

  /** Resolves when all calls of tools and models have ended, or the iteration is left. */
  async drained(): Promise<void> {
    if (this.#calls > 0 && !this.isLeft) await new Promise<void>((done) => this.#whenDrained.push(done));
  }

  /**
   * Resolves when no work is under way, so that the verdict is final, or when the iteration is left. Waiters are
   * dropped.
   */
  async close(): Promise<void> {
    this.#enter("close");
    if (this.#active > 0 && !this.isLeft) await new Promise<void>((idle) => this.#whenIdle.push(idle));
  }

  /** Has no effect if the iteration was left before. */
  conclude(verdict: Verdict): void {
    this.#end.resolve(verdict);
  }

  /** An error of the store or the lease ends the work, because the iteration could not handle it. */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    this.refuseLeft();
    try {
      return await work();
    } catch (error) {
      throw this.leave(error);
    }
  }

  /** Counts a tool or model call until it ends. */
  async call<T>(work: () => Promise<T>): Promise<T> {
    this.#calls++;
    try {
      return await work();
    } finally {
      this.#calls--;
      if (this.#calls === 0) for (const done of this.#whenDrained.splice(0)) done();
    }
  }

  /** Counts as work under way while this runs. */
  during<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#counted(work);
    // Otherwise waiters would be checked only after this work has ended.
    if (this.#waiters.size > 0) void this.#watch();
    return done;
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    this.#active++;
    try {
      return await work();
    } finally {
      this.#active--;
      this.#planCheck();
    }
  }

  /** Resolves when the waiter is ready; rejects with IterationLeft if the run is suspended or the work ends before. */
  wait<T>(waiter: Waiter<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const leave = () => reject(new IterationLeft());
      if (!this.#mayWait()) return leave();
      this.#waiters.add({ ...waiter, ready: () => waiter.ready(resolve, reject), leave });
      this.#planCheck();
      // The waiter may be due before the next check.
      this.#checkNow?.abort();
      if (this.#active > 0) void this.#watch();
    });
  }

  #enter(event: LifeEvent): void {
    this.#state = nextState(this.#state, event);
    if (this.isLeft) for (const settle of [...this.#whenDrained.splice(0), ...this.#whenIdle.splice(0)]) settle();
    if (this.#mayWait()) return;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const { leave } of waiters) leave();
  }

  #mayWait(): boolean {
    return this.#state === "open" || this.#state === "draining";
  }

  #planCheck(): void {
    if (this.#active > 0) return;
    for (const idle of this.#whenIdle.splice(0)) idle();
    if (this.#isCheckPlanned || this.#waiters.size === 0) return;
    this.#isCheckPlanned = true;
    // Deferred, so that the iteration's reaction to an answer begins before the check.
    this.#writer.storage.environment.defer(() => {
      this.#isCheckPlanned = false;
      if (this.#active === 0 && this.#waiters.size > 0) void this.#counted(() => this.#check(() => this.#suspend()));
    });
  }

  /** Checks waiters while other branches of the iteration work. */
  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { environment } = this.#writer.storage;
    while (this.#waiters.size > 0 && !this.#signal.aborted) {
      const times = [...this.#waiters].flatMap(({ until }) => (until === null ? [] : [until - environment.now()]));
      const { controller, free } = linkSignal(this.#signal);
      this.#checkNow = controller;
      await environment.sleep(Math.max(1, Math.min(WATCH_MS, ...times)), controller.signal);
      free();
      if (this.#active === 0) break;
      await this.#check(async () => void (await this.#wakeReady()));
    }
    this.#isWatching = false;
  }

  #check(work: () => Promise<void>): Promise<void> {
    this.#checks = this.#checks.then(work).catch((error: unknown) => void this.leave(error));
    return this.#checks;
  }

  /** Wakes the waiters that are ready. Returns whether there was one. */
  async #wakeReady(): Promise<boolean> {
    let isAnyReady = false;
    for (const waiter of [...this.#waiters]) {
      if (!this.#waiters.has(waiter) || !(await waiter.ready())) continue;
      this.#waiters.delete(waiter);
      isAnyReady = true;
    }
    return isAnyReady;
  }

  async #suspend(): Promise<void> {
    if (this.#waiters.size === 0) return;
    const moved = await this.#writer.move(async ({ cancel }) => {
      // A cancelled run must not be suspended: it would sleep, and no worker would end it.
      if (cancel === 1) this.leave();
      const hasReady = await this.#wakeReady();
      return hasReady || !this.#mayWait() ? null : this.#suspension();
    });
    if (moved === null) return;
    this.#enter("suspend");
    this.#end.resolve({ left: true });
  }

  #suspension(): Change {
    const waiters = [...this.#waiters];
    const waits = waiters.flatMap((one) => (one.waits === null ? [] : [one.waits]));
    const times = waiters.flatMap(({ until }) => (until === null ? [] : [until]));
    const status = waits.length === 0 ? "paused" : "waiting";
    return {
      type: `run/${status}`,
      at: this.#writer.storage.environment.now(),
      before: waiters.flatMap((one) => one.events()),
      changes: {
        status,
        owner: null,
        waits: encodeWaits(waits),
        wake_at: times.length === 0 ? null : Math.min(...times),
      },
      extras: { guards: waiters.flatMap((one) => one.guards?.() ?? []) },
    };
  }
}

/** Aborts when `signal` does, or by itself; `free` removes the listener from the signal. */
interface LinkedSignal {
  readonly controller: AbortController;
  readonly free: () => void;
}

/**
 * This is not AbortSignal.any(), because Node keeps the listeners of such a signal for ever, even if it can no longer
 * abort.
 */
export function linkSignal(signal: AbortSignal): LinkedSignal {
  const controller = new AbortController();
  const follow = () => controller.abort(signal.reason);
  if (signal.aborted) follow();
  else signal.addEventListener("abort", follow, { once: true });
  return { controller, free: () => signal.removeEventListener("abort", follow) };
}
