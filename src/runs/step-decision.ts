// What happens to a step that an iteration asks for: a pure decision from what the journal has at its place, what the iteration
// asks for, and the time (rules RU4 to RU7). Everything else about a step carries this decision out.
import type { RetryPolicy, Step } from "../contracts/steps.ts";
import { waitBefore } from "./agents.ts";
import type { StepRecord } from "./journal.ts";

/** What the iteration asks for, as far as the decision depends on it. */
export interface RequestedStep {
  readonly kind: Step["kind"];
  readonly name: string;
  readonly digest: string;
  /** For tools and models, which have an effect outside the store. Other steps happen in the commit that records them. */
  readonly effect?: { readonly mayRepeat: boolean; readonly retry: RetryPolicy };
  /** An earlier read could not be repeated exactly, so the arguments that follow from it may differ. */
  readonly acceptsOtherArguments?: boolean;
}

export type StepDecision =
  /** The journal has the end of the step: its result is returned, or its failure thrown, without doing anything. */
  | { readonly action: "reuse"; readonly record: StepRecord }
  /** The journal has the intent, and the step may be executed or awaited again under it. */
  | { readonly action: "redo"; readonly record: StepRecord }
  /** A person decides: the step needs approval, or it may have happened and must not happen twice. */
  | { readonly action: "ask"; readonly record: StepRecord }
  /** A new attempt. `waitMs`: how long to wait before it, null: not at all. `isFirst`: no attempt of this run precedes it. */
  | {
      readonly action: "intend";
      readonly record: StepRecord | undefined;
      readonly attempt: number;
      readonly waitMs: number | null;
      readonly isFirst: boolean;
    }
  /** The iteration does not do what it did before the interruption. */
  | { readonly action: "differ"; readonly record: StepRecord; readonly now: string };

/** `record`: the newest attempt that the journal has at the place of the step. */
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
  const now = `does ${stepWords(kind, name)}`;
  if (record.kind !== kind || record.name !== name) return now;
  return record.digest === digest || acceptsOtherArguments ? null : `${now} with other arguments`;
}

/** A step without an effect outside is awaited again. One with an effect must have said in its intent that it may be repeated. */
function isSafe({ data }: StepRecord, { effect }: RequestedStep): boolean {
  return effect === undefined || (effect.mayRepeat && data.repeatable === true);
}

function afterFailure(record: StepRecord, { effect }: RequestedStep, now: number): StepDecision {
  const attempt = record.attempt + 1;
  // The retried run failed here: this run executes the step anew, and what was permitted there counts there only.
  if (record.isRetryPoint === true) return { action: "intend", record, attempt, waitMs: null, isFirst: true };
  const { data = {}, at = 0 } = record.end ?? {};
  if (effect === undefined || record.attempt >= effect.retry.attempts || data.final === true) {
    return { action: "reuse", record };
  }
  const retryAfterMs = typeof data.retryAfterMs === "number" ? data.retryAfterMs : 0;
  // The time since the failure counts, also when it passed in another process.
  const remaining = Math.min(retryAfterMs, at + retryAfterMs - now);
  const waitMs = Math.max(waitBefore(attempt, effect.retry), remaining);
  return { action: "intend", record, attempt, waitMs, isFirst: false };
}

/** "tool pay". A kind with a single step, such as "now", has no name of its own. */
export function stepWords(kind: string, name: string): string {
  return kind === name ? kind : `${kind} ${name}`;
}
