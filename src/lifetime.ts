// From open to close: calls under way are waited for, calls after close() are refused.
import { HoldfastError } from "./contracts/errors.ts";
import type { VerbKind } from "./contracts/verbs/vocabulary.ts";

type AnyFunction = (...args: readonly unknown[]) => unknown;

/** How the members of a noun answer: its verbs in the catalogue. */
type VerbKinds<T> = { readonly [K in keyof T]: { readonly kind: VerbKind } };

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

  /** The same noun, whose reads and writes are counted while they run. A stream ends by itself. */
  of<T extends object>(noun: T, verbs: VerbKinds<T>): T {
    const calls = Object.entries<{ readonly kind: VerbKind }>(verbs).map(([name, { kind }]) => {
      const member = noun[name as keyof T] as AnyFunction;
      return [name, kind === "read" || kind === "write" ? this.#counted(member) : this.#refusing(member)];
    });
    return Object.freeze(Object.fromEntries(calls)) as T;
  }

  #counted(member: AnyFunction): AnyFunction {
    return (...args) => {
      if (this.#closing !== null) return refused();
      const result = member(...args) as Promise<unknown>;
      this.#underWay++;
      result.then(this.#done, this.#done);
      return result;
    };
  }

  #refusing(member: AnyFunction): AnyFunction {
    return (...args) => (this.#closing === null ? member(...args) : refused());
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
