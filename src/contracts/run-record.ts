// A run as the store shows it.
import type { Waits } from "./run-waits.ts";

export interface RunLimits {
  readonly iterations?: number;
  /** From its creation on, pauses included. */
  readonly wallMs?: number;
  /** Given and made, of all model calls. */
  readonly tokens?: number;
  readonly costUsd?: number;
}

export interface RunError {
  readonly code: string;
  readonly message: string;
  /** What to do about it, where Holdfast knows. */
  readonly hint?: string;
}

export interface Run {
  readonly id: string;
  readonly session: string;
  readonly agent: string;
  readonly agentVersion: string;
  /** SHA-256 over the names and declarations of its tools, hex. */
  readonly toolset: string;
  /** The run that spawned it. */
  readonly parent: string | null;
  readonly status: "running" | "paused" | "waiting" | "recovering" | "completed" | "failed" | "cancelled";
  /** Grows with every change of status and every checkpoint. */
  readonly version: number;
  /** Grows with every new lease. */
  readonly epoch: number;
  /** The worker that has the lease; null when none works on it. */
  readonly owner: string | null;
  /** Where that worker runs; null when it has no owner, or the owner's platform does not say. */
  readonly process: {
    readonly host: string;
    readonly pid: number;
  } | null;
  /** Why no worker works on it now; null when one does, or it has ended. */
  readonly idle: {
    /**
     * queued: no worker has claimed it yet, or the last one gave it back. owner-gone: the process that had its lease has
     * ended. waiting, paused: its agent said so. held: it came with an archive. retry-later: its last worker failed.
     */
    readonly reason: "queued" | "owner-gone" | "waiting" | "paused" | "held" | "retry-later";
    /** The same for people. */
    readonly message: string;
    /** What continues it. */
    readonly hint: string;
  } | null;
  /** Iterations completed. */
  readonly iteration: number;
  readonly pausedUntil: number | null;
  /** Any of these wakes it. */
  readonly waitsFor: readonly Waits[];
  /** When it continues by itself, if it does; for a running one: when workers try it again after a failed try. */
  readonly wakesAt: number | null;
  /**
   * It came with an archive and may still be running where it came from. No worker claims it here until resume() or
   * unpause() is called.
   */
  readonly held: boolean;
  readonly cancelRequested: boolean;
  /** It pauses until then when its iteration ends. */
  readonly pauseRequested: number | null;
  readonly stopReason: ("done" | "failed" | "cancelled" | `limit:${keyof RunLimits}`) | null;
  /** Why it failed. For a run that is tried again: why its last worker could not continue it. */
  readonly error: RunError | null;
  readonly limits: RunLimits;
  readonly priority: number;
  /** How long its worker may show no sign of life before another takes over. */
  readonly leaseMs: number;
  /** Of its model calls, up to the last checkpoint. */
  readonly tokens: number;
  readonly costUsd: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly endedAt: number | null;
}
