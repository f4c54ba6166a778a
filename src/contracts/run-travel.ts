// Runs that continue another run: after one of its iterations, or from the step that it failed at.
import type { RunLimits } from "./run-record.ts";

export interface ForkRunInput {
  /** Goes on after this iteration; 0: from its beginning. The last one completed when not given. */
  readonly iteration?: number;
  /** Instead of the state it had there. */
  readonly state?: unknown;
  /** Of the new session; made up when not given. */
  readonly session?: string;
  readonly id?: string;
  readonly limits?: RunLimits;
}

export interface RewindRunInput {
  /** Goes on after this iteration; 0: from before the run began. */
  readonly iteration: number;
  readonly state?: unknown;
  readonly id?: string;
  readonly limits?: RunLimits;
}

export interface RetryInput {
  readonly id?: string;
  /** Instead of those it had, one by one. */
  readonly limits?: RunLimits;
}
