// Steps of runs: what an iteration did, one attempt at one thing at a time.
import type { Json } from "./json.ts";
import type { RunError } from "./runs.ts";

export type StepKind = "tool" | "model" | "message" | "now" | "sleep" | "wait" | "spawn";
/** asked: a person is asked before its first try, and nothing of it has happened. started: nobody knows yet whether it happened. */
export type StepStatus = "asked" | "started" | "done" | "failed";

/** One attempt at one thing, at its place in the run. */
export interface Step {
  /** Names the event that holds its intent, or its result where it needs no intent: "session#seq". */
  readonly id: string;
  readonly run: string;
  readonly iteration: number;
  readonly path: string;
  readonly kind: StepKind;
  readonly name: string;
  readonly attempt: number;
  readonly status: StepStatus;
  /** Given to the tool: the same for as long as the outcome is in doubt. */
  readonly idempotencyKey: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly error: RunError | null;
  /** Only where steps() was asked for it with `io`, and the step has one. A message step is given its content. */
  readonly input?: StepContent;
  readonly result?: StepContent;
}

/** What a step was given, or what it gave. */
export interface StepContent {
  /** `sha256:…`; blobs.resolveJson() reads all of it. */
  readonly ref: string;
  /** Bytes as JSON. */
  readonly size: number;
  /** Left out when it has more than `LIMITS.stepContentBytes`. */
  readonly value?: Json;
}

export interface StepRange {
  /** Only the steps of this one. */
  readonly iteration?: number;
  /** With what each step was given and gave. */
  readonly io?: boolean;
}
