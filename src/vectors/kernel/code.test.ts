// Rotations, codes, stored numbers and the compiled kernel: the same on every machine, and correct to the bit where they promise it.
import { readFileSync } from "node:fs";
import * as path from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { kernelFile } from "../../../scripts/vector-kernel.ts";
import { sampleVectors } from "../../../test/vectors/samples.ts";
import { sha256Hex } from "../../core/bytes.ts";
import { codeBytes, VectorCoder } from "./code.ts";
import { encodeHalves, readHalves } from "./half.ts";
import { CandidateScorer, type RescoreOptions } from "./rescore.ts";
import { Rotation, rotatedSize } from "./rotation.ts";
import { checkVector, encodeFloats, MAX_DIMENSION, normOf, readFloats } from "./vector.ts";

test("wasm-bytes.ts is what scripts/vector-kernel.ts builds", () => {
  const file = path.join(import.meta.dirname, "wasm-bytes.ts");
  expect(readFileSync(file, "utf8"), "node scripts/vector-kernel.ts --write").toBe(kernelFile());
});

describe("a rotation", () => {
  test.each([1, 64, 100, 384, 768, 1000, 1536, MAX_DIMENSION])(
    "of %d dimensions keeps lengths and angles",
    (dimension) => {
      const rotation = new Rotation(5, dimension);
      const next = sampleVectors("uniform", dimension, 6);
      const padded = [next(), next()].map((vector) => {
        const values = new Float32Array(rotatedSize(dimension));
        values.set(vector);
        return values;
      });
      const product = ([a, b]: readonly Float32Array[]) =>
        a?.reduce((sum, value, i) => sum + value * (b?.[i] ?? 0), 0) ?? 0;
      const before = [product(padded), ...padded.map(normOf)];
      for (const values of padded) rotation.rotate(values);
      const scale = (before[1] ?? 0) * (before[2] ?? 0);
      [product(padded), ...padded.map(normOf)].forEach((value, i) => {
        expect(Math.abs(value - (before[i] ?? 0)) / scale).toBeLessThan(1e-4);
      });
    },
  );

  test("spreads a vector of one number over all coordinates", () => {
    const rotation = new Rotation(5, 384);
    for (const at of [0, 100, 383]) {
      const values = new Float32Array(384);
      values[at] = 1;
      rotation.rotate(values);
      expect(Math.max(...values.map(Math.abs))).toBeLessThan(0.3);
      expect(values.filter((value) => value !== 0).length).toBeGreaterThan(300);
    }
  });

  test("is determined by seed and dimension, to the bit", () => {
    const rotated = (seed: number, dimension: number) => {
      const values = new Float32Array(rotatedSize(dimension));
      for (let i = 0; i < dimension; i++) values[i] = Math.fround(((i * 7919) % 101) / 64 - 0.75);
      new Rotation(seed, dimension).rotate(values);
      return sha256Hex(encodeFloats(values)).slice(0, 16);
    };
    expect([rotated(1, 384), rotated(2, 384), rotated(0xffffffff, 100), rotated(1, 1536)]).toMatchInlineSnapshot(`
      [
        "577d8fb6eef6df51",
        "73e16bf2bff50a9b",
        "421b03cdd7dfff05",
        "9fef78863a16d0cd",
      ]
    `);
  });
});

describe("a code", () => {
  test("of the same vector is the same whatever its length, and does not depend on what was coded before", () => {
    const coder = new VectorCoder(3, 90);
    const vector = sampleVectors("uniform", 90, 4)();
    const first = coder.encode(vector);
    const longer = coder.encode(vector.map((value) => value * 4));
    expect(longer.bits).toEqual(first.bits);
    expect(longer.scale).toBe(first.scale);
    expect(longer.norm).toBe(first.norm * 4);
    expect(new VectorCoder(3, 90).encode(vector)).toEqual(first);
    expect(first.bits).toHaveLength(codeBytes(90));
  });

  test("of the zero vector estimates 0, and those of the largest and smallest numbers are finite", () => {
    const coder = new VectorCoder(3, 4);
    expect(coder.encode(new Float32Array(4))).toMatchObject({ scale: 0, norm: 0 });
    expect(coder.encodeQuery(new Float32Array(4))).toMatchObject({ unit: 0 });
    for (const size of [2 ** 126, 2 ** -149]) {
      const { scale, norm } = coder.encode(Float32Array.of(size, size, -size, size));
      expect(Number.isFinite(scale) && scale > 0).toBe(true);
      expect(Number.isFinite(norm) && norm > 0).toBe(true);
    }
  });

  test.each([1, 64, 384, 2080, MAX_DIMENSION])(
    "of %d dimensions: no sum of table entries exceeds 16 bits, no four 8 bits",
    (dimension) => {
      const query = sampleVectors("uniform", dimension, 8)();
      const { entries } = new VectorCoder(3, dimension).encodeQuery(query);
      const highest = Math.max(...entries);
      expect(highest * 4).toBeLessThanOrEqual(255);
      expect((entries.length / 16) * highest).toBeLessThanOrEqual(65_535);
      expect(entries).toHaveLength(codeBytes(dimension) * 32);
    },
  );
});

