// Scans the codes of a collection for the rows that are likely nearest to a query. What it finds are candidates: their exact
// scores decide (rescore.ts). Both kernels give the same candidates, because the sums are integers and the rest is computed here.
import type { VectorMetric } from "../../contracts/vectors.ts";
import { BestRows } from "./best-rows.ts";
import { type QueryTables, scoreFrom, type VectorCoder } from "./code.ts";
import { type CodeKernel, createKernel } from "./kernels.ts";
import { BLOCK_ROWS, type CodePage, PAGE_SLOTS } from "./pages.ts";
import type { RowBitmap } from "./row-bitmap.ts";
import { normOf } from "./vector.ts";

export interface CodeQuery {
  readonly tables: QueryTables;
  readonly metric: VectorMetric;
  readonly norm: number;
  /** Of an estimated cosine that is near 0: the standard deviation. */
  readonly deviation: number;
  /** The part of it that comes from rounding the tables, which no similarity makes smaller. */
  readonly rounding: number;
}

/** A row that may be among the nearest. */
export interface ScanCandidate {
  readonly row: number;
  /** Of the score of the metric (scoreFrom). */
  readonly estimate: number;
  /** Its score is very likely not above this. */
  readonly bound: number;
}

/** A TimeSlice, made for this scan with the milliseconds that it may take at a time. */
interface ScanSlice {
  readonly isSpent: boolean;
  pause(): Promise<void>;
}

export interface ScanOptions {
  readonly filter?: RowBitmap;
  readonly slice?: ScanSlice;
}

/** Standard deviations from the estimate to the bound. */
const BOUND_DEVIATIONS = 2.5;

export function prepareQuery(coder: VectorCoder, query: Float32Array, metric: VectorMetric): CodeQuery {
  const tables = coder.encodeQuery(query);
  const { length } = tables.entries;
  // An entry is rounded by up to half a unit; a sum has as many as there are tables, and a scale is about 1/(2 √size).
  const rounding = (tables.unit * Math.sqrt(length / 16 / 12)) / (2 * Math.sqrt(length / 8));
  return { tables, metric, norm: normOf(query), deviation: coder.deviation, rounding };
}

type PageFacts = Pick<CodePage, "usedSlots" | "rows" | "scales" | "norms">;

/** The pages of one collection in memory. */
export class CodeIndex {
  readonly #kernel: CodeKernel;
  readonly #pages: PageFacts[] = [];
  readonly #kept = new Uint8Array(PAGE_SLOTS);

  constructor(codeBytes: number, kernel = createKernel(codeBytes)) {
    this.#kernel = kernel;
  }

