// Packing gives back what was packed, and damage of every kind is DamagedBytes, never a crash or unbounded memory.
import { zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DamagedBytes, inflate, MIN_ZSTD_BYTES, pack, unpack } from "./compress.ts";

const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;

describe("pack and unpack", () => {
  test("give back what was packed", () => {
    const repeated = fc
      .tuple(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.integer({ min: 0, max: 100 }))
      .map(([piece, times]) => Buffer.concat(Array.from({ length: times }, () => piece)));
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 5_000 }), repeated), (bytes) => {
        const packed = pack(bytes);
        expect(packed.bytes.length).toBeLessThanOrEqual(bytes.length);
        expect(same(unpack(packed.codec, packed.bytes, bytes.length), bytes)).toBe(true);
      }),
    );
  });

  test("compress from 1024 bytes on, and only when a sixteenth is saved", () => {
    expect(pack(new Uint8Array(0)).codec).toBe("raw");
    expect(pack(new Uint8Array(MIN_ZSTD_BYTES - 1)).codec).toBe("raw");
    expect(pack(new Uint8Array(MIN_ZSTD_BYTES)).codec).toBe("zstd");
    const noise = notCompressible(64 * 1024);
    expect(pack(noise)).toEqual({ codec: "raw", bytes: noise });
    // A twentieth of zeros is too little to pay for decompression, an eighth is enough.
    expect(pack(Buffer.concat([noise, new Uint8Array(noise.length / 20)])).codec).toBe("raw");
    expect(pack(Buffer.concat([noise, new Uint8Array(noise.length / 8)])).codec).toBe("zstd");
  });

  test("refuse every wrong size", () => {
    const bytes = new Uint8Array(10_000).fill(7);
    const packed = pack(bytes);
    for (const size of [0, 9_999, 10_001, -1, 1.5, Number.NaN, 2 ** 53]) {
      expect(() => unpack(packed.codec, packed.bytes, size)).toThrow(DamagedBytes);
      expect(() => unpack("raw", bytes, size)).toThrow(DamagedBytes);
    }
  });

  test("refuse a truncated frame, no frame, and what never was one", () => {
    const { bytes } = pack(new Uint8Array(10_000).fill(7));
    for (let length = 0; length < bytes.length; length++) {
      expect(() => unpack("zstd", bytes.subarray(0, length), 10_000)).toThrow(DamagedBytes);
    }
    expect(() => unpack("zstd", Buffer.from("not zstd at all"), 15)).toThrow(DamagedBytes);
    expect(() => unpack("zstd", new Uint8Array(0), 0)).toThrow(DamagedBytes);
    expect(unpack("zstd", zstdCompressSync(new Uint8Array(0)), 0)).toHaveLength(0);
  });

  // A flip may also leave a valid frame of the right size with wrong bytes: that is for the caller's sha256 to find.
  test("answer a flipped bit with DamagedBytes or with the declared number of bytes, never with anything else", () => {
    const bytes = Buffer.from(Array.from({ length: 2_000 }, (_, i) => (i * i) % 251));
    const packed = pack(bytes);
    fc.assert(
      fc.property(fc.nat(packed.bytes.length * 8 - 1), (bit) => {
        const damaged = Uint8Array.from(packed.bytes);
        damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const outcome = attempt(() => unpack("zstd", damaged, bytes.length));
        if (!(outcome instanceof DamagedBytes)) expect(outcome).toHaveLength(bytes.length);
      }),
      { numRuns: 300 },
    );
  });

  test("stop a decompression bomb at the declared size", () => {
    const bomb = zstdCompressSync(new Uint8Array(64 * 1024 * 1024));
    expect(bomb.length).toBeLessThan(8 * 1024);
    const outcome = attempt(() => unpack("zstd", bomb, 4_096));
    expect(outcome).toMatchObject({ name: "DamagedBytes", cause: { code: "ERR_BUFFER_TOO_LARGE" } });
  });

  test("refuse a header that asks for a huge window", () => {
    // Magic, descriptor without content size, window descriptor 2^27, one empty last block.
    const frame = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, (27 - 10) << 3, 0x01, 0x00, 0x00);
    expect(() => inflate(frame, 0, { windowLogMax: 23 })).toThrow(DamagedBytes);
    expect(inflate(frame, 0, { windowLogMax: 27 })).toHaveLength(0);
  });

  test("keep the cause of the damage", () => {
    const outcome = attempt(() => unpack("zstd", Buffer.from("not zstd at all"), 15));
    expect(outcome).toMatchObject({ name: "DamagedBytes", cause: { code: "ZSTD_error_prefix_unknown" } });
  });
});

function attempt(action: () => Uint8Array): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}

function notCompressible(length: number): Uint8Array {
  let state = 0x2545f491;
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state >>> 24;
  });
}
