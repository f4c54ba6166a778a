// The scan and the exact scores: what is found is what comparing with every vector finds, whichever kernel scans.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { randomNumbers, SAMPLE_KINDS, type SampleKind, sampleVectors } from "../../../test/vectors/samples.ts";
import type { VectorMetric } from "../../contracts/vectors.ts";
import { realEnvironment } from "../../core/environment.ts";
import { TimeSlice } from "../../core/time-slice.ts";
import { codeBytes, VectorCoder } from "./code.ts";
import { encodeHalves } from "./half.ts";
import {
  type CodeKernel,
  compileKernel,
  createKernel,
  JavaScriptKernel,
  WasmKernel,
  type WasmPlatform,
} from "./kernels.ts";
import { appendCode, type CodePage, createPage, PAGE_SLOTS, removeSlot } from "./pages.ts";
import { CandidateScorer, exactScore, type VectorPrecision } from "./rescore.ts";
import { RowBitmap } from "./row-bitmap.ts";
import { CodeIndex, prepareQuery, type ScanOptions } from "./scan.ts";
import { encodeFloats, normOf } from "./vector.ts";

const SEED = 7;

interface Collection {
  readonly dimension: number;
  readonly coder: VectorCoder;
  /** Of row i + 1. */
  readonly vectors: readonly Float32Array[];
  readonly pages: readonly CodePage[];
}

function makeCollection(vectors: readonly Float32Array[]): Collection {
  const dimension = vectors[0]?.length ?? 1;
  const coder = new VectorCoder(SEED, dimension);
  const pages: CodePage[] = [];
  vectors.forEach((vector, i) => {
    if (i % PAGE_SLOTS === 0) pages.push(createPage(coder.codeBytes));
    const page = pages.at(-1);
    if (page !== undefined) appendCode(page, i + 1, coder.encode(vector));
  });
  return { dimension, coder, vectors, pages };
}

function indexOf({ coder, pages }: Collection, kernel?: CodeKernel): CodeIndex {
  const index = new CodeIndex(coder.codeBytes, kernel);
  pages.forEach((page, number) => {
    index.setPage(number, page);
  });
  return index;
}

function bothIndexes(collection: Collection): readonly [CodeIndex, CodeIndex] {
  const { codeBytes: bytes } = collection.coder;
  return [indexOf(collection, new WasmKernel(bytes)), indexOf(collection, new JavaScriptKernel(bytes))];
}

function nearestRows({ vectors }: Collection, query: Float32Array, metric: VectorMetric, count: number): number[] {
  const queryNorm = normOf(query);
  const scores = vectors.map((vector, i) => ({ row: i + 1, score: exactScore(metric, query, queryNorm, vector) }));
  return scores
    .sort((a, b) => b.score - a.score || a.row - b.row)
    .slice(0, count)
    .map(({ row }) => row);
}

async function search(
  { coder, vectors }: Collection,
  index: CodeIndex,
  query: Float32Array,
  metric: VectorMetric,
  precision: VectorPrecision = "f32",
) {
  const candidates = await index.scan(prepareQuery(coder, query, metric), 400);
  const scorer = new CandidateScorer(query, candidates, { metric, precision, count: 10, batch: 32 });
  let rowsRead = 0;
  for (let rows = scorer.nextRows(); rows.length > 0; rows = scorer.nextRows()) {
    for (const row of rows) {
      const vector = vectors[row - 1] ?? new Float32Array();
      scorer.score(row, precision === "f32" ? encodeFloats(vector) : encodeHalves(vector, "vector"));
      rowsRead++;
    }
  }
  return { rows: scorer.result().map(({ row }) => row), rowsRead };
}

function samples(kind: SampleKind, count: number, dimension: number, seed: number): Float32Array[] {
  return Array.from({ length: count }, sampleVectors(kind, dimension, seed));
}

