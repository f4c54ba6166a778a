// Runs pieces of work with the same key, such as a session's id, one after the other in the order of the calls. Work
// with different keys runs concurrently.

export class SerialQueue {
  readonly #last = new Map<string, Promise<void>>();

  /** Identifies the last entry of the key's queue: as long as it is the same, no other call has queued behind it. */
  lastEntry(key: string): object | undefined {
    return this.#last.get(key);
  }

  /** True while an entry of the key waits, prepares or runs: later ones must queue behind it. */
  isBusy(key: string): boolean {
    return this.#last.has(key);
  }

  /** Calls `work` after all earlier entries of the key. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const { before, release } = this.#enter(key);
    await before;
    try {
      return await work();
    } finally {
      release();
    }
  }

  /**
   * The same for work that takes time to prepare: preparation runs while earlier entries run. The next entry starts
   * when `write` calls `release` (its commit is in the commit queue and keeps its position there), or when `write`
   * ends.
   */
  async prepareAndRun<P, T>(
    key: string,
    preparing: Promise<P>,
    write: (prepared: P, release: () => void) => Promise<T>,
  ): Promise<T> {
    const { before, release } = this.#enter(key);
    try {
      const [prepared] = await Promise.allSettled([preparing, before]);
      if (prepared.status === "rejected") throw prepared.reason;
      return await write(prepared.value, release);
    } finally {
      release();
    }
  }

  #enter(key: string): { readonly before: Promise<void> | undefined; readonly release: () => void } {
    const before = this.#last.get(key);
    const { promise: entry, resolve } = Promise.withResolvers<void>();
    this.#last.set(key, entry);
    const release = () => {
      if (this.#last.get(key) === entry) this.#last.delete(key);
      resolve();
    };
    return { before, release };
  }
}
