// A stream of an open store whose code may still be loading.

/**
 * An iterator whose code is loaded later. It begins with its first next(), as a generator does. It is not a generator,
 * because return() must reach an iterator that waits in next(), and a generator would queue that call.
 */
export class LazyStream implements AsyncIterableIterator<unknown> {
  readonly #begin: () => Promise<AsyncIterator<unknown>>;
  #inner: Promise<AsyncIterator<unknown>> | null = null;
  /** Set once the code is loaded, so that next() costs no extra promise. */
  #ready: AsyncIterator<unknown> | null = null;
  #waiting = 0;
  #isOver = false;

  constructor(begin: () => Promise<AsyncIterator<unknown>>) {
    this.#begin = begin;
  }

  next(): Promise<IteratorResult<unknown>> {
    return this.#ready?.next() ?? this.#firstNext();
  }

  async #firstNext(): Promise<IteratorResult<unknown>> {
    if (this.#isOver && this.#inner === null) return { value: undefined, done: true };
    this.#inner ??= this.#begin();
    this.#waiting++;
    const inner = await this.#inner;
    this.#waiting--;
    const result = inner.next();
    // Calls are answered in order: waiting ones come first.
    if (this.#waiting === 0) this.#ready = inner;
    return result;
  }

  async return(value?: unknown): Promise<IteratorResult<unknown>> {
    this.#isOver = true;
    await (await this.#inner?.catch(() => undefined))?.return?.();
    return { value, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
