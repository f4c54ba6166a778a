// Cuts depend on content alone: not on how the input arrives, nor on what was changed elsewhere in it.
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AVERAGE_CHUNK_BYTES, Cutter, cut, MAX_CHUNK_BYTES, MIN_CHUNK_BYTES } from "./chunks.ts";

const MIB = 1024 * 1024;

describe("cut", () => {
  test("covers the input with chunks inside the limits", () => {
    for (const bytes of [noise(3 * MIB, 1), new Uint8Array(MIB), Buffer.from("the same line again\n".repeat(50_000))]) {
      const lengths = cut(bytes);
      expect(total(lengths)).toBe(bytes.length);
      for (const length of lengths.slice(0, -1)) expect(length).toBeGreaterThanOrEqual(MIN_CHUNK_BYTES);
      for (const length of lengths) expect(length).toBeLessThanOrEqual(MAX_CHUNK_BYTES);
    }
  });

  test("handles nothing, one byte, and exactly the limits", () => {
    expect(cut(new Uint8Array(0))).toEqual([]);
    expect(cut(new Uint8Array(1))).toEqual([1]);
    expect(cut(new Uint8Array(MIN_CHUNK_BYTES))).toEqual([MIN_CHUNK_BYTES]);
    // Equal bytes give no cut of their own, so the maximum applies.
    expect(cut(new Uint8Array(MAX_CHUNK_BYTES))).toEqual([MAX_CHUNK_BYTES]);
    expect(cut(new Uint8Array(MAX_CHUNK_BYTES + 1))).toEqual([MAX_CHUNK_BYTES, 1]);
  });

  test("averages 64 KiB", () => {
    const lengths = cut(noise(32 * MIB, 2));
    const mean = total(lengths) / lengths.length;
    expect(Math.abs(mean - AVERAGE_CHUNK_BYTES)).toBeLessThan(AVERAGE_CHUNK_BYTES / 10);
  });

  test("keeps almost all chunks after an insertion, a deletion or a change in the middle", () => {
    const bytes = noise(8 * MIB, 3);
    const before = digests(bytes);
    const middle = bytes.length / 2;
    const edits = [
      Buffer.concat([bytes.subarray(0, middle), Buffer.from("inserted"), bytes.subarray(middle)]),
      Buffer.concat([bytes.subarray(0, middle), bytes.subarray(middle + 1_000)]),
      Buffer.concat([bytes.subarray(0, middle), noise(5_000, 4), bytes.subarray(middle + 5_000)]),
    ];
    for (const edited of edits) {
      const changed = [...digests(edited)].filter((digest) => !before.has(digest));
      expect(changed.length).toBeLessThanOrEqual(3);
    }
  });

  test("still cuts where it cut when the format was fixed", () => {
    // A change here is allowed only knowingly: new blobs would no longer share chunks with old ones.
    expect(cut(noise(MIB, 5))).toMatchInlineSnapshot(`
      [
        16498,
        83875,
        62143,
        81344,
        54790,
        36972,
        76589,
        151054,
        62301,
        66851,
        68408,
        66432,
        58418,
        40976,
        65249,
        53566,
        3110,
      ]
    `);
  });
});

describe("Cutter", () => {
  const bytes = Buffer.concat([noise(MIB, 6), new Uint8Array(400_000), noise(300_000, 7)]);
  const expected = cut(bytes);

  test("yields the chunks of cut however the input is split", () => {
    const splits = fc.array(fc.oneof(fc.nat(50), fc.nat(70_000), fc.nat(600_000)), { maxLength: 60 });
    fc.assert(
      fc.property(splits, (sizes) => {
        const chunks = stream(new Cutter(), bytes, sizes);
        expect(chunks.map((chunk) => chunk.length)).toEqual(expected);
        expect(Buffer.compare(Buffer.concat(chunks), bytes)).toBe(0);
      }),
    );
  });

  test("yields them byte by byte, and is as new after finish", () => {
    const cutter = new Cutter();
    const part = bytes.subarray(0, 200_000);
    const single = Array.from({ length: part.length }, () => 1);
    for (const sizes of [single, []]) {
      expect(stream(cutter, part, sizes).map((chunk) => chunk.length)).toEqual(cut(part));
    }
    expect(cutter.finish()).toEqual([]);
  });

  test("gives copies, so that a pushed buffer may be reused", () => {
    const cutter = new Cutter();
    const piece = new Uint8Array(MAX_CHUNK_BYTES + 10).fill(1);
    const [first] = cutter.push(piece);
    piece.fill(2);
    expect(first?.every((byte) => byte === 1)).toBe(true);
    expect(cutter.finish()[0]?.every((byte) => byte === 1)).toBe(true);
  });
});

/** Pushes pieces of the given sizes and then the rest. */
function stream(cutter: Cutter, bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    chunks.push(...cutter.push(bytes.subarray(at, at + size)));
    at = Math.min(at + size, bytes.length);
  }
  return [...chunks, ...cutter.finish()];
}

function digests(bytes: Uint8Array): Set<string> {
  return new Set(stream(new Cutter(), bytes, []).map((chunk) => createHash("sha256").update(chunk).digest("hex")));
}

function total(lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => sum + length, 0);
}

function noise(length: number, seed: number): Uint8Array {
  const words = new Uint32Array(Math.ceil(length / 4));
  let state = seed;
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return new Uint8Array(words.buffer, 0, length);
}
