// Text that models stream while they answer. It is passed to listeners in this process, and never stored (rule RU8).
import type { Token } from "../contracts/workers.ts";

/** How many tokens are kept for a slow listener; it loses the oldest. */
const MOST_WAITING = 10_000;

export class Tokens {
  readonly #listeners = new Set<(token: Token) => void>();

  say(token: Token): void {
    for (const listen of this.#listeners) listen(token);
  }

  async *listen(run: string | undefined, signal: AbortSignal | undefined): AsyncGenerator<Token, void, undefined> {
    const waiting: Token[] = [];
    let wake = () => {};
    const heard = (token: Token) => {
      if (run !== undefined && token.run !== run) return;
      waiting.push(token);
      if (waiting.length > MOST_WAITING) waiting.shift();
      wake();
    };
    const stop = () => wake();
    this.#listeners.add(heard);
    signal?.addEventListener("abort", stop);
    try {
      while (signal?.aborted !== true) {
        const next = waiting.shift();
        if (next !== undefined) yield next;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      this.#listeners.delete(heard);
      signal?.removeEventListener("abort", stop);
    }
  }
}
