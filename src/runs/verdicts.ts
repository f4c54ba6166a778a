// What an iteration ends in.
import { HoldfastError } from "../contracts/errors.ts";
import type { StopReason, Verdict } from "../contracts/runs.ts";

export function limitReached(stop: StopReason): HoldfastError {
  if (stop === "cancelled") return new HoldfastError("Aborted", "the run was cancelled");
  const limit = stop.slice("limit:".length);
  return new HoldfastError("LimitExceeded", `the run reached its limit of ${limit}`, { details: { limit } });
}

export function checkVerdict(given: unknown): Verdict {
  const verdict = (given as Verdict | undefined)?.verdict;
  if (verdict === "next" || verdict === "done" || verdict === "fail") return given as Verdict;
  throw new HoldfastError("InvalidArgument", "iterate() must return next(state), done(value) or fail(error)");
}
