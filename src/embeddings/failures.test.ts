// What the queue keeps of an error.
import { expect, test } from "vitest";
import { HoldfastError } from "../contracts/errors.ts";
import { faultOf } from "./failures.ts";

test.each([
  [2.5, 3],
  [Number.POSITIVE_INFINITY, 0],
  [Number.NaN, 0],
  [-1, 0],
  ["7", 0],
  [1e300, 3_600_000],
])("EM5 an error that asks to wait %s ms makes its text wait %i ms", (retryAfterMs, ms) => {
  const error = new HoldfastError("EmbeddingFailed", "no", { retryable: true, details: { retryAfterMs } });
  expect(faultOf(error).retryAfterMs).toBe(ms);
});
