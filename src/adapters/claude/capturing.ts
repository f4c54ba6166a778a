// Schedules the captures of a running session: soon after a change, after each result, and at the end. One capture runs at a time;
// requests during it become one more. A failure is reported to the caller and does not disturb the agent.
import type { Environment } from "../../contracts/environment.ts";

export type CaptureMoment = "entry" | "result" | "exit";

export interface CaptureSchedulerOptions {
  readonly capture: (sessionId: string, moment: CaptureMoment) => Promise<void>;
  readonly environment: Environment;
  /** How long changes are collected before a capture. */
  readonly everyMs: number;
  /** How long the scheduler waits for one capture. */
  readonly timeoutMs: number;
  readonly onFailed: (error: unknown, moment: CaptureMoment, sessionId: string) => void;
}

export class CaptureScheduler {
  readonly #options: CaptureSchedulerOptions;
  #sessionId: string | null = null;
  #wanted: "entry" | "result" | null = null;
  #working: Promise<void> | null = null;
  #hurry = new AbortController();

  constructor(options: CaptureSchedulerOptions) {
    this.#options = options;
  }

  /** The id that the agent names now. */
  nameSession(sessionId: string): void {
    this.#sessionId = sessionId;
  }

  request(moment: "entry" | "result"): void {
    if (this.#wanted !== "result") this.#wanted = moment;
    if (moment === "result") this.#hurry.abort();
    this.#working ??= this.#work();
  }

  /** Waits for a capture in progress, then captures once more, so that nothing is missing. */
  async end(): Promise<void> {
    if (this.#wanted === "entry") this.#wanted = null;
    this.#hurry.abort();
    await this.#working;
    await this.#capture("exit");
  }

  async #work(): Promise<void> {
    const { environment, everyMs } = this.#options;
    while (this.#wanted !== null) {
      if (this.#wanted === "entry") {
        this.#hurry = new AbortController();
        await environment.sleep(everyMs, this.#hurry.signal);
      }
      const moment = this.#wanted;
      this.#wanted = null;
      if (moment !== null) await this.#capture(moment);
    }
    this.#working = null;
  }

  async #capture(moment: CaptureMoment): Promise<void> {
    const sessionId = this.#sessionId;
    // An agent that ended before it named its session has nothing to capture.
    if (sessionId === null) return;
    const { capture, environment, timeoutMs, onFailed } = this.#options;
    const done = new AbortController();
    const late = environment.sleep(timeoutMs, done.signal).then(() => {
      if (!done.signal.aborted)
        throw new Error(`the capture did not end within ${timeoutMs} ms; the scheduler no longer waits for it`);
    });
    try {
      await Promise.race([capture(sessionId, moment), late]);
    } catch (error) {
      onFailed(error, moment, sessionId);
    } finally {
      done.abort();
    }
  }
}
