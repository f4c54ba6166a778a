// Steps: what an iteration of a run does. Each is recorded at its position.
import type { Json } from "./json.ts";
import type { RunError } from "./run-record.ts";

/** One attempt of a step, at its position in the run. */
export interface Step {
  /** The id of the event with its intent, or with its result if it needs no intent: "session#seq". */
  readonly id: string;
  readonly run: string;
  readonly iteration: number;
  readonly path: string;
  readonly kind: "tool" | "model" | "message" | "now" | "sleep" | "wait" | "spawn" | "read" | "compact";
  readonly name: string;
  readonly attempt: number;
  /**
   * asked: a person decides before the first try, and the step has not been executed yet. started: the outcome is not
   * known yet.
   */
  readonly status: "asked" | "started" | "done" | "failed";
  /** The idempotency key for the tool. It stays the same while the outcome is in doubt. */
  readonly idempotencyKey: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly error: RunError | null;
  /** For a tool: whether it was declared safe to execute twice when the step was intended. */
  readonly idempotent?: boolean;
  /**
   * For a tool that failed: true if it had returned, so its effect happened and only its result could not be recorded.
   */
  readonly effectDone?: boolean;
  /**
   * For a recorded read: its position in the session's log. The read sees what the session showed at this position, in
   * every replay.
   */
  readonly position?: {
    readonly branch: number;
    readonly seq: number;
    /** How many messages or keys the read returned. */
    readonly count: number;
  };
  /**
   * The input and the result of the step. Only if steps() was called with `io`, and the step has them. The input of a
   * message step is its content.
   */
  readonly input?: {
    /** `sha256:…`; blobs.resolveJson() reads the whole value. */
    readonly ref: string;
    /** Bytes as JSON. */
    readonly size: number;
    /** Left out if it has more than `LIMITS.stepContentBytes`. */
    readonly value?: Json;
  };
  readonly result?: NonNullable<Step["input"]>;
}

export interface RetryPolicy {
  /** The maximum number of tries; 1 means no retry. */
  readonly attempts: number;
  /** The wait before the second try; doubled before each further try. */
  readonly backoffMs?: number;
  readonly maxBackoffMs?: number;
}

/** What a tool or a model gets besides its input. */
export interface StepCall {
  readonly run: string;
  readonly session: string;
  readonly iteration: number;
  readonly path: string;
  readonly attempt: number;
  /**
   * The idempotency key. Look it up before acting, or upsert with it. It stays the same while the outcome of an earlier
   * try is unknown.
   */
  readonly idempotencyKey: string;
  /** True if an earlier try with this key may have had its effect. */
  readonly again: boolean;
  /** Aborts when the run is cancelled or its lease is lost. A result after that is not recorded. */
  readonly signal: AbortSignal;
}
