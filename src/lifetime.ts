// From open to close: calls under way are waited for, calls after close() are refused.
import { HoldfastError } from "./contracts/errors.ts";

export class Lifetime {
  #underWay = 0;
  #whenNone: (() => void) | null = null;
  readonly #end: () => Promise<void>;
  readonly #hurry: () => Promise<void>;
  #closing: Promise<void> | null = null;

  /** `end` runs once, when nothing is under way any more; `hurry` before, so that what is under way comes to its end. */
  constructor(end: () => Promise<void>, hurry: () => Promise<void> = async () => {}) {
    this.#end = end;
    this.#hurry = hurry;
  }

  /** The same noun, each of whose calls is counted while it runs. What is iterated over ends by itself. */
  of<T extends object>(noun: T): T {
    const calls = Object.entries(noun).map(([name, member]) => [name, this.#call(member)]);
    return Object.freeze(Object.fromEntries(calls)) as T;
  }

  #call(member: unknown): unknown {
    if (typeof member !== "function") return member;
    return (...args: readonly unknown[]) => {
      if (this.#closing !== null) return refused();
      const result: unknown = member(...args);
      if (!(result instanceof Promise)) return result;
      this.#underWay++;
      result.then(this.#done, this.#done);
      return result;
    };
  }

  readonly #done = (): void => {
    this.#underWay--;
    if (this.#underWay === 0) this.#whenNone?.();
  };

  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    await this.#hurry();
    if (this.#underWay > 0) {
      await new Promise<void>((none) => {
        this.#whenNone = none;
      });
    }
    await this.#end();
  }
}

/** Awaited or iterated, the answer is the error; an unhandled rejection is not raised. */
function refused(): Promise<never> & AsyncIterable<never> {
  const rejected = Promise.reject(closed());
  rejected.catch(() => {});
  return Object.assign(rejected, {
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(closed()) }),
  });
}

function closed(): HoldfastError {
  return new HoldfastError("Closed", "the store is closed", { hint: "Open it again; close() comes last." });
}
