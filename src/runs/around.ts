// What a kind of step adds to the way every step goes: rows beside its end, checks before it, and how its errors are read.
import type { Json } from "../contracts/json.ts";
import type { Prepare } from "../contracts/payloads.ts";
import type { RunError } from "../contracts/runs.ts";
import type { Commit, EventDraft } from "../contracts/storage.ts";
import type { Failure } from "./model-errors.ts";

export type Ending = { readonly value: Json } | { readonly error: RunError };

/** A row of another kind that the end of a step makes. */
export type Also = (
  prepare: Prepare,
  end: Ending,
  at: number,
) => Promise<{ readonly event: EventDraft; readonly commit: Pick<Commit, "blobs" | "writes" | "uses"> }>;

export interface Around {
  readonly also?: Also;
  /** Before it is intended. */
  readonly before?: () => Promise<void> | undefined;
  /** What an error says about another try; without it, isFinal() decides. */
  readonly judge?: (thrown: unknown, now: number) => Failure;
  /** Told the seq of the event that holds the result, also when it is replayed. */
  readonly ended?: (seq: number) => void;
  /** Whether a person is asked before the first try. */
  readonly needsApproval?: () => Promise<boolean>;
}
