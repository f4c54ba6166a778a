// Long work shares the event loop with everything else in the process. It runs in slices of a few milliseconds, and the
// event loop runs between them, so that timers, sockets and heartbeats are never late by more than a slice.
import type { Environment } from "../contracts/environment.ts";

const SLICE_MS = 10;

/** The number of microtasks within which resumed work has begun to run. */
const TICKS_TO_RESUME = 4;

interface PausedWork {
  readonly ms: number;
  readonly resume: () => void;
}

/**
 * The time that all slices of an environment share: any number of them together blocks the event loop no longer than
 * one.
 */
class LoopShare {
  readonly #environment: Environment;
  /** Paused work, the earliest first. */
  readonly #paused: PausedWork[] = [];
  #startedAt: number;
  #isWaiting = false;

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#startedAt = environment.monotonic();
  }

  isSpent(ms: number): boolean {
    return this.#environment.monotonic() - this.#startedAt >= ms;
  }

  pause(ms: number): Promise<void> {
    return new Promise((resume) => {
      this.#paused.push({ ms, resume });
      this.#await();
    });
  }

  #await(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#environment.defer(() => void this.#resume());
  }

  /** The work that waited longest always continues. The others continue while time is left in the slice. */
  async #resume(): Promise<void> {
    this.#startedAt = this.#environment.monotonic();
    for (let next = this.#paused.shift(); next !== undefined; next = this.#paused.shift()) {
      next.resume();
      for (let tick = 0; tick < TICKS_TO_RESUME; tick++) await undefined;
      const [following] = this.#paused;
      if (following === undefined || this.isSpent(following.ms)) break;
    }
    this.#isWaiting = false;
    if (this.#paused.length > 0) this.#await();
  }
}

const shares = new WeakMap<Environment, LoopShare>();

function shareOf(environment: Environment): LoopShare {
  const known = shares.get(environment);
  if (known !== undefined) return known;
  const made = new LoopShare(environment);
  shares.set(environment, made);
  return made;
}

/** A slice is measured in time and not in rows, because the cost of rows differs a hundredfold. */
export class TimeSlice {
  readonly #ms: number;
  readonly #share: LoopShare;

  constructor(environment: Environment, ms = SLICE_MS) {
    this.#ms = ms;
    this.#share = shareOf(environment);
  }

  /** Loops check this before pause(), because awaiting a promise costs more than reading the clock. */
  get isSpent(): boolean {
    return this.#share.isSpent(this.#ms);
  }

  /** Returns at once while the slice lasts; otherwise after the event loop has run. */
  async pause(): Promise<void> {
    if (this.isSpent) await this.#share.pause(this.#ms);
  }
}

/** If steps take less than this, only every 16th step reads the clock. */
const QUICK_MS = 0.01;
const QUICK_STEPS = 16;

/** A slice for steps that may cost less than reading the clock. All its users run steps of the same work. */
export class SampledSlice {
  readonly #environment: Environment;
  readonly #slice: TimeSlice;
  #lookedAt = 0;
  #stepsToLook = 1;
  #steps = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#slice = new TimeSlice(environment);
  }

  /** Checked before every step. */
  get isSpent(): boolean {
    if (++this.#steps < this.#stepsToLook) return false;
    const now = this.#environment.monotonic();
    const isQuick = now - this.#lookedAt < QUICK_MS * this.#steps;
    this.#stepsToLook = isQuick ? QUICK_STEPS : 1;
    this.#lookedAt = now;
    this.#steps = 0;
    return this.#slice.isSpent;
  }

  pause(): Promise<void> {
    return this.#slice.pause();
  }
}

/** Long work that may be interrupted at every `yield`. */
export type InterruptibleWork<T> = Generator<void, T, void>;

export async function runInSlices<T>(work: InterruptibleWork<T>, slice: TimeSlice): Promise<T> {
  for (let next = work.next(); ; next = work.next()) {
    if (next.done === true) return next.value;
    if (slice.isSpent) await slice.pause();
  }
}

export function runAtOnce<T>(work: InterruptibleWork<T>): T {
  for (let next = work.next(); ; next = work.next()) if (next.done === true) return next.value;
}

/** Lets other work use the event loop between the steps of a long one, whatever time they took. */
export function yieldToEventLoop(environment: Environment): Promise<void> {
  return new Promise((resolve) => {
    environment.defer(resolve);
  });
}