  /** Adds the page with the next number, or replaces one. The page's codes are copied, its other facts too. */
  setPage(number: number, page: CodePage): void {
    if (number > this.#pages.length) throw new Error(`bug: page ${number} comes after page ${this.#pages.length}`);
    const { usedSlots, rows, scales, norms } = page;
    this.#kernel.setPage(number, page.codes);
    this.#pages[number] = { usedSlots, rows: rows.slice(), scales: scales.slice(), norms: norms.slice() };
  }

  /**
   * The `count` rows with the highest estimates, best first, lower row numbers first among equals. A page that is replaced
   * while the scan pauses is scanned as it was or as it is.
   */
  async scan(query: CodeQuery, count: number, { filter, slice }: ScanOptions = {}): Promise<ScanCandidate[]> {
    const best = new BestRows(count);
    this.#kernel.loadQuery(query.tables);
    for (let number = 0; number < this.#pages.length; number++) {
      if (slice?.isSpent === true) {
        await slice.pause();
        this.#kernel.loadQuery(query.tables);
      }
      this.#scanPage(number, query, best, filter);
    }
    return best.sorted().map(({ row, note, key }) => toCandidate(query, row, key, note));
  }

  /** The estimated scores of all rows in use, page by page. The arrays are used again for the next page. */
  async estimateAll(
    query: CodeQuery,
    onPage: (rows: Float64Array, estimates: Float32Array, count: number) => void,
    slice?: ScanSlice,
  ): Promise<void> {
    const estimates = new Float32Array(PAGE_SLOTS);
    this.#kernel.loadQuery(query.tables);
    for (let number = 0; number < this.#pages.length; number++) {
      if (slice?.isSpent === true) {
        await slice.pause();
        this.#kernel.loadQuery(query.tables);
      }
      const facts = this.#pages[number] as PageFacts;
      const sums = this.#kernel.scorePage(number, 0, Math.ceil(facts.usedSlots / BLOCK_ROWS));
      estimateSlots(query, facts, sums, estimates);
      onPage(facts.rows, estimates, facts.usedSlots);
    }
  }

  #scanPage(number: number, query: CodeQuery, best: BestRows, filter: RowBitmap | undefined): void {
    const facts = this.#pages[number] as PageFacts;
    const blocks = Math.ceil(facts.usedSlots / BLOCK_ROWS);
    if (filter === undefined) {
      rankSlots(query, facts, this.#kernel.scorePage(number, 0, blocks), 0, facts.usedSlots, best);
      return;
    }
    // Most filters keep few rows: blocks without any are not read.
    for (let first = 0; first < blocks; first++) {
      if (!this.#keepBlock(facts, first, filter)) continue;
      const sums = this.#kernel.scorePage(number, first, first + 1);
      rankKept(query, facts, sums, first * BLOCK_ROWS, this.#kept, best);
    }
  }

  /** Whether the filter keeps a row of that block; which ones is in #kept then. */
  #keepBlock({ rows, usedSlots }: PageFacts, block: number, filter: RowBitmap): boolean {
    const start = block * BLOCK_ROWS;
    let isKept = false;
    for (let i = 0; i < BLOCK_ROWS; i++) {
      const keeps = start + i < usedSlots && filter.has(rows[start + i] as number);
      this.#kept[i] = keeps ? 1 : 0;
      if (keeps) isKept = true;
    }
    return isKept;
  }
}

/** By the metric's order and without what is the same for all rows of a query. */
function keyOf(metric: VectorMetric, cosine: number, norm: number, queryNorm: number): number {
  if (metric === "cosine") return cosine;
  return metric === "dot" ? norm * cosine : norm * (2 * queryNorm * cosine - norm);
}

function rankSlots(
  query: CodeQuery,
  { rows, scales, norms }: PageFacts,
  sums: Uint16Array,
  start: number,
  end: number,
  best: BestRows,
): void {
  const { metric, norm: queryNorm } = query;
  const { unit, offset } = query.tables;
  for (let slot = start; slot < end; slot++) {
    const cosine = ((sums[slot] as number) * unit - offset) * (scales[slot] as number);
    const norm = norms[slot] as number;
    const key = keyOf(metric, cosine, norm, queryNorm);
    if (key < best.worstKey) continue;
    const row = rows[slot] as number;
    if (row !== 0) best.offer(key, row, norm);
  }
}

function estimateSlots(
  { tables: { unit, offset }, metric, norm: queryNorm }: CodeQuery,
  { usedSlots, scales, norms }: PageFacts,
  sums: Uint16Array,
  estimates: Float32Array,
): void {
  for (let slot = 0; slot < usedSlots; slot++) {
    const cosine = ((sums[slot] as number) * unit - offset) * (scales[slot] as number);
    const norm = metric === "cosine" ? 1 : (norms[slot] as number);
    const length = metric === "cosine" ? 1 : queryNorm;
    estimates[slot] = scoreFrom(metric, cosine * norm * length, norm, length);
  }
}

/** The same of one block, for the rows that a filter keeps. */
function rankKept(
  query: CodeQuery,
  facts: PageFacts,
  sums: Uint16Array,
  start: number,
  kept: Uint8Array,
  best: BestRows,
): void {
  for (let i = 0; i < BLOCK_ROWS; i++) {
    const slot = start + i;
    if (kept[i] === 1) rankSlots(query, facts, sums, slot, slot + 1, best);
  }
}

function toCandidate(query: CodeQuery, row: number, key: number, norm: number): ScanCandidate {
  const { metric, norm: queryNorm, deviation, rounding } = query;
  const cosine = cosineOf(metric, key, norm, queryNorm);
  // What a code loses of a vector is orthogonal to it: the nearer the query is to the vector, the less is lost of their product.
  const lost = deviation * Math.sqrt(Math.max(0, 1 - cosine * cosine));
  const most = Math.min(1, cosine + BOUND_DEVIATIONS * Math.hypot(lost, rounding));
  const scoreAt = (value: number) => {
    const length = metric === "cosine" ? 1 : norm;
    const queryLength = metric === "cosine" ? 1 : queryNorm;
    return scoreFrom(metric, value * length * queryLength, length, queryLength);
  };
  return { row, estimate: scoreAt(cosine), bound: scoreAt(most) };
}

/** keyOf() in the other direction. */
function cosineOf(metric: VectorMetric, key: number, norm: number, queryNorm: number): number {
  if (metric === "cosine") return key;
  if (norm === 0) return 0;
  if (metric === "dot") return key / norm;
  return queryNorm === 0 ? 0 : (key / norm + norm) / (2 * queryNorm);
}
