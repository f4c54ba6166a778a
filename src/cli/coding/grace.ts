// The grace time of `holdfast run`: how long it may go on after the agent has ended, or after a signal asked it to stop.
// An orchestrator kills a program that does not end in time, and the program then cannot say what it saved.
import type { Environment } from "../../contracts/environment.ts";

/** Of the grace time, this much is kept for saving: an agent that is still there then is killed. */
const SAVING_MS = 3000;
/** What reading the session may take on top of it. */
const LONGEST_PAUSE_MS = 60_000;

export class Grace {
  readonly ms: number;
  readonly #environment: Pick<Environment, "monotonic" | "sleep">;
  readonly #asked = Promise.withResolvers<void>();
  #deadline = Number.POSITIVE_INFINITY;
  #isUrgent = false;
  #pausedAt: number | null = null;
  #pauseLeft = LONGEST_PAUSE_MS;

  constructor(ms: number, environment: Pick<Environment, "monotonic" | "sleep">) {
    this.ms = ms;
    this.#environment = environment;
  }

  /** What the agent gets of it. */
  get agentMs(): number {
    return this.ms - Math.min(SAVING_MS, this.ms / 2);
  }

  /** A signal came: from now on nothing stops the clock. The first call counts. */
  beginUrgent(): void {
    if (this.#isUrgent) return;
    this.#begin();
    this.resume();
    this.#deadline = Math.min(this.#deadline, this.#now() + this.ms);
    this.#isUrgent = true;
    this.#asked.resolve();
  }

  /** Stops the clock while the agent's own program reads the session: only the user waits for that to end. */
  pause(): void {
    if (!this.#isUrgent) this.#pausedAt ??= this.#now();
  }

  resume(): void {
    const took = this.#pausedMs();
    this.#pausedAt = null;
    this.#pauseLeft -= took;
    this.#deadline += took;
  }

  /** Resolves when a signal came and the agent must be gone; never without a signal. */
  async agentIsLate(signal: AbortSignal): Promise<void> {
    await this.#asked.promise;
    await this.#environment.sleep(Math.max(0, this.#remainingMs() - (this.ms - this.agentMs)), signal);
  }

  /** The agent has ended: resolves when the time is over or the signal aborts. */
  async over(signal: AbortSignal): Promise<void> {
    this.#begin();
    while (!signal.aborted && this.#remainingMs() > 0) {
      await Promise.race([
        this.#environment.sleep(this.#remainingMs(), signal),
        this.#isUrgent ? never : this.#asked.promise,
      ]);
    }
  }

  #begin(): void {
    this.#deadline = Math.min(this.#deadline, this.#now() + this.ms);
  }

  #remainingMs(): number {
    return this.#deadline + this.#pausedMs() - this.#now();
  }

  #pausedMs(): number {
    return this.#pausedAt === null ? 0 : Math.min(this.#now() - this.#pausedAt, this.#pauseLeft);
  }

  #now(): number {
    return this.#environment.monotonic();
  }
}

const never = new Promise<void>(() => {});
