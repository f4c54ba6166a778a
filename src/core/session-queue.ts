// Orders changes that cannot be committed at once, because their payloads take time to prepare (bytes outside the
// database, very large messages) or because something must be looked up first. Changes of one session are committed in
// the order of the calls; their preparation runs in parallel.

export class SessionQueue {
  readonly #last = new Map<string, Promise<void>>();

  /** Identifies the last entry of the session's queue: as long as it is the same, no other call has queued behind it. */
  lastEntry(session: string): object | undefined {
    return this.#last.get(session);
  }

  /** True while a change of the session waits or prepares: later changes must queue behind it. */
  isBusy(session: string): boolean {
    return this.#last.has(session);
  }

  /**
   * Calls `write` after all earlier entries of the session. The next entry starts when `write` calls `release` (its commit
   * is in the commit queue and keeps its position there), or when `write` ends.
   */
  async enqueue<P, T>(
    session: string,
    preparing: Promise<P>,
    write: (prepared: P, release: () => void) => Promise<T>,
  ): Promise<T> {
    const before = this.#last.get(session);
    const { promise: entry, resolve } = Promise.withResolvers<void>();
    this.#last.set(session, entry);
    const release = () => {
      if (this.#last.get(session) === entry) this.#last.delete(session);
      resolve();
    };
    try {
      const [prepared] = await Promise.allSettled([preparing, before]);
      if (prepared.status === "rejected") throw prepared.reason;
      return await write(prepared.value, release);
    } finally {
      release();
    }
  }
}
