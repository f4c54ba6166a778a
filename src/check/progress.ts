// Counts what a check has done so far and reports it to the caller: at every step, and repeatedly inside a long step.
import type { Checking, CheckProgress } from "../contracts/check.ts";
import type { Environment } from "../contracts/environment.ts";

/** How often progress is reported inside a step; the clock is read once for so many counted things. */
const REPORT_MS = 200;
const COUNTS_PER_CLOCK = 256;

export class Progress {
  readonly counts: Record<string, number> = {};
  /** False during the second pass over the same rows. */
  isCounting = true;
  readonly #environment: Environment;
  readonly #onProgress: NonNullable<Parameters<Checking["check"]>[0]>["onProgress"];
  readonly #issueCount: () => number;
  readonly #began: number;
  #step: Pick<CheckProgress, "at" | "session"> = { at: "sessions" };
  #bytes = 0;
  #reportedAt: number;
  #counted = 0;

  constructor(
    environment: Environment,
    onProgress: NonNullable<Parameters<Checking["check"]>[0]>["onProgress"],
    issueCount: () => number,
  ) {
    this.#environment = environment;
    this.#onProgress = onProgress;
    this.#issueCount = issueCount;
    this.#began = environment.monotonic();
    this.#reportedAt = this.#began;
  }

  /** Names the step that starts now. */
  begin(at: CheckProgress["at"], session?: string): void {
    this.#step = session === undefined ? { at } : { at, session };
  }

  readonly count = (what: string, n = 1): void => {
    if (!this.isCounting) return;
    this.counts[what] = (this.counts[what] ?? 0) + n;
    if (++this.#counted % COUNTS_PER_CLOCK === 0) this.#reportIfDue();
  };

  /** Adds the bytes of a blob that were read and hashed. */
  readonly read = (bytes: number): void => {
    if (!this.isCounting) return;
    this.#bytes += bytes;
    if (++this.#counted % COUNTS_PER_CLOCK === 0) this.#reportIfDue();
  };

  report(): void {
    this.#reportedAt = this.#environment.monotonic();
    this.#onProgress?.({
      ...this.#step,
      counts: { ...this.counts },
      bytes: this.#bytes,
      elapsedMs: this.#reportedAt - this.#began,
      issueCount: this.#issueCount(),
    });
  }

  #reportIfDue(): void {
    if (this.#onProgress !== undefined && this.#environment.monotonic() - this.#reportedAt >= REPORT_MS) this.report();
  }
}
