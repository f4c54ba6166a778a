// Exact scores of candidates. The caller reads the stored vectors of one batch of rows after the other, from wherever they are, until
// the rows that are left can hardly be among the best: easy queries read one batch, hard ones more.
import { HoldfastError } from "../../contracts/errors.ts";
import type { VectorMetric } from "../../contracts/vectors.ts";
import { BestRows } from "./best-rows.ts";
import { scoreFrom } from "./code.ts";
import { readHalves } from "./half.ts";
import type { ScanCandidate } from "./scan.ts";
import { normOf, readFloats } from "./vector.ts";

/** How the numbers of vectors are stored. */
export type VectorPrecision = "f32" | "f16";

const NUMBER_BYTES: Readonly<Record<VectorPrecision, number>> = { f32: 4, f16: 2 };

export interface ExactScore {
  readonly row: number;
  /** Higher is nearer (scoreFrom). */
  readonly score: number;
}

export interface RescoreOptions {
  readonly metric: VectorMetric;
  readonly precision: VectorPrecision;
  /** How many of the best are wanted. */
  readonly count: number;
  /** Rows to read at a time. */
  readonly batch: number;
}

/** Scores one query's candidates. */
export class CandidateScorer {
  readonly #query: Float32Array;
  readonly #queryNorm: number;
  readonly #candidates: readonly ScanCandidate[];
  /** The highest bound of that candidate and those after it. */
  readonly #bounds: Float64Array;
  readonly #options: RescoreOptions;
  readonly #best: BestRows;
  readonly #stored: Float32Array;
  #next = 0;

  /** Candidates come best first, as a scan gives them. */
  constructor(query: Float32Array, candidates: readonly ScanCandidate[], options: RescoreOptions) {
    this.#query = query;
    this.#queryNorm = normOf(query);
    this.#candidates = candidates;
    this.#options = options;
    this.#best = new BestRows(options.count);
    this.#stored = new Float32Array(query.length);
    this.#bounds = new Float64Array(candidates.length);
    let highest = Number.NEGATIVE_INFINITY;
    for (let i = candidates.length - 1; i >= 0; i--) {
      highest = Math.max(highest, candidates[i]?.bound ?? highest);
      this.#bounds[i] = highest;
    }
  }

  /** The rows to read and score next; none when the best are found. */
  nextRows(): readonly number[] {
    const bound = this.#bounds[this.#next];
    if (bound === undefined || bound < this.#best.worstKey) return [];
    const start = this.#next;
    this.#next = Math.min(start + this.#options.batch, this.#candidates.length);
    return this.#candidates.slice(start, this.#next).map(({ row }) => row);
  }

  /** Scores a row's stored vector. A row that is gone since the scan is simply not scored. */
  score(row: number, bytes: Uint8Array): void {
    const { metric, precision } = this.#options;
    const expected = this.#stored.length * NUMBER_BYTES[precision];
    if (bytes.byteLength !== expected) {
      throw new HoldfastError("StoreCorrupted", `vector ${row} has ${bytes.byteLength} bytes instead of ${expected}`, {
        details: { row, bytes: bytes.byteLength, expected },
      });
    }
    if (precision === "f32") readFloats(bytes, this.#stored);
    else readHalves(bytes, this.#stored);
    const score = exactScore(metric, this.#query, this.#queryNorm, this.#stored);
    if (!Number.isFinite(score)) {
      throw new HoldfastError("StoreCorrupted", `vector ${row} has a number that is not finite`, { details: { row } });
    }
    this.#best.offer(score, row);
  }

  /** Best first; lower row numbers first among equals. */
  result(): ExactScore[] {
    return this.#best.sorted().map(({ row, key }) => ({ row, score: key }));
  }
}

/** In 64-bit numbers and always in the same order, so that every machine gives the same score. */
export function exactScore(metric: VectorMetric, query: Float32Array, queryNorm: number, stored: Float32Array): number {
  let product = 0;
  let squares = 0;
  for (let i = 0; i < stored.length; i++) {
    const value = stored[i] as number;
    const asked = query[i] as number;
    product += value * asked;
    squares += metric === "euclidean" ? (value - asked) * (value - asked) : value * value;
  }
  return metric === "euclidean" ? -Math.sqrt(squares) : scoreFrom(metric, product, Math.sqrt(squares), queryNorm);
}
