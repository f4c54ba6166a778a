// Environments for tests. simulatedEnvironment: nothing happens by itself and one integer seed reproduces everything.
// adjustableEnvironment: the machine's own clock and timers, which a test can push forward.
import { setImmediate as macrotask } from "node:timers/promises";
import type { Environment, LogLevel } from "../contracts/environment.ts";
import { realEnvironment } from "../core/environment.ts";
import type { Clock } from "./suite.ts";

export interface SimulatedEnvironment extends Environment, Clock {
  readonly seed: number;
  readonly logs: readonly {
    readonly at: number;
    readonly level: LogLevel;
    readonly event: string;
    readonly fields: Readonly<Record<string, unknown>>;
  }[];
  /** How many sleepers wait. */
  sleepers(): number;
  /**
   * Moves both clocks; sleepers that are due on the way wake at their own time, in order; a macrotask passes after
   * each.
   */
  advance(ms: number): Promise<void>;
}

/** 2026-01-01T00:00:00Z: a plausible time, the same in every simulation. */
const START_MS = 1_767_225_600_000;

export function simulatedEnvironment(seed: number): SimulatedEnvironment {
  const sleeping = new Sleepers();
  const logs: SimulatedEnvironment["logs"][number][] = [];
  const next = xorshift128(seed);
  let monotonic = 0;
  let skew = 0;
  const now = () => START_MS + skew + monotonic;
  return {
    seed,
    logs,
    isTimeSource: true,
    now,
    monotonic: () => monotonic,
    random: (bytes) => Uint8Array.from({ length: bytes }, () => next() & 0xff),
    sleep: (ms, signal) => sleeping.add(monotonic + Math.max(0, ms), signal),
    defer: (run) => {
      setImmediate(run);
    },
    log: (level, event, fields = {}) => {
      logs.push({ at: now(), level, event, fields });
    },
    sleepers: () => sleeping.size,
    advance: async (ms) => {
      const end = monotonic + ms;
      await macrotask();
      for (let due = sleeping.earliest(); due !== undefined && due <= end; due = sleeping.earliest()) {
        monotonic = Math.max(monotonic, due);
        sleeping.wakeOne();
        await macrotask();
      }
      monotonic = end;
      await macrotask();
    },
    jump: (ms) => {
      skew += ms;
    },
  };
}

/** Time passes as on the machine, and `advance` adds to it at once; sleepers that are then due wake. */
export function adjustableEnvironment(): Environment & Clock {
  const { idle: _, ...real } = realEnvironment();
  const pushed = new Sleepers();
  let offset = 0;
  let skew = 0;
  const monotonic = () => real.monotonic() + offset;
  return {
    ...real,
    isTimeSource: true,
    now: () => real.now() + offset + skew,
    monotonic,
    sleep: async (ms, signal) => {
      const awake = new AbortController();
      const stop = signal === undefined ? awake.signal : AbortSignal.any([signal, awake.signal]);
      await Promise.race([real.sleep(ms, stop), pushed.add(monotonic() + ms, stop)]);
      awake.abort();
    },
    advance: async (ms) => {
      offset += ms;
      while ((pushed.earliest() ?? Number.POSITIVE_INFINITY) <= monotonic()) pushed.wakeOne();
      await macrotask();
    },
    jump: (ms) => {
      skew += ms;
    },
  };
}

/** The sleepers and their times; equal times wake in the order they came. */
class Sleepers {
  #waiting: { readonly due: number; readonly wake: () => void }[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  add(due: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = () => {
        this.#waiting = this.#waiting.filter((one) => one !== sleeper);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper = { due, wake };
      const after = this.#waiting.findIndex((one) => one.due > due);
      this.#waiting.splice(after === -1 ? this.#waiting.length : after, 0, sleeper);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }

  earliest(): number | undefined {
    return this.#waiting[0]?.due;
  }

  wakeOne(): void {
    this.#waiting[0]?.wake();
  }
}

/** Marsaglia's xorshift128: 32 bits at a time, the same for the same seed on every machine. */
export function xorshift128(seed: number): () => number {
  // splitmix32 spreads a small seed over the whole state, which must not be all zeros.
  let mixed = seed >>> 0;
  const mix = () => {
    mixed = (mixed + 0x9e3779b9) >>> 0;
    let z = mixed;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  };
  let [x, y, z, w] = [mix(), mix(), mix(), mix() | 1];
  return () => {
    const t = x ^ (x << 11);
    [x, y, z] = [y, z, w];
    w = (w ^ (w >>> 19) ^ t ^ (t >>> 8)) >>> 0;
    return w;
  };
}
