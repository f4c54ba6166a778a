// When the files of a running session are captured: soon after something changed, after each result, and at the end. One at
// a time; what is asked for meanwhile is one more. Whatever goes wrong is told and changes nothing for the agent.
import type { Environment } from "../../contracts/environment.ts";

export type CaptureMoment = "entry" | "result" | "exit";

export interface CapturingOptions {
  readonly capture: (sessionId: string, moment: CaptureMoment) => Promise<void>;
  readonly environment: Environment;
  /** How long changes are gathered. */
  readonly everyMs: number;
  /** After so long one is no longer waited for. */
  readonly patienceMs: number;
  readonly failed: (error: unknown, moment: CaptureMoment, sessionId: string) => void;
}

export class Capturing {
  readonly #options: CapturingOptions;
  #sessionId: string | null = null;
  #wanted: "entry" | "result" | null = null;
  #working: Promise<void> | null = null;
  #hurry = new AbortController();

  constructor(options: CapturingOptions) {
    this.#options = options;
  }

  /** The agent's own name for the session, as it says it now. */
  nameSession(sessionId: string): void {
    this.#sessionId = sessionId;
  }

  request(moment: "entry" | "result"): void {
    if (this.#wanted !== "result") this.#wanted = moment;
    if (moment === "result") this.#hurry.abort();
    this.#working ??= this.#work();
  }

  /** What is under way comes to its end, and the last one holds everything. */
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
    // An agent that ended before it named its session left nothing to capture.
    if (sessionId === null) return;
    const { capture, environment, patienceMs, failed } = this.#options;
    const done = new AbortController();
    const late = environment.sleep(patienceMs, done.signal).then(() => {
      if (!done.signal.aborted) throw new Error(`not done after ${patienceMs} ms; it is no longer waited for`);
    });
    try {
      await Promise.race([capture(sessionId, moment), late]);
    } catch (error) {
      failed(error, moment, sessionId);
    } finally {
      done.abort();
    }
  }
}
