// Segments round-trip at every boundary, store about what is appended, and keep damage inside themselves.
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { repetitiveTranscript } from "../../../bench/transcripts.ts";
import { DamagedBytes } from "./compress.ts";
import type { Frame } from "./segments.ts";
import {
  decodeFrames,
  encodeFrame,
  MAX_FRAMES,
  merge,
  mergeFrom,
  openSealed,
  plan,
  SEGMENT_BYTES,
  seal,
} from "./segments.ts";

const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;
const transcript = repetitiveTranscript(SEGMENT_BYTES + 1_000_000);
const segment = transcript.subarray(0, SEGMENT_BYTES);

describe("BL3 frames of an open segment", () => {
  test("round-trip any bytes in any pieces", () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.uint8Array({ maxLength: 3_000 }),
      fc.nat(200_000).map((at) => segment.subarray(at, at + 20_000)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        expect(same(decodeFrames(encodeAll(pieces)), Buffer.concat(pieces))).toBe(true);
      }),
    );
  });

  test("round-trip with and without dictionaries on either side", () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.uint8Array({ maxLength: 3_000 }),
      fc.nat(200_000).map((at) => segment.subarray(at, at + 20_000)),
      fc.nat(200_000).map((at) => segment.subarray(at, at + 300_000)),
      fc.nat(100_000).map((length) => Buffer.alloc(length, "a")),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(piece, fc.boolean()), { maxLength: 10 }), (pieces) => {
        const frames: Frame[] = [];
        let prefix: Uint8Array = new Uint8Array(0);
        for (const [tail, withDictionary] of pieces) {
          frames.push({ bytes: encodeFrame(prefix, tail, withDictionary), size: tail.length });
          prefix = Buffer.concat([prefix, tail]);
        }
        for (const withDictionary of [true, false])
          expect(same(decodeFrames(frames, withDictionary), prefix)).toBe(true);
      }),
    );
    const half = SEGMENT_BYTES / 2;
    const [first, second] = [segment.subarray(0, half), segment.subarray(half)];
    const frames = [first, second].map((tail, i) => ({
      bytes: encodeFrame(segment.subarray(0, i * half), tail, true),
      size: half,
    }));
    expect(same(decodeFrames(frames, false), segment)).toBe(true);
  });

  test("damage is found without dictionaries, too", () => {
    const tail = segment.subarray(1_000, 3_000);
    const frame = encodeFrame(segment.subarray(0, 5_000), tail, true);
    const first = { bytes: encodeFrame(new Uint8Array(0), segment.subarray(0, 5_000)), size: 5_000 };
    for (const bytes of [
      frame.subarray(0, 4),
      frame.subarray(0, frame.length - 5),
      Buffer.alloc(30),
      new Uint8Array(0),
    ]) {
      expect(() => decodeFrames([first, { bytes, size: tail.length }], false)).toThrow(DamagedBytes);
    }
    expect(() => decodeFrames([first, { bytes: frame, size: tail.length + 1 }], false)).toThrow(DamagedBytes);
  });

  test("round-trip at the edges of a segment", () => {
    expect(decodeFrames([])).toHaveLength(0);
    for (const first of [0, 1, 7, 8, 65_536, SEGMENT_BYTES - 1]) {
      for (const second of [0, 1, SEGMENT_BYTES - first - 1, SEGMENT_BYTES - first]) {
        if (first + second > SEGMENT_BYTES) continue;
        const pieces = [segment.subarray(0, first), segment.subarray(first, first + second)];
        expect(same(decodeFrames(encodeAll(pieces)), segment.subarray(0, first + second))).toBe(true);
      }
    }
    expect(() => encodeFrame(segment, Uint8Array.of(1))).toThrow(RangeError);
  });

  test("store about the appended bytes: a repeat from anywhere in reach costs next to nothing", () => {
    for (const [at, length] of [
      [0, 1_000_000],
      [1_000_000, 800_000],
      [2_500_000, 400_000],
    ] as const) {
      const prefix = noise(3_000_000);
      expect(encodeFrame(prefix, prefix.subarray(at, at + length)).length).toBeLessThan(1_000);
    }
  });

  test("decode with the whole prefix as dictionary too: the shorter one is only faster", () => {
    const prefix = segment.subarray(0, 2_000_000);
    const tail = segment.subarray(2_000_000, 2_003_000);
    const frame = encodeFrame(prefix, tail);
    expect(same(zstdDecompressSync(frame, { dictionary: prefix }), tail)).toBe(true);
    expect(frame.length).toBeLessThan(zstdCompressSync(tail).length);
  });

  test("accept content that begins like a trained zstd dictionary", () => {
    const magic = Uint8Array.of(0x37, 0xa4, 0x30, 0xec);
    for (const rest of [0, 3, 4, 100]) {
      const pieces = [Buffer.concat([magic, noise(rest)]), magic, noise(50)];
      expect(same(decodeFrames(encodeAll(pieces)), Buffer.concat(pieces))).toBe(true);
    }
  });

  test("refuse sizes that do not fit a segment before allocating anything", () => {
    const bytes = encodeFrame(new Uint8Array(0), segment);
    for (const size of [-1, 0.5, Number.NaN, SEGMENT_BYTES + 1, 2 ** 52]) {
      expect(() => decodeFrames([{ bytes, size }])).toThrow(DamagedBytes);
      expect(() => openSealed(bytes, size)).toThrow(DamagedBytes);
    }
    expect(() =>
      decodeFrames([
        { bytes, size: SEGMENT_BYTES },
        { bytes, size: 1 },
      ]),
    ).toThrow(DamagedBytes);
  });

  // Frames carry zstd's own checksum, so wrong bytes hardly ever get this far; but 32 bits are not proof, and the
  // caller compares sha256 before it gives anything out.
  test("answer a flipped bit in any frame with DamagedBytes", () => {
    const frames = encodeAll([segment.subarray(0, 5_000), segment.subarray(5_000, 9_000), noise(300)]);
    const whole = decodeFrames(frames);
    fc.assert(
      fc.property(fc.nat(frames.length - 1), fc.nat(), (index, position) => {
        const damaged = frames.map((frame, i) => (i === index ? flipped(frame, position) : frame));
        const outcome = attempt(() => decodeFrames(damaged));
        // A few header bits are not used in decoding: then nothing is lost and the bytes are right.
        if (outcome instanceof Uint8Array) expect(same(outcome, whole)).toBe(true);
        else expect(outcome).toBeInstanceOf(DamagedBytes);
      }),
      { numRuns: 500 },
    );
  });

  test("notice by the checksum a frame that does not follow the bytes it was encoded after", () => {
    const [a, b, c] = encodeAll([0, 1, 2].map((i) => segment.subarray(i * 9_000, (i + 1) * 9_000)));
    if (a === undefined || b === undefined || c === undefined) throw new Error("three pieces, three frames");
    for (const frames of [
      [b, c],
      [a, c],
      [a, c, b],
    ]) {
      expect(() => decodeFrames(frames)).toThrow(DamagedBytes);
    }
  });

  test("stop a bomb at the declared size", () => {
    const bomb = zstdCompressSync(new Uint8Array(64 * 1024 * 1024));
    expect(() => decodeFrames([{ bytes: bomb, size: 100 }])).toThrow(DamagedBytes);
    expect(() => openSealed(bomb, SEGMENT_BYTES)).toThrow(DamagedBytes);
  });
});

