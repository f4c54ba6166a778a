// Steps: what an iteration of a run does, each recorded at its place.
import type { Json } from "./json.ts";
import type { RunError } from "./run-record.ts";
import type { ReadPosition } from "./session-steps.ts";

export type StepKind = "tool" | "model" | "message" | "now" | "sleep" | "wait" | "spawn" | "read" | "compact";

/**
 * asked: a person decides before the first try, and nothing has happened yet. started: the outcome is not known yet.
 */
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
  /** Of a tool: whether it was declared safe to do twice when the step was intended. */
  readonly idempotent?: boolean;
  /** Of a tool that failed: it has returned, so its effect happened, and only its result could not be recorded. */
  readonly effectDone?: boolean;
  /** Of a recorded read: where in the session's log it read. */
  readonly position?: ReadPosition;
  /** Only if steps() was called with `io`, and the step has one. The input of a message step is its content. */
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

export interface RetryPolicy {
  /** Tries in all; 1 is none more. */
  readonly attempts: number;
  /** Before the second try; doubled before each further one. */
  readonly backoffMs?: number;
  readonly maxBackoffMs?: number;
}

/** What a tool or a model learns about the call. */
export interface StepCall {
  readonly run: string;
  readonly session: string;
  readonly iteration: number;
  readonly path: string;
  readonly attempt: number;
  /**
   * Look it up before acting, or upsert under it: it stays the same as long as the outcome of an earlier try is
   * unknown.
   */
  readonly idempotencyKey: string;
  /** An earlier try under this key may have happened. */
  readonly again: boolean;
  /** Aborted when the run is cancelled or its lease is lost: nothing that happens afterwards counts. */
  readonly signal: AbortSignal;
}