describe("recall", () => {
  const QUERIES = 20;

  test.each(SAMPLE_KINDS)(
    "@10 of %s vectors is at least 0.99, by every metric and in both precisions",
    async (kind) => {
      // One generator for both: queries are like the stored vectors.
      const all = samples(kind, 5000 + QUERIES, 384, 3);
      const collection = makeCollection(all.slice(QUERIES));
      const index = indexOf(collection);
      for (const metric of ["cosine", "dot", "euclidean"] as const) {
        const found = { f32: 0, f16: 0 };
        for (const query of all.slice(0, QUERIES)) {
          const nearest = nearestRows(collection, query, metric, 10);
          for (const precision of ["f32", "f16"] as const) {
            const { rows } = await search(collection, index, query, metric, precision);
            found[precision] += rows.filter((row) => nearest.includes(row)).length;
          }
        }
        expect(Math.min(found.f32, found.f16) / (QUERIES * 10), metric).toBeGreaterThanOrEqual(0.99);
      }
    },
  );

  test("an easy query reads one batch of rows", async () => {
    const collection = makeCollection(samples("uniform", 2000, 128, 5));
    const near = samples("uniform", 10, 128, 6).map((_, i) => (collection.vectors[0] ?? []).map((x) => x + i / 1e4));
    const grown = makeCollection([...collection.vectors, ...near.map((one) => Float32Array.from(one))]);
    const query = grown.vectors[0] ?? new Float32Array();
    expect((await search(grown, indexOf(grown), query, "cosine")).rowsRead).toBe(32);
  });
});

