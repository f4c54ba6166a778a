// Workers: they take runs of their agents from a store and work on them.

import type { AnyAgent } from "./agent-definitions.ts";
import type { Run, RunError } from "./run-record.ts";
import type { ResumeOptions } from "./run-waits.ts";

export interface WorkerOptions extends ResumeOptions {
  readonly agents: readonly AnyAgent[];
  /** Runs at a time; 16. */
  readonly concurrency?: number;
  /** How often it polls for work without a notification; 1 s. */
  readonly pollMs?: number;
  /** Called for every run it claims, leaves or cannot continue. */
  readonly watch?: (note: WorkerNote) => void;
}

/**
 * begun: it has the lease (of a run whose worker was gone: `recovering`). left: it has ended, waits, is paused or given
 * back. refused: it cannot continue here, or its worker failed and it is tried again at `run.wakesAt`.
 */
export type WorkerNote =
  | { readonly kind: "begun" | "left"; readonly run: Run }
  | { readonly kind: "refused"; readonly run: Run; readonly error: RunError };

/** Works on runs of its agents until it is stopped. */
export interface Worker {
  readonly id: string;
  /** Runs it works on right now. */
  readonly working: readonly string[];
  start(): void;
  /** Looks for work once; how many were begun. */
  look(): Promise<number>;
  /** Claims nothing new; running iterations get so long to end, 10 s by default, and are given back then. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Reports about a run while it works; they are not stored. */
export interface Token {
  readonly run: string;
  readonly path: string;
  readonly text: string;
}
