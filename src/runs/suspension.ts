// Letting go of a worker. An iteration may wait at several places at once, beside others that are still at work: it is put
// to sleep only when nothing of it is at work any more, by one commit that names everything that wakes it. Whatever arrives
// meanwhile changes the run's version, and sends that commit back.

import type { Waits } from "../contracts/run-waits.ts";
import type { EventDraft, Guard } from "../contracts/storage.ts";
import { linked } from "../core/abort.ts";
import { encodeWaits } from "./waits.ts";
import type { Change, Writer } from "./writer.ts";

/** A place at which the iteration cannot go on by itself. */
export interface Waiter {
  /** Goes on, if it can by now: what it waited for has come, or its time is over. */
  readonly ready: () => Promise<boolean>;
  /** null: only time can wake it. */
  readonly waits: Waits | null;
  readonly until: number | null;
  /** What is written of it when the run goes to sleep. */
  readonly events: () => readonly EventDraft[];
  readonly guards?: () => readonly Guard[];
}

/** How often those who wait are looked after while something else of the iteration is at work. */
const WATCH_MS = 1000;

export class Suspension {
  readonly #writer: Writer;
  readonly #leave: (error?: unknown) => Promise<never>;
  readonly #signal: AbortSignal;
  readonly #waiters = new Set<Waiter>();
  #active = 0;
  #whenIdle: (() => void)[] = [];
  #isOver = false;
  /** Set when something else ended the work on the iteration: nothing is checked or written for it any more. */
  isLeft = false;
  #isLooking = false;
  #isWatching = false;
  #poke: AbortController | null = null;
  /** One at a time asks the waiters. */
  #turn: Promise<void> = Promise.resolve();

  constructor(writer: Writer, leave: (error?: unknown) => Promise<never>, signal: AbortSignal) {
    this.#writer = writer;
    this.#leave = leave;
    this.#signal = signal;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Something is at work while this runs. */
  during<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#counted(work);
    // Those who wait already would otherwise be asked only when this has ended.
    if (this.#waiters.size > 0) void this.#watch();
    return done;
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    this.#active++;
    try {
      return await work();
    } finally {
      this.#active--;
      this.#look();
    }
  }

  wait(waiter: Waiter): void {
    this.#waiters.add(waiter);
    this.#look();
    // Its time may come before the next look.
    this.#poke?.abort();
    if (this.#active > 0) void this.#watch();
  }

  /** The iteration has come to its end: what is still at work is waited for, what still waits is left. */
  async over(): Promise<void> {
    this.#isOver = true;
    if (this.#active === 0) return;
    await new Promise<void>((idle) => {
      this.#whenIdle.push(idle);
    });
  }

  #look(): void {
    if (this.#active > 0) return;
    for (const idle of this.#whenIdle.splice(0)) idle();
    if (this.#isLooking || this.isLeft || this.#isOver || this.#waiters.size === 0) return;
    this.#isLooking = true;
    // What an answer lets the iteration do next begins before this.
    this.#writer.storage.environment.defer(() => {
      this.#isLooking = false;
      if (this.#active === 0 && !this.isLeft && !this.#isOver)
        void this.#counted(() => this.#inTurn(() => this.#sleep()));
    });
  }

  /** Beside others at work: whose time has come, or what they waited for, goes on. */
  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { environment } = this.#writer.storage;
    while (this.#waiters.size > 0 && !this.isLeft && !this.#isOver && !this.#signal.aborted) {
      const times = [...this.#waiters].flatMap(({ until }) => (until === null ? [] : [until - environment.now()]));
      const { controller, free } = linked(this.#signal);
      this.#poke = controller;
      await environment.sleep(Math.max(1, Math.min(WATCH_MS, ...times)), controller.signal);
      free();
      if (this.#active === 0) break;
      await this.#inTurn(async () => void (await this.#ask()));
    }
    this.#isWatching = false;
  }

  /** Whether any of them goes on. */
  async #ask(): Promise<boolean> {
    let goes = false;
    for (const waiter of [...this.#waiters]) {
      if (this.isLeft || this.#isOver || !(await waiter.ready())) continue;
      this.#waiters.delete(waiter);
      goes = true;
    }
    return goes;
  }

  async #sleep(): Promise<void> {
    if (this.#waiters.size === 0) return;
    const moved = await this.#writer.move(async ({ cancel }) => {
      // It would wait, and nobody would come to end it.
      if (cancel === 1) this.#end();
      return cancel === 1 || this.isLeft || (await this.#ask()) || this.isLeft ? null : this.#change();
    });
    if (moved !== null) this.#end();
  }

  /** Those who wait are asked no more: they would be, without end. */
  #end(error?: unknown): void {
    this.#isOver = true;
    void this.#leave(error);
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work).catch((error: unknown) => this.#end(error));
    return this.#turn;
  }

  #change(): Change {
    const waiters = [...this.#waiters];
    const waits = waiters.flatMap((one) => (one.waits === null ? [] : [one.waits]));
    const times = waiters.flatMap(({ until }) => (until === null ? [] : [until]));
    const status = waits.length === 0 ? "paused" : "waiting";
    return {
      ...{ type: `run/${status}`, at: this.#writer.storage.environment.now() },
      before: waiters.flatMap((one) => one.events()),
      changes: {
        ...{ status, owner: null, waits: encodeWaits(waits) },
        wake_at: times.length === 0 ? null : Math.min(...times),
      },
      beside: { guards: waiters.flatMap((one) => one.guards?.() ?? []) },
    };
  }
}
