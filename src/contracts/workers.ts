// Workers: they claim runs of their agents from a store and execute them.
import type { AnyAgent } from "./agent-definitions.ts";
import type { Run, RunError } from "./run-record.ts";
import type { ResumeOptions } from "./run-waits.ts";

export interface WorkerOptions extends ResumeOptions {
  readonly agents: readonly AnyAgent[];
  /** The maximum number of runs at a time; default 16. */
  readonly concurrency?: number;
  /** How often the worker polls for runs without a notification; default 1 s. */
  readonly pollMs?: number;
  /** Called for every run that the worker claims, leaves or cannot continue. */
  readonly watch?: (note: WorkerNote) => void;
}

/**
 * begun: the worker has the lease (`recovering`: of a run whose earlier worker is gone). left: the run has ended,
 * waits, is paused or was released. refused: the run cannot continue here, or its worker failed and it is tried again
 * at `run.wakesAt`.
 */
export type WorkerNote =
  | { readonly kind: "begun" | "left"; readonly run: Run }
  | { readonly kind: "refused"; readonly run: Run; readonly error: RunError };

/** Executes runs of its agents until stop() is called. */
export interface Worker {
  readonly id: string;
  /** The runs that the worker executes now. */
  readonly working: readonly string[];
  start(): void;
  /** Looks for due runs once, and returns how many it began. */
  look(): Promise<number>;
  /** Stops claiming runs. Running iterations get this long to end, 10 s by default; then their runs are released. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Text and tokens that a model call streams while it runs; they are not stored. */
export interface Token {
  readonly run: string;
  readonly path: string;
  readonly text: string;
}
