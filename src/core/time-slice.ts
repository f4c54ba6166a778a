// Long work shares the event loop with everything else in the process. It runs in slices of a few milliseconds and lets
// the loop run between two of them, so that timers, sockets and heartbeats are never late by more than a slice.
import type { Environment } from "../contracts/environment.ts";

const SLICE_MS = 10;

/** One pass of the event loop that slices wait for. */
interface LoopPass {
  readonly begun: Promise<void>;
  isTaken: boolean;
}

/** What all slices of an environment share: many that work at once are no longer than one. */
interface LoopShare {
  startedAt: number;
  next: LoopPass | null;
}

const shares = new WeakMap<Environment, LoopShare>();

function shareOf(environment: Environment): LoopShare {
  const known = shares.get(environment);
  if (known !== undefined) return known;
  const made = { startedAt: environment.monotonic(), next: null };
  shares.set(environment, made);
  return made;
}

/** By time and not by a number of rows: what a row costs differs a hundredfold. */
export class TimeSlice {
  readonly #environment: Environment;
  readonly #ms: number;
  readonly #share: LoopShare;

  constructor(environment: Environment, ms = SLICE_MS) {
    this.#environment = environment;
    this.#ms = ms;
    this.#share = shareOf(environment);
  }

  /** Asked in loops before pause(), because waiting for a promise costs more than a look at the clock. */
  get isSpent(): boolean {
    return this.#environment.monotonic() - this.#share.startedAt >= this.#ms;
  }

  /** Returns at once while the slice lasts; otherwise after the event loop has run. */
  async pause(): Promise<void> {
    if (!this.isSpent) return;
    for (;;) {
      const pass = this.#nextPass();
      await pass.begun;
      // The one that waited longest goes on in any case; the others share what it leaves of the slice, in their order.
      if (!pass.isTaken) {
        pass.isTaken = true;
        return;
      }
      if (!this.isSpent) return;
    }
  }

  #nextPass(): LoopPass {
    const share = this.#share;
    if (share.next !== null) return share.next;
    const begun = new Promise<void>((resolve) => {
      this.#environment.defer(() => {
        share.next = null;
        share.startedAt = this.#environment.monotonic();
        resolve();
      });
    });
    const pass = { begun, isTaken: false };
    share.next = pass;
    return pass;
  }
}

/** Long work that says by `yield` where it may be interrupted. */
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
