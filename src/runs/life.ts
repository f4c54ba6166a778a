// The life of one iteration that an execution works on: a state that says what its steps may still do, what of it is at work,
// and what it waits for. An iteration may wait at several places at once, beside others that are at work. It is suspended only
// when nothing of it is at work, by one commit that names everything that wakes the run. Whatever arrives meanwhile changes the
// run's version, and that commit is refused.

import type { Verdict } from "../contracts/agent-definitions.ts";
import type { Waits } from "../contracts/run-waits.ts";
import type { EventDraft, Guard } from "../contracts/storage/commit.ts";
import { encodeWaits } from "../core/run-waits.ts";
import type { Change, Writer } from "./writer.ts";

/**
 * - open: steps begin.
 * - draining: the verdict is given; steps that were begun end, and steps of the journal may be asked for again.
 * - over: the verdict counts; what is still at work ends.
 * - suspended: the run's row says what wakes the run, and no worker has it.
 * - left: something else ended the work: the lease is lost, the worker stops, the run is cancelled, the store failed.
 */
export type LifeState = "open" | "draining" | "over" | "suspended" | "left";

export type LifeEvent = "verdict" | "close" | "suspend" | "leave";

const TRANSITIONS: Readonly<Record<LifeState, Partial<Readonly<Record<LifeEvent, LifeState>>>>> = {
  open: { verdict: "draining", close: "over", suspend: "suspended", leave: "left" },
  draining: { close: "over", suspend: "suspended", leave: "left" },
  // A store that fails beside a verdict takes the verdict back: the iteration is replayed.
  over: { leave: "left" },
  suspended: {},
  left: {},
};

/** The same state where the event has no effect in it. */
export function nextState(state: LifeState, event: LifeEvent): LifeState {
  return TRANSITIONS[state][event] ?? state;
}

/** Thrown by steps of an iteration that is suspended or left. The agent's code never sees it: its call gets no answer. */
export class IterationLeft extends Error {
  constructor() {
    super("bug: an agent was told that its iteration was left");
    this.name = "IterationLeft";
  }
}

/** How the work on an iteration ends: with its verdict, or without one. */
export type IterationEnd = { readonly left: true } | Verdict;

/** A place at which the iteration cannot go on by itself, until it gets a value. */
export interface Waiter<T> {
  /** Whether it can go on: what it waits for has come, or its time is over. Then it has called `resume`, or `fail`. */
  readonly ready: (resume: (value: T) => void, fail: (error: unknown) => void) => Promise<boolean>;
  /** null: only time can wake it. */
  readonly waits: Waits | null;
  readonly until: number | null;
  /** Events that the suspending commit writes for it. */
  readonly events: () => readonly EventDraft[];
  readonly guards?: () => readonly Guard[];
}

interface PendingWait extends Omit<Waiter<never>, "ready"> {
  readonly ready: () => Promise<boolean>;
  readonly leave: () => void;
}

/** How often waiters are checked while another part of the iteration is at work. */
const WATCH_MS = 1000;

export class IterationLife {
  readonly #writer: Writer;
  readonly #signal: AbortSignal;
  readonly #end = Promise.withResolvers<IterationEnd>();
  readonly #waiters = new Set<PendingWait>();
  #state: LifeState = "open";
  /** Pieces of work under way. Those that wait are not counted. */
  #active = 0;
  #whenIdle: (() => void)[] = [];
  /** Tools and models that have not ended, those that wait for a person included. */
  #calls = 0;
  #whenDrained: (() => void)[] = [];
  #isCheckPlanned = false;
  #isWatching = false;
  #checkNow: AbortController | null = null;
  /** Waiters are checked one at a time. */
  #checks: Promise<void> = Promise.resolve();

  constructor(writer: Writer, signal: AbortSignal) {
    this.#writer = writer;
    this.#signal = signal;
  }

  get state(): LifeState {
    return this.#state;
  }

  /** Resolves with how the work ends; rejects with what went wrong with the store or the lease. */
  get end(): Promise<IterationEnd> {
    return this.#end.promise;
  }

  /** Nothing begins any more, and no call is answered. */
  get isLeft(): boolean {
    return this.#state === "suspended" || this.#state === "left";
  }

  /** Throws where the iteration was suspended or left. */
  refuseLeft(): void {
    if (this.isLeft) throw new IterationLeft();
  }

  /** Ends the work without a verdict, with an error when something failed. The caller throws what this returns. */
  leave(error?: unknown): IterationLeft {
    if (error instanceof IterationLeft) return error;
    this.#enter("leave");
    if (error === undefined) this.#end.resolve({ left: true });
    else this.#end.reject(error);
    return new IterationLeft();
  }

  /** The iteration has given its verdict. */
  drain(): void {
    this.#enter("verdict");
  }

  /** Once all tools and models that were called have ended, or the iteration is left. */
  async drained(): Promise<void> {
    if (this.#calls > 0 && !this.isLeft) await new Promise<void>((done) => this.#whenDrained.push(done));
  }

  /** The verdict counts as soon as nothing is at work, or the iteration is left; waiters are dropped. */
  async close(): Promise<void> {
    this.#enter("close");
    if (this.#active > 0 && !this.isLeft) await new Promise<void>((idle) => this.#whenIdle.push(idle));
  }

  /** Has no effect when the iteration was left before. */
  conclude(verdict: Verdict): void {
    this.#end.resolve(verdict);
  }

  /** Trouble with the store or the lease ends the work: an iteration could not do anything about it. */
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

  /** Counts as at work while this runs. */
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

  /** Resolves once the waiter is ready; rejects with IterationLeft when the run is suspended or the work ends before. */
  wait<T>(waiter: Waiter<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const leave = () => reject(new IterationLeft());
      if (!this.#mayWait()) return leave();
      this.#waiters.add({ ...waiter, ready: () => waiter.ready(resolve, reject), leave });
      this.#planCheck();
      // Its time may come before the next check.
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
    // Deferred, so that whatever an answer lets the iteration do next begins before.
    this.#writer.storage.environment.defer(() => {
      this.#isCheckPlanned = false;
      if (this.#active === 0 && this.#waiters.size > 0) void this.#counted(() => this.#check(() => this.#suspend()));
    });
  }

  /** While other parts of the iteration are at work: waiters whose time or event has come go on. */
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

  /** Whether any waiter goes on. */
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
      // A run that is to be cancelled would sleep, and no worker would come to end it.
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

/** Not AbortSignal.any(): Node keeps the listeners of such a signal for ever, even when it can no longer abort. */
export function linkSignal(signal: AbortSignal): LinkedSignal {
  const controller = new AbortController();
  const follow = () => controller.abort(signal.reason);
  if (signal.aborted) follow();
  else signal.addEventListener("abort", follow, { once: true });
  return { controller, free: () => signal.removeEventListener("abort", follow) };
}
