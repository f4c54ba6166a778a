// Tools and models that an iteration has asked for and that have not ended, awaited or not: it does not end before they do.

export class InFlight {
  #count = 0;
  #whenDrained: (() => void)[] = [];

  async count<T>(work: () => Promise<T>): Promise<T> {
    this.#count++;
    try {
      return await work();
    } finally {
      this.#count--;
      if (this.#count === 0) for (const go of this.#whenDrained.splice(0)) go();
    }
  }

  /** Once all have ended. One that a person is asked about puts the run to sleep, and this never resolves. */
  async drained(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((go) => this.#whenDrained.push(go));
  }
}
