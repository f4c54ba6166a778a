// The order of appends whose payloads take their time (bytes outside the database, very large messages): what was asked
// for first is handed over first, session by session, while the preparing goes on at once.

export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** True while an append of the session waits for its payload: those behind it must wait for their turn. */
  taken(session: string): boolean {
    return this.#last.has(session);
  }

  /** `write` is called in turn; the next one need not wait for it to end, because it goes into the same queue behind it. */
  async take<P, T>(session: string, preparing: Promise<P>, write: (prepared: P) => Promise<T>): Promise<T> {
    const before = this.#last.get(session);
    const turn = Promise.allSettled([preparing, before]).then(([prepared]) => {
      if (this.#last.get(session) === turn) this.#last.delete(session);
      if (prepared.status === "rejected") return { failed: prepared.reason as unknown };
      return { written: write(prepared.value) };
    });
    this.#last.set(session, turn);
    const outcome = await turn;
    if ("failed" in outcome) throw outcome.failed;
    return outcome.written;
  }
}
