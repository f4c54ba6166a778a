// What people are asked about runs, and what they answer.
import type { Json, ListOrder } from "./json.ts";
import type { Step } from "./runs.ts";

/** What only a person can know: whether a step happened whose outcome was lost. */
export interface Decision {
  readonly id: string;
  readonly run: string;
  readonly session: string;
  readonly step: Step;
  readonly input: Json;
  readonly askedAt: number;
  readonly answer: Answer | null;
}

export interface Answer {
  /** retry: do it again, under the same key. result: it happened, and gave this. fail: it did not, and shall not. */
  readonly verdict: "retry" | "result" | "fail";
  readonly result?: Json;
  readonly by: string | null;
  readonly note: string | null;
  readonly at: number;
}

export interface DecisionFilter {
  readonly run?: string;
  /** true: only those that somebody answered. false: only those that wait for it. */
  readonly answered?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
  /** Newest first when not given; a cursor goes with the order it was given for. */
  readonly order?: ListOrder;
}

export type AnswerInput = { readonly by?: string; readonly note?: string } & (
  | { readonly verdict: "retry" | "fail"; readonly result?: undefined }
  /** null where it gave nothing. */
  | { readonly verdict: "result"; readonly result: Json }
);
