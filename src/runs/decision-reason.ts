// Why a person is asked about a step.
import type { DecisionReason } from "../contracts/decisions.ts";
import type { DecisionRow } from "../contracts/run-queries.ts";

/** The intent of a step that asks for approval is the question itself. */
export function decisionReason({ seq, step_seq }: DecisionRow): DecisionReason {
  return seq === step_seq ? "approval" : "in-doubt";
}