describe("BL3 a sealed segment", () => {
  test("round-trips, stands alone and is smaller than its frames", () => {
    for (const bytes of [new Uint8Array(0), Uint8Array.of(9), noise(100_000), segment]) {
      expect(same(openSealed(seal(bytes), bytes.length), bytes)).toBe(true);
    }
    const pieces = Array.from({ length: 16 }, (_, i) => segment.subarray(i * 262_144, (i + 1) * 262_144));
    const frames = encodeAll(pieces);
    expect(seal(segment).length).toBeLessThan(frames.reduce((sum, frame) => sum + frame.bytes.length, 0));
    expect(() => seal(transcript)).toThrow(RangeError);
  });

  test("finds a repeat 3 MB away, which plain level 3 does not", () => {
    const content = noise(500_000);
    const bytes = Buffer.concat([content, noise(3_000_000, 77), content]);
    expect(bytes.length - seal(bytes).length).toBeGreaterThan(450_000);
    expect(bytes.length - zstdCompressSync(bytes).length).toBeLessThan(50_000);
  });
});

describe("BL3 plan", () => {
  test("fills the open segment, then new ones, and seals exactly the full ones", () => {
    const max = SEGMENT_BYTES;
    expect(plan(0, 0)).toEqual([]);
    expect(plan(10, 5)).toEqual([{ take: 5, seals: false }]);
    expect(plan(0, max - 1)).toEqual([{ take: max - 1, seals: false }]);
    expect(plan(0, max)).toEqual([{ take: max, seals: true }]);
    expect(plan(0, max + 1)).toEqual([
      { take: max, seals: true },
      { take: 1, seals: false },
    ]);
    expect(plan(max - 1, 1)).toEqual([{ take: 1, seals: true }]);
    for (const wrong of [max, -1, Number.NaN]) expect(() => plan(wrong, 1)).toThrow(RangeError);
  });

  test("never overfills and loses nothing", () => {
    fc.assert(
      fc.property(fc.nat(SEGMENT_BYTES - 1), fc.nat(5 * SEGMENT_BYTES), (openLength, tailLength) => {
        let length = openLength;
        let taken = 0;
        for (const { take, seals } of plan(openLength, tailLength)) {
          expect(take).toBeGreaterThan(0);
          length += take;
          taken += take;
          expect(seals).toBe(length === SEGMENT_BYTES);
          if (seals) length = 0;
        }
        expect(taken).toBe(tailLength);
      }),
    );
  });
});

