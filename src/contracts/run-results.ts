// The result of a run. Only a completed run has a value.
import type { Json } from "./json.ts";
import type { Run, RunError, RunStatus } from "./run-record.ts";

export type RunResult<Output = Json> = CompletedRun<Output> | UncompletedRun;

export interface CompletedRun<Output = Json> {
  readonly run: Run;
  readonly status: "completed";
  readonly value: Output;
  readonly error: null;
}

export interface UncompletedRun {
  readonly run: Run;
  readonly status: Exclude<RunStatus, "completed">;
  readonly value: null;
  readonly error: RunError | null;
}
