// The order of changes that cannot be handed over at once, because their payloads take their time (bytes outside the
// database, very large messages) or because something must be looked up first: what was asked for first is handed over
// first, session by session, while the preparing goes on meanwhile.

export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Stands for the last turn in line: as long as it is the same, nobody came behind. */
  last(session: string): object | undefined {
    return this.#last.get(session);
  }

  /** True while a change of the session has not had its turn: those behind it must wait for theirs. */
  taken(session: string): boolean {
    return this.#last.has(session);
  }

  /**
   * `write` is called in turn. The next one comes when it calls `pass`, once its commit is in the queue and will keep its
   * place there, or else when it ends.
   */
  async take<P, T>(
    session: string,
    preparing: Promise<P>,
    write: (prepared: P, pass: () => void) => Promise<T>,
  ): Promise<T> {
    const before = this.#last.get(session);
    const { promise: turn, resolve } = Promise.withResolvers<void>();
    this.#last.set(session, turn);
    const pass = () => {
      if (this.#last.get(session) === turn) this.#last.delete(session);
      resolve();
    };
    try {
      const [prepared] = await Promise.allSettled([preparing, before]);
      if (prepared.status === "rejected") throw prepared.reason;
      return await write(prepared.value, pass);
    } finally {
      pass();
    }
  }
}