describe("candidates", () => {
  test("are the same from both kernels, for any vectors, removals, filters and metrics", async () => {
    const options = fc.record({
      seed: fc.nat(),
      kind: fc.constantFrom(...SAMPLE_KINDS),
      dimension: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.constantFrom(384, 768, 4096)),
      metric: fc.constantFrom<VectorMetric>("cosine", "dot", "euclidean"),
      rows: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1000, max: 1100 })),
      removed: fc.constantFrom(0, 0.3, 1),
      kept: fc.constantFrom(null, 0, 0.01, 0.5, 1),
      count: fc.constantFrom(0, 1, 10, 400),
    });
    await fc.assert(
      fc.asyncProperty(options, async ({ seed, kind, dimension, metric, rows, removed, kept, count }) => {
        const random = randomNumbers(seed);
        const collection = makeCollection(samples(kind, dimension > 400 ? Math.min(rows, 50) : rows, dimension, seed));
        for (const page of collection.pages) {
          for (let slot = page.usedSlots - 1; slot >= 0; slot--) if (random.uniform() < removed) removeSlot(page, slot);
        }
        const filter = new RowBitmap(1, rows);
        for (let row = 1; row <= rows; row++) if (random.uniform() < (kept ?? 1)) filter.add(row);
        const [query = new Float32Array(dimension)] = samples(kind, 1, dimension, seed + 1);
        const prepared = prepareQuery(collection.coder, query, metric);
        const scanned = (index: CodeIndex) => index.scan(prepared, count, kept === null ? {} : { filter });
        const [wasm, javaScript] = await Promise.all(bothIndexes(collection).map(scanned));
        expect(javaScript).toEqual(wasm);
        const stored = new Set(collection.pages.flatMap((page) => [...page.rows].filter((row) => row !== 0)));
        const possible = [...stored].filter((row) => kept === null || filter.has(row));
        expect(wasm).toHaveLength(Math.min(count, possible.length));
        expect(wasm?.every(({ row }) => possible.includes(row))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test("with equal estimates are those with the lowest row numbers, in their order", async () => {
    const [vector = new Float32Array()] = samples("uniform", 1, 64, 1);
    const collection = makeCollection(Array.from({ length: 2500 }, () => vector));
    for (const index of bothIndexes(collection)) {
      const found = await index.scan(prepareQuery(collection.coder, vector, "cosine"), 5);
      expect(found.map(({ row }) => row)).toEqual([1, 2, 3, 4, 5]);
    }
  });

  test("are bounded: the exact score of nearly every row is under its bound", async () => {
    for (const metric of ["cosine", "dot", "euclidean"] as const) {
      const collection = makeCollection(samples("spectrum", 2000, 200, 9));
      const [query = new Float32Array()] = samples("spectrum", 1, 200, 10);
      const found = await indexOf(collection).scan(prepareQuery(collection.coder, query, metric), 2000);
      const exact = (row: number) =>
        exactScore(metric, query, normOf(query), collection.vectors[row - 1] ?? new Float32Array());
      const under = found.filter(({ row, bound }) => exact(row) <= bound);
      expect(under.length / found.length).toBeGreaterThan(0.98);
    }
  });

  test("of a replaced page are those of the new one", async () => {
    const collection = makeCollection(samples("uniform", 1500, 96, 2));
    const [query = new Float32Array()] = samples("uniform", 1, 96, 3);
    for (const index of bothIndexes(collection)) {
      const page = createPage(collection.coder.codeBytes);
      appendCode(page, 9000, collection.coder.encode(query));
      index.setPage(0, page);
      const found = await index.scan(prepareQuery(collection.coder, query, "cosine"), 2000);
      expect(found).toHaveLength(1500 - PAGE_SLOTS + 1);
      expect(found[0]?.row).toBe(9000);
    }
  });
});

describe("a scan in slices", () => {
  test("pauses when its slice is spent, and another scan meanwhile changes nothing", async () => {
    const collection = makeCollection(samples("clustered", 5000, 64, 4));
    const [first = new Float32Array(), second = first] = samples("clustered", 2, 64, 5);
    const queries = [first, second].map((query) => prepareQuery(collection.coder, query, "cosine"));
    const reference = indexOf(collection);
    const whole = await Promise.all(queries.map((query) => reference.scan(query, 50)));
    for (const index of bothIndexes(collection)) {
      expect(await Promise.all(queries.map((query) => index.scan(query, 50)))).toEqual(whole);
      let pauses = 0;
      const options: ScanOptions = {
        slice: {
          isSpent: true,
          async pause() {
            pauses++;
            await new Promise((resume) => setImmediate(resume));
          },
        },
      };
      expect(await Promise.all(queries.map((query) => index.scan(query, 50, options)))).toEqual(whole);
      expect(pauses).toBe(2 * collection.pages.length);
    }
  });

  test("takes the slices of the environment", async () => {
    const collection = makeCollection(samples("uniform", 3000, 64, 4));
    const [query = new Float32Array()] = samples("uniform", 1, 64, 5);
    const prepared = prepareQuery(collection.coder, query, "dot");
    const index = indexOf(collection);
    const slice = new TimeSlice(realEnvironment(), 0);
    expect(await index.scan(prepared, 20, { slice })).toEqual(await index.scan(prepared, 20));
  });
});

describe("the kernel", () => {
  const { Module, Memory, Instance } = (globalThis as unknown as { WebAssembly: WasmPlatform }).WebAssembly;

  test("with vector instructions is used where they are", () => {
    expect(createKernel(codeBytes(384)).name).toBe("wasm");
  });

  test("in JavaScript is used without WebAssembly, without its vector instructions and without memory for it", () => {
    class Failing {
      readonly buffer = new ArrayBuffer();
      constructor() {
        throw new RangeError("not here");
      }
      grow(pages: number): number {
        return pages;
      }
    }
    const platforms: readonly (WasmPlatform | undefined)[] = [
      undefined,
      { Module: Failing, Memory, Instance },
      { Module, Memory: Failing, Instance },
    ];
    const names = platforms.map((platform) => createKernel(codeBytes(384), compileKernel(platform)).name);
    expect(names).toEqual(["javascript", "javascript", "javascript"]);
  });
});

test("an index without pages has no candidates", async () => {
  const coder = new VectorCoder(SEED, 8);
  const query = prepareQuery(coder, Float32Array.of(1, 0, 0, 0, 0, 0, 0, 0), "cosine");
  expect(await new CodeIndex(coder.codeBytes).scan(query, 10)).toEqual([]);
});
