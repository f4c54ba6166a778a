// Bounds what one query takes: time, rows and values held. It also lets the event loop run between slices of work.
import type { Environment } from "../../../contracts/environment.ts";
import { HoldfastError } from "../../../contracts/errors.ts";
import { SampledSlice, TimeSlice } from "../../../core/time-slice.ts";
import { CYPHER_LIMITS, exceedsLimit } from "../limits.ts";
import { type CypherValue, isList } from "../values/value.ts";

export interface QueryLimits {
  /** Rows of the result. */
  readonly maxRows: number;
  readonly maxIntermediateRows: number;
  readonly maxHeldValues: number;
  readonly timeoutMs: number;
}

export const DEFAULT_LIMITS: QueryLimits = {
  maxRows: CYPHER_LIMITS.cypherRows,
  maxIntermediateRows: CYPHER_LIMITS.cypherIntermediateRows,
  maxHeldValues: CYPHER_LIMITS.cypherHeldValues,
  timeoutMs: CYPHER_LIMITS.cypherMs,
};

/** Items and characters from which a list or text is counted when it is made. */
const LONG_LIST = 256;
const LONG_TEXT = 1024;

/** How much a value that is kept counts; long lists and texts were counted when they were made. */
export function sizeOfValue(value: CypherValue | object): number {
  if (typeof value === "string") return value.length < LONG_TEXT ? 1 + (value.length >> 3) : 1;
  return Array.isArray(value) && value.length < LONG_LIST ? 1 + value.length : 1;
}

/** How many steps of work pass between looks at the clock. */
const STEPS_PER_LOOK = 256;

export class QueryMeter {
  readonly limits: QueryLimits;
  readonly #environment: Environment;
  readonly #slice: TimeSlice;
  readonly #sampled: SampledSlice;
  readonly #deadline: number;
  #steps = 0;
  #rows = 0;
  #held = 0;

  constructor(environment: Environment, limits: QueryLimits) {
    this.limits = limits;
    this.#environment = environment;
    this.#slice = new TimeSlice(environment);
    this.#sampled = new SampledSlice(environment);
    this.#deadline = environment.monotonic() + limits.timeoutMs;
  }

  /** Counts rows that a clause produced. */
  countRows(count: number): void {
    this.#rows += count;
    const { maxIntermediateRows } = this.limits;
    if (this.#rows > maxIntermediateRows) {
      throw exceedsLimit("cypherIntermediateRows", maxIntermediateRows, this.#rows, "the query makes too many rows");
    }
  }

  /** Counts values that are kept until the query, or its clause, ends. */
  hold(count: number): void {
    this.#held += count;
    const { maxHeldValues } = this.limits;
    if (this.#held > maxHeldValues) {
      throw exceedsLimit("cypherHeldValues", maxHeldValues, this.#held, "the query holds too many values at once");
    }
  }

  /** Counts a long list or text that an expression made. Short ones are counted where they are kept. */
  holdMade<T extends CypherValue>(value: T): T {
    if (typeof value === "string") {
      if (value.length >= LONG_TEXT) this.hold(value.length >> 3);
    } else if (isList(value) && value.length >= LONG_LIST) this.hold(value.length);
    return value;
  }

  release(count: number): void {
    this.#held -= count;
  }

  /** Before each step of work that cannot pause: it ends the query when its time is over. */
  step(): void {
    if (++this.#steps < STEPS_PER_LOOK) return;
    this.#steps = 0;
    this.checkTime();
  }

  checkTime(): void {
    if (this.#environment.monotonic() < this.#deadline) return;
    const { timeoutMs } = this.limits;
    throw new HoldfastError("QueryTimeout", `the query took longer than ${timeoutMs} ms`, {
      details: { timeoutMs },
      hint: "ask for less, or allow more time",
    });
  }

  /** Before each step of work that can pause, and may cost less than reading the clock. */
  shouldPause(): boolean {
    return this.#sampled.isSpent;
  }

  /** Array.filter that pauses. */
  async filter<T>(items: readonly T[], test: (item: T) => boolean): Promise<readonly T[]> {
    const passed: T[] = [];
    for (const item of items) {
      if (this.shouldPause()) await this.pause();
      if (test(item)) passed.push(item);
    }
    return passed;
  }

  /** Whether it is time to pause. */
  get isSliceSpent(): boolean {
    return this.#slice.isSpent;
  }

  async pause(): Promise<void> {
    if (!this.#slice.isSpent) return;
    this.checkTime();
    await this.#slice.pause();
  }
}
