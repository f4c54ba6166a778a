// Steps: what an iteration of a run does, each recorded at its place.
import type { Json } from "./json.ts";
import type { RunError } from "./run-record.ts";

/** One attempt at one thing, at its place in the run. */
export interface Step {
  /** Names the event that holds its intent, or its result where it needs no intent: "session#seq". */
  readonly id: string;
  readonly run: string;
  readonly iteration: number;
  readonly path: string;
  readonly kind: "tool" | "model" | "message" | "now" | "sleep" | "wait" | "spawn" | "read" | "compact";
  readonly name: string;
  readonly attempt: number;
  /** asked: a person decides before the first try, and nothing has happened yet. started: the outcome is not known yet. */
  readonly status: "asked" | "started" | "done" | "failed";
  /** Given to the tool: the same for as long as the outcome is in doubt. */
  readonly idempotencyKey: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly error: RunError | null;
  /** Of a tool: whether it was declared safe to do twice when the step was intended. */
  readonly idempotent?: boolean;
  /** Of a tool that failed: it has returned, so its effect happened, and only its result could not be recorded. */
  readonly effectDone?: boolean;
  /**
   * Of a recorded read: where in the session's log it read. A recorded read sees what the session showed at this point of
   * its log, however often it is replayed.
   */
  readonly position?: {
    readonly branch: number;
    readonly seq: number;
    /** How many messages or keys it gave. */
    readonly count: number;
  };
  /**
   * Only if steps() was called with `io`, and the step has one. The input of a message step is its content. What a step
   * was given, or what it gave.
   */
  readonly input?: {
    /** `sha256:…`; blobs.resolveJson() reads all of it. */
    readonly ref: string;
    /** Bytes as JSON. */
    readonly size: number;
    /** Left out when it has more than `LIMITS.stepContentBytes`. */
    readonly value?: Json;
  };
  readonly result?: NonNullable<Step["input"]>;
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
