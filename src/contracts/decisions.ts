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
   * Of a step in doubt: retry: do it again, under the same key. result: it happened, and gave this. fail: it did not, and shall not.
   * Of an approval: retry: go ahead. result: do not do it, and take this as its result. fail: refused, the step fails as `Denied`.
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
  /** The question that is answered: Conflict when another is open by now. */
  readonly reason?: Decision["reason"];
} & (
  | { readonly verdict: "retry" | "fail"; readonly result?: undefined }
  /** null where it gave nothing. */
  | { readonly verdict: "result"; readonly result: Json }
);
