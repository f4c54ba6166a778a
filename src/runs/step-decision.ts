// Decides what happens to a step that an iteration requests: a pure function of what the journal has at its position,
// of the request, and of the time (rules RU4 to RU7). steps.ts carries out the decision.
import type { RetryPolicy, Step } from "../contracts/steps.ts";
import { waitBefore } from "./agents.ts";
import type { StepRecord } from "./journal.ts";

/** The part of the iteration's request that the decision depends on. */
export interface RequestedStep {
  readonly kind: Step["kind"];
  readonly name: string;
  readonly digest: string;
  /** For tools and models, which have an effect outside the store. Other steps happen in the commit that records them. */
  readonly effect?: { readonly mayRepeat: boolean; readonly retry: RetryPolicy };
  /** True if an earlier read could not be repeated exactly, so arguments that are derived from it may differ. */
  readonly acceptsOtherArguments?: boolean;
}

export type StepDecision =
  /** The journal has the end of the step: its result is returned, or its failure thrown, without executing it. */
  | { readonly action: "reuse"; readonly record: StepRecord }
  /** The journal has the intent, and the step may be executed or awaited again with it. */
  | { readonly action: "redo"; readonly record: StepRecord }
  /** A person decides: the step needs approval, or it may have happened and must not be repeated. */
  | { readonly action: "ask"; readonly record: StepRecord }
  /** A new attempt. `waitMs`: how long to wait before it, null: not at all. `isFirst`: no attempt of this run precedes it. */
  | {
      readonly action: "intend";
      readonly record: StepRecord | undefined;
      readonly attempt: number;
      readonly waitMs: number | null;
      readonly isFirst: boolean;
    }
  /** The iteration requests another step than before the interruption. */
  | { readonly action: "differ"; readonly record: StepRecord; readonly now: string };

/** `record`: the newest attempt that the journal has at the position of the step. */
export function decideStep(record: StepRecord | undefined, request: RequestedStep, now: number): StepDecision {
  if (record === undefined) return { action: "intend", record, attempt: 1, waitMs: null, isFirst: true };
  const difference = differenceTo(record, request);
  if (difference !== null) return { action: "differ", record, now: difference };
  switch (record.status) {
    case "done":
      return { action: "reuse", record };
    case "failed":
      return afterFailure(record, request, now);
    case "asked":
      return { action: record.isAllowed ? "redo" : "ask", record };
    case "started":
      return { action: record.isAllowed || isSafe(record, request) ? "redo" : "ask", record };
  }
}

function differenceTo(record: StepRecord, request: RequestedStep): string | null {
  const { kind, name, digest, acceptsOtherArguments = false } = request;
  const now = `does ${formatStep(kind, name)}`;
  if (record.kind !== kind || record.name !== name) return now;
  return record.digest === digest || acceptsOtherArguments ? null : `${now} with other arguments`;
}

/**
 * A step without an outside effect may be awaited again. A step with an effect must have declared in its intent that it
 * may be repeated.
 */
function isSafe({ data }: StepRecord, { effect }: RequestedStep): boolean {
  return effect === undefined || (effect.mayRepeat && data.repeatable === true);
}

function afterFailure(record: StepRecord, { effect }: RequestedStep, now: number): StepDecision {
  const attempt = record.attempt + 1;
  // The retried run failed here: this run executes the step again, and permissions of that run do not count.
  if (record.isRetryPoint === true) return { action: "intend", record, attempt, waitMs: null, isFirst: true };
  const { data = {}, at = 0 } = record.end ?? {};
  if (effect === undefined || record.attempt >= effect.retry.attempts || data.final === true) {
    return { action: "reuse", record };
  }
  const retryAfterMs = typeof data.retryAfterMs === "number" ? data.retryAfterMs : 0;
  // The time since the failure counts, also time in another process.
  const remaining = Math.min(retryAfterMs, at + retryAfterMs - now);
  const waitMs = Math.max(waitBefore(attempt, effect.retry), remaining);
  return { action: "intend", record, attempt, waitMs, isFirst: false };
}

/** Formats a step: "tool pay". A kind with a single step, such as "now", has no name. */
export function formatStep(kind: string, name: string): string {
  return kind === name ? kind : `${kind} ${name}`;
}