describe("BL3 merge", () => {
  test("leaves few frames alone and reduces many, keeping the bytes", () => {
    const pieces = Array.from({ length: MAX_FRAMES + 1 }, (_, i) => segment.subarray(i * 700, (i + 1) * 700));
    const frames = encodeAll(pieces);
    expect(merge(frames.slice(1))).toBeUndefined();
    const merged = merge(frames);
    expect(merged?.keep).toBe(0);
    const after = merged === undefined ? frames : [...frames.slice(0, merged.keep), merged.frame];
    expect(same(decodeFrames(after), segment.subarray(0, pieces.length * 700))).toBe(true);
    expect(merge(frames, decodeFrames(frames))).toEqual(merged);
  });

  test("keeps a large earlier frame until what follows is half its size", () => {
    const small = (count: number) => Array.from({ length: count }, () => 100);
    expect(mergeFrom([1_000_000, ...small(MAX_FRAMES - 1)])).toBeUndefined();
    expect(mergeFrom([1_000_000, ...small(MAX_FRAMES)])).toBe(1);
    expect(mergeFrom([12_000, ...small(MAX_FRAMES)])).toBe(0);
  });

  test("at least halves, and re-encodes each byte a bounded number of times", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 200, maxLength: 1_500 }), (appends) => {
        let sizes: number[] = [];
        let work = 0;
        for (const size of appends) {
          sizes.push(size);
          const from = mergeFrom(sizes);
          if (from === undefined) continue;
          expect(from).toBeLessThanOrEqual(MAX_FRAMES / 2);
          const merged = sizes.slice(from).reduce((sum, value) => sum + value, 0);
          work += merged;
          sizes = [...sizes.slice(0, from), merged];
        }
        expect(sizes.length).toBeLessThanOrEqual(MAX_FRAMES);
        expect(work / appends.reduce((sum, size) => sum + size, 0)).toBeLessThan(6);
      }),
    );
  });
});

function encodeAll(pieces: readonly Uint8Array[]): Frame[] {
  const whole = Buffer.concat(pieces);
  let at = 0;
  return pieces.map((piece) => {
    const bytes = encodeFrame(whole.subarray(0, at), piece);
    at += piece.length;
    return { bytes, size: piece.length };
  });
}

function flipped(frame: Frame, position: number): Frame {
  const bytes = Uint8Array.from(frame.bytes);
  const bit = position % (bytes.length * 8);
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return { bytes, size: frame.size };
}

function attempt(action: () => Uint8Array): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}

function noise(length: number, seed = 1): Uint8Array {
  let state = seed;
  return Uint8Array.from({ length }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state & 0xff;
  });
}
