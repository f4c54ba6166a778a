// The benchmarks are valid only if their data have the stated properties; these tests check them.
import { createHash } from "node:crypto";
import { constants, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { ordinaryTranscript, repetitiveTranscript, versions } from "./transcripts.ts";

const SIZE = 12_000_000;

describe("transcripts", () => {
  test("ordinary ones compress to 25–35 %", () => {
    for (const seed of [1, 2]) {
      const ratio = zstdRatio(ordinaryTranscript(SIZE, seed));
      expect(ratio).toBeGreaterThan(0.25);
      expect(ratio).toBeLessThan(0.35);
    }
  });

  test("repetitive ones compress to 7–9 %", () => {
    for (const seed of [1, 2, 3]) {
      const ratio = zstdRatio(repetitiveTranscript(SIZE, seed));
      expect(ratio).toBeGreaterThan(0.07);
      expect(ratio).toBeLessThan(0.09);
    }
  });

  test("repetitive ones repeat at 50 KB, 500 KB and 3 MB", () => {
    const bytes = repetitiveTranscript(SIZE);
    const lastSeen = new Map<string, number>();
    const repeated = { near: 0, middle: 0, far: 0, odd: 0 };
    let at = 0;
    for (const line of Buffer.from(bytes).toString().trimEnd().split("\n")) {
      const { content } = (JSON.parse(line) as { message: { content: string } }).message;
      const before = lastSeen.get(content);
      if (before !== undefined) repeated[band(at - before)] += content.length;
      lastSeen.set(content, at);
      at += Buffer.byteLength(line) + 1;
    }
    expect(repeated.near / SIZE).toBeGreaterThan(0.25);
    expect(repeated.middle / SIZE).toBeGreaterThan(0.25);
    expect(repeated.far / SIZE).toBeGreaterThan(0.04);
    expect(repeated.odd / SIZE).toBeLessThan(0.01);
  });

  test("are the same bytes every time, and others for another seed", () => {
    expect(sha256(ordinaryTranscript(100_000))).toMatchInlineSnapshot(
      `"a9b7f1ccc9e64a8541adbba4cf58a85b4481d777381a7cca6d1076a78804cdd5"`,
    );
    expect(sha256(repetitiveTranscript(1_000_000))).toMatchInlineSnapshot(
      `"b0fc8038e5d7a5f50b2151e4458989e42f24df7c4f954a1a155fb702d5abf4b6"`,
    );
    expect(sha256(ordinaryTranscript(100_000, 2))).not.toBe(sha256(ordinaryTranscript(100_000)));
  });

  test("versions grow, end at line ends and finish with the whole", () => {
    const full = ordinaryTranscript(300_000);
    const prefixes = versions(full, 50);
    expect(prefixes).toHaveLength(50);
    expect(prefixes.at(-1)).toHaveLength(full.length);
    prefixes.forEach((prefix, i) => {
      expect(prefix.at(-1)).toBe(0x0a);
      expect(prefix.length).toBeGreaterThan(prefixes[i - 1]?.length ?? 0);
    });
  });
});

function band(distance: number): "near" | "middle" | "far" | "odd" {
  const within = (target: number) => Math.abs(distance - target) < target / 2;
  if (within(50_000)) return "near";
  if (within(500_000)) return "middle";
  return within(3_000_000) ? "far" : "odd";
}

function zstdRatio(bytes: Uint8Array): number {
  return zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 3 } }).length / bytes.length;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
