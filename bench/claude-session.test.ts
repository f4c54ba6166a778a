// The figures of captures depend on the generated Claude Code sessions; test/agents/claude.test.ts has the real
// agent resume one.
import { createHash } from "node:crypto";
import { constants, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { claudeSession } from "./claude-session.ts";

interface Line {
  readonly uuid: string;
  readonly parentUuid: string | null;
  readonly sessionId: string;
  readonly type: string;
  readonly message: { readonly content: unknown };
}

function linesOf(bytes: Uint8Array): Line[] {
  const text = Buffer.from(bytes).toString("utf8");
  expect(text.endsWith("\n")).toBe(true);
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describe("a generated Claude Code session", () => {
  test("is one chain of lines of the given size, with a marker in every turn", () => {
    const session = claudeSession({ bytes: 500_000, sessionId: "00000000-0000-4000-8000-000000000001" });
    const lines = linesOf(session.bytes);
    expect(session.bytes.length).toBeGreaterThanOrEqual(500_000);
    expect(session.bytes.length).toBeLessThan(550_000);
    expect(lines).toHaveLength(session.lines);
    expect(lines.at(-1)?.uuid).toBe(session.leaf);
    expect(new Set(lines.map((line) => line.uuid)).size).toBe(lines.length);
    expect(lines.map((line) => line.parentUuid)).toEqual([null, ...lines.slice(0, -1).map((line) => line.uuid)]);
    expect(new Set(lines.map((line) => line.sessionId))).toEqual(new Set([session.sessionId]));
    const marks = lines.flatMap((line) => JSON.stringify(line.message.content).match(/MARK-\d+/g) ?? []);
    expect(marks).toEqual(Array.from({ length: session.turns }, (_, i) => `MARK-${i + 1}`));
  });

  test("is the same bytes every time, and others for another seed", () => {
    const hash = (seed: number) => sha256(claudeSession({ bytes: 300_000, seed }).bytes);
    expect(hash(1)).toMatchInlineSnapshot(`"48f3ea6e9fc627e5782034db0809960eb276b0ebff9d2251eb98adfc430dfc63"`);
    expect(hash(2)).not.toBe(hash(1));
  });

  test("of 12 MB compresses as ordinary and as repetitive ones do", () => {
    const ordinary = zstdRatio(claudeSession({ bytes: 12_000_000 }).bytes);
    expect(ordinary).toBeGreaterThan(0.22);
    expect(ordinary).toBeLessThan(0.3);
    const repetitive = zstdRatio(claudeSession({ bytes: 12_000_000, kind: "repetitive" }).bytes);
    expect(repetitive).toBeGreaterThan(0.06);
    expect(repetitive).toBeLessThan(0.09);
  });
});

function zstdRatio(bytes: Uint8Array): number {
  return zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 3 } }).length / bytes.length;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
