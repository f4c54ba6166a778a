// The grace time of `holdfast run`: how long it may go on after the agent has ended, or after a signal asked it to stop.
// Orchestrators kill what does not end in time, and then nobody says what was saved.
import type { Environment } from "../../contracts/environment.ts";

/** Of the grace time, this much is kept for saving: an agent that is still there then is killed. */
const SAVING_MS = 3000;

export class Grace {
  readonly ms: number;
  readonly #environment: Pick<Environment, "monotonic" | "sleep">;
  readonly #began = Promise.withResolvers<void>();
  #deadline: number | null = null;

  constructor(ms: number, environment: Pick<Environment, "monotonic" | "sleep">) {
    this.ms = ms;
    this.#environment = environment;
  }

  /** What the agent gets of it. */
  get agentMs(): number {
    return this.ms - Math.min(SAVING_MS, this.ms / 2);
  }

  /** The first call counts. */
  begin(): void {
    if (this.#deadline !== null) return;
    this.#deadline = this.#environment.monotonic() + this.ms;
    this.#began.resolve();
  }

  /** Resolves when the agent must be gone; never, if the grace time does not begin. */
  async agentIsLate(signal: AbortSignal): Promise<void> {
    await this.#began.promise;
    await this.#environment.sleep(Math.max(0, this.#remainingMs() - (this.ms - this.agentMs)), signal);
  }

  /** Begins, and resolves when the time is over or the signal aborts. */
  async over(signal: AbortSignal): Promise<void> {
    this.begin();
    await this.#environment.sleep(Math.max(0, this.#remainingMs()), signal);
  }

  #remainingMs(): number {
    return (this.#deadline ?? Number.POSITIVE_INFINITY) - this.#environment.monotonic();
  }
}
