// Which known names are offered for a misspelt one.
import { describe, expect, test } from "vitest";
import { editDistance, suggestNames } from "./distance.ts";

describe("did you mean", () => {
  test("counts insertions, deletions, replacements and swaps", () => {
    expect(editDistance("sesions", "sessions")).toBe(1);
    expect(editDistance("lgo", "log")).toBe(1);
    expect(editDistance("", "abc")).toBe(3);
    expect(editDistance("abc", "abc")).toBe(0);
  });

  test("offers the nearest name that is near enough", () => {
    expect(suggestNames("verfy", ["verify", "version"])).toBe('"verify"');
    expect(suggestNames("sess", ["messages", "sessions"])).toBe('"sessions"');
    expect(suggestNames("runn", ["log", "run", "runs"])).toBe('"run" or "runs"');
    expect(suggestNames("stor", ["store"], "--")).toBe('"--store"');
    expect(suggestNames("a".repeat(101), ["a".repeat(100)])).toBe("");
    expect(suggestNames("xyzzy", ["verify", "log"])).toBe("");
  });
});
