// Embeddings as callers give them, as arrays of 32-bit numbers; and the scores that callers see.
import type { VectorMetric } from "../contracts/vectors.ts";
import { invalid, isList, reading } from "../core/check.ts";
import { MAX_DIMENSION } from "./kernel/vector.ts";

/** A copy, because the caller may change its array. The numbers themselves are checked when the metric is known (checkVector). */
export function toVector(
  value: unknown,
  what: string,
  wanted = "an embedding: an array of numbers or a Float32Array",
): Float32Array {
  return reading(what, () => {
    if (!(value instanceof Float32Array || isList(value))) {
      throw invalid(what, wanted, value);
    }
    if (value.length === 0 || value.length > MAX_DIMENSION) {
      throw invalid(what, `an embedding of 1 to ${MAX_DIMENSION} numbers`, value.length);
    }
    const vector = new Float32Array(value.length);
    for (let i = 0; i < vector.length; i++) {
      const number: unknown = value[i];
      if (typeof number !== "number") throw invalid(`${what}[${i}]`, "a number", number);
      vector[i] = number;
    }
    return vector;
  });
}

/** From 0 to 1, in the order of the similarities. */
export function scoreOf(metric: VectorMetric, similarity: number): number {
  if (metric === "cosine") return (1 + similarity) / 2;
  return metric === "dot" ? 1 / (1 + Math.exp(-similarity)) : 1 / (1 - similarity);
}
