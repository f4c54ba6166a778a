// Questions to people about runs, and their answers.
import type { Json } from "./json.ts";
import type { Step } from "./steps.ts";

/** What a person decides: whether a step may be tried, or whether it happened when its outcome was lost. */
export interface Decision {
  readonly id: string;
  readonly run: string;
  readonly session: string;
  /** in-doubt: the outcome of a step was lost. approval: a tool asks before its first try (`approve`). */
  readonly reason: "in-doubt" | "approval";
  readonly step: Step;
  readonly input: Json;
  readonly askedAt: number;
  readonly answer: Answer | null;
}

export interface Answer {
  /**
   * For a step in doubt: retry = do it again, with the same key; result = it happened and returned this; fail = it did
   * not happen, and must not. For an approval: retry = do it; result = do not do it, and use this as its result; fail =
   * refused, the step fails with `Denied`.
   */
  readonly verdict: "retry" | "result" | "fail";
  readonly result?: Json;
  readonly by: string | null;
  readonly note: string | null;
  readonly at: number;
}

export type AnswerInput = {
  readonly by?: string;
  readonly note?: string;
  /** The id of the question that is answered. Conflict if another question is open by now. */
  readonly reason?: Decision["reason"];
} & (
  | { readonly verdict: "retry" | "fail"; readonly result?: undefined }
  /** null if the step returned nothing. */
  | { readonly verdict: "result"; readonly result: Json }
);