describe("a vector", () => {
  const check = (numbers: readonly number[], metric: "cosine" | "dot" | "euclidean" = "dot") =>
    checkVector(Float32Array.from(numbers), 3, metric, "vector");

  test("that may be stored gives its norm", () => {
    expect(check([3, 0, -4], "cosine")).toBe(5);
  });

  test.each([
    [[1, 2]],
    [[1, 2, 3, 4]],
    [[]],
    [[1, Number.NaN, 3]],
    [[1, 2, Infinity]],
    [[-Infinity, 2, 3]],
    [[1, 1e39, 2]],
    [[3e38, 3e38, 0]],
  ])("of %j is refused", (numbers) => {
    expect(() => check(numbers)).toThrow(expect.objectContaining({ code: "InvalidArgument" }));
  });

  test("of zeros is refused under cosine, where it has no direction, and accepted under dot and euclidean", () => {
    expect(() => check([0, -0, 0], "cosine")).toThrow(expect.objectContaining({ code: "InvalidArgument" }));
    expect([check([0, 0, 0], "dot"), check([0, 0, 0], "euclidean")]).toEqual([0, 0]);
  });

  test("is read from bytes at any address", () => {
    const vector = Float32Array.of(1.5, -2.25, 1e-40, 3e38);
    for (const shift of [0, 1, 2, 3]) {
      const bytes = new Uint8Array(16 + shift);
      bytes.set(encodeFloats(vector), shift);
      const read = new Float32Array(4);
      readFloats(bytes.subarray(shift), read);
      expect(read).toEqual(vector);
    }
  });
});

describe("half precision", () => {
  const roundTrip = (value: number) => {
    const read = new Float32Array(1);
    readHalves(encodeHalves(Float32Array.of(value), "vector"), read);
    return read[0];
  };

  test("keeps all 63,488 finite halves", () => {
    const bytes = new Uint8Array(Uint16Array.from({ length: 65_536 }, (_, half) => half).buffer);
    const values = new Float32Array(65_536);
    readHalves(bytes, values);
    const finite = values.filter((_, half) => ((half >> 10) & 31) !== 31);
    expect(finite).toHaveLength(63_488);
    const read = new Float32Array(finite.length);
    readHalves(encodeHalves(finite, "vector"), read);
    expect(read).toEqual(finite);
  });

  test("takes the nearest half, ties to even", () => {
    expect([2049, 2051, 2 ** -25, 3 * 2 ** -25, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 2047.75].map(roundTrip)).toEqual([
      2048,
      2052,
      0,
      2 ** -23,
      1,
      1 + 2 ** -9,
      2048,
    ]);
    fc.assert(
      fc.property(fc.float({ min: -65_504, max: 65_504, noNaN: true }), (value) => {
        const error = Math.abs((roundTrip(value) ?? Number.NaN) - value);
        expect(error).toBeLessThanOrEqual(Math.max(Math.abs(value) * 2 ** -11, 2 ** -25));
      }),
    );
  });

  test.each([65_505, -70_000, Infinity, Number.NaN])("refuses %d", (value) => {
    expect(() => roundTrip(value)).toThrow(expect.objectContaining({ code: "InvalidArgument" }));
  });
});

describe("exact scores", () => {
  const OPTIONS: RescoreOptions = { metric: "cosine", precision: "f32", count: 2, batch: 10 };
  const candidates = [4, 3, 2, 1].map((row) => ({ row, estimate: 1, bound: 1 }));
  const scorer = (options: Partial<RescoreOptions> = {}) =>
    new CandidateScorer(Float32Array.of(1, 1), candidates, { ...OPTIONS, ...options });

  test("decide, and of equal scores the lower row number does", () => {
    const all = scorer({ count: 3 });
    for (const row of all.nextRows()) all.score(row, encodeFloats(Float32Array.of(2, row === 3 ? 0 : 2)));
    expect(all.result()).toEqual([1, 2, 4].map((row) => ({ row, score: expect.closeTo(1, 12) })));
    expect(all.nextRows()).toEqual([]);
  });

  test("are the cosine, the inner product, and the distance with its sign turned", () => {
    const scores = (["cosine", "dot", "euclidean"] as const).map((metric) => {
      const one = scorer({ metric });
      one.nextRows();
      one.score(1, encodeFloats(Float32Array.of(4, -3)));
      return one.result()[0]?.score;
    });
    expect(scores).toEqual([1 / (5 * Math.SQRT2), 1, -5].map((score) => expect.closeTo(score, 12)));
  });

  test("are read in batches until no bound is above the worst of the best", () => {
    const bounds = [0.9, 0.8, 0.95, 0.1].map((bound, i) => ({ row: i + 1, estimate: 0.7, bound }));
    const one = new CandidateScorer(Float32Array.of(1, 0), bounds, { ...OPTIONS, count: 1, batch: 1 });
    const read: number[] = [];
    for (let rows = one.nextRows(); rows.length > 0; rows = one.nextRows()) {
      for (const row of rows) {
        read.push(row);
        one.score(row, encodeFloats(Float32Array.of(0.9, Math.sqrt(1 - 0.9 ** 2))));
      }
    }
    expect(read).toEqual([1, 2, 3]);
  });

  test.each([
    ["too short", new Uint8Array(7)],
    ["too long", new Uint8Array(12)],
    ["not finite", encodeFloats(Float32Array.of(Number.NaN, 1))],
    ["infinite", encodeFloats(Float32Array.of(Infinity, 1))],
  ])("of stored bytes that are %s are StoreCorrupted", (_, bytes) => {
    expect(() => scorer().score(1, bytes)).toThrow(expect.objectContaining({ code: "StoreCorrupted" }));
  });
});
