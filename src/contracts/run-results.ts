// The result of a run. Only a completed run has a value.
import type { Json } from "./json.ts";
import type { Run, RunError } from "./run-record.ts";

export type RunResult<Output = Json> =
  | { readonly run: Run; readonly status: "completed"; readonly value: Output; readonly error: null }
  | {
      readonly run: Run;
      readonly status: Exclude<Run["status"], "completed">;
      readonly value: null;
      readonly error: RunError | null;
    };
