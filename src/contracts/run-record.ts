// A run as the store shows it.
import type { WaitCondition } from "./run-waits.ts";

export interface RunLimits {
  readonly iterations?: number;
  /** Time since the run was created, including pauses. */
  readonly wallMs?: number;
  /** Input and output tokens of all model calls. */
  readonly tokens?: number;
  readonly costUsd?: number;
}

export interface RunError {
  readonly code: string;
  readonly message: string;
  /** What to do about the error, if Holdfast knows. */
  readonly hint?: string;
}

export interface Run {
  readonly id: string;
  readonly session: string;
  readonly agent: string;
  readonly agentVersion: string;
  /** SHA-256 over the names and declarations of the agent's tools, hex. */
  readonly toolset: string;
  /** The run that spawned this one. */
  readonly parent: string | null;
  readonly status: "running" | "paused" | "waiting" | "recovering" | "completed" | "failed" | "cancelled";
  /** Increases with every change of status and every checkpoint. */
  readonly version: number;
  /** Increases with every new lease. */
  readonly epoch: number;
  /** The worker that has the lease; null if no worker has it. */
  readonly owner: string | null;
  /** The host and process of that worker; null if the run has no owner, or the owner's platform does not report it. */
  readonly process: {
    readonly host: string;
    readonly pid: number;
  } | null;
  /** Why no worker works on the run now; null if a worker does, or the run has ended. */
  readonly idle: {
    /**
     * queued: no worker has claimed the run yet, or the last worker released it. owner-gone: the process with its lease
     * has ended. waiting, paused: its agent or a caller decided so. held: it came with an archive. retry-later: its
     * last worker failed.
     */
    readonly reason: "queued" | "owner-gone" | "waiting" | "paused" | "held" | "retry-later";
    /** The reason as a sentence for people. */
    readonly message: string;
    /** What to do to continue the run. */
    readonly hint: string;
  } | null;
  /** The number of completed iterations. */
  readonly iteration: number;
  readonly pausedUntil: number | null;
  /** What the run waits for; any of these wakes it. */
  readonly waitsFor: readonly WaitCondition[];
  /**
   * When the run wakes without a signal or an answer; null: it does not. If its last worker failed: when a worker may retry it.
   */
  readonly wakesAt: number | null;
  /**
   * True if the run came with an archive and may still be running in the store that it was exported from. No worker
   * claims it here until resume() or unpause() is called.
   */
  readonly held: boolean;
  readonly cancelRequested: boolean;
  /** The run pauses until this time when its iteration ends. */
  readonly pauseRequested: number | null;
  readonly stopReason: ("done" | "failed" | "cancelled" | `limit:${keyof RunLimits}`) | null;
  /** Why the run failed. For a run that is tried again: why its last worker could not continue it. */
  readonly error: RunError | null;
  readonly limits: RunLimits;
  readonly priority: number;
  /** How long its worker may go without a heartbeat before another takes over. */
  readonly leaseMs: number;
  /** Tokens and cost of its model calls, up to the last checkpoint. */
  readonly tokens: number;
  readonly costUsd: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly endedAt: number | null;
}
