// Checkpoints of loops, of runs and of a caller's own.
import type { Json } from "./json.ts";

/** The state of a loop after an iteration. */
export interface Checkpoint {
  readonly session: string;
  readonly agent: string;
  readonly run: string | null;
  readonly iteration: number;
  readonly state: Json;
  readonly pendingToolCalls: readonly {
    readonly id: string;
    readonly tool: string;
    readonly input: Json;
    readonly startedAt: number;
  }[];
  readonly lastToolResult: Json;
  readonly pauseUntil: number | null;
  readonly stopReason: string | null;
  readonly startedAt: number;
  readonly checkpointedAt: number;
}
