// Checkpoints of loops, of runs and of a caller's own.
import type { Json } from "./json.ts";
import type { At } from "./locators.ts";

export interface PendingToolCall {
  readonly id: string;
  readonly tool: string;
  readonly input: Json;
  readonly startedAt: number;
}

/** The state of a loop after an iteration. */
export interface Checkpoint {
  readonly session: string;
  readonly agent: string;
  readonly run: string | null;
  readonly iteration: number;
  readonly state: Json;
  readonly pendingToolCalls: readonly PendingToolCall[];
  readonly lastToolResult: Json;
  readonly pauseUntil: number | null;
  readonly stopReason: string | null;
  readonly startedAt: number;
  readonly checkpointedAt: number;
}

export type CheckpointInput = Pick<Checkpoint, "agent" | "iteration"> &
  Partial<
    Omit<Checkpoint, "session" | "agent" | "run" | "iteration" | "checkpointedAt" | "state" | "lastToolResult">
  > & {
    readonly session: At;
    /** JSON. */
    readonly state?: unknown;
    readonly lastToolResult?: unknown;
  };
