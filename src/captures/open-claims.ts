// The claims that one open store has or waits for. They end when the store closes: nothing else could release them, and a process that
// closed its store must be able to end.
import type { RequestClaim } from "../contracts/captures.ts";
import type { Environment } from "../contracts/environment.ts";

/** How long close() waits for releases. A claim that is not released by then ends with its lease. */
const RELEASE_MS = 1000;

export class OpenClaims {
  readonly #closing = new AbortController();
  readonly #held = new Set<RequestClaim>();

  /** Aborted when the store closes. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  add(claim: RequestClaim): void {
    this.#held.add(claim);
  }

  delete(claim: RequestClaim): void {
    this.#held.delete(claim);
  }

  async close(environment: Environment): Promise<void> {
    this.#closing.abort();
    if (this.#held.size === 0) return;
    const done = new AbortController();
    const released = Promise.allSettled([...this.#held].map((claim) => claim.release())).then(() => done.abort());
    await Promise.race([released, environment.sleep(RELEASE_MS, done.signal)]);
  }
}
