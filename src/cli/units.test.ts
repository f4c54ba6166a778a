// Numbers for people, and durations as people type them.
import { describe, expect, test } from "vitest";
import { UsageError } from "./failure.ts";
import {
  formatAge,
  formatBytes,
  formatCount,
  formatPercent,
  formatSpan,
  formatTime,
  parseDuration,
  parseDurationOrNever,
  plural,
} from "./units.ts";

describe("units", () => {
  test.each([0, 7, 999, 1000, 12_345, 999_999, 1_000_000, 9_007_199_254_740_991, -1234, 1234.5, 1e21, Infinity])(
    "%d is written as in English",
    (count) => {
      expect(formatCount(count)).toBe(count.toLocaleString("en-US"));
    },
  );

  test.each([
    [0, "0 bytes"],
    [1, "1 byte"],
    [999, "999 bytes"],
    [1000, "1.0 kB"],
    [999_949, "999.9 kB"],
    [999_950, "1.0 MB"],
    [12_345_678, "12.3 MB"],
  ])("%i bytes are %s", (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  test.each([
    [5, "5 ms"],
    [59_499, "59 s"],
    [59_999, "1 min"],
    [999.6, "1 s"],
    [61_000, "1 min"],
    [47 * 3_600_000, "47 h"],
    [49 * 3_600_000, "2 d"],
    [7 * 86_400_000 - 5, "7 d"],
    [-5, "0 ms"],
  ])("%i ms are %s", (ms, text) => {
    expect(formatSpan(ms)).toBe(text);
  });

  test("ages, times, counts and shares", () => {
    expect(formatAge(1000, 4000)).toBe("3 s ago");
    expect(formatAge(9000, 4000)).toBe("just now");
    expect(formatTime(0)).toBe("1970-01-01 00:00:00Z");
    expect(formatTime(8.64e15 + 1)).toBe("@8640000000000001");
    expect([plural(1, "message"), plural(2000, "message")]).toEqual(["1 message", "2,000 messages"]);
    expect([formatPercent(0), formatPercent(0.0123), formatPercent(0.5)]).toEqual(["0 %", "1.2 %", "50 %"]);
  });

  test("durations", () => {
    expect(["90s", "15m", "12h", "7d", "1.5h", "20ms"].map((text) => parseDuration(text, "--ttl"))).toEqual([
      90_000, 900_000, 43_200_000, 604_800_000, 5_400_000, 20,
    ]);
    for (const text of ["", "7", "d", "7 d", "-1s", "1w"])
      expect(() => parseDuration(text, "--ttl")).toThrow(UsageError);
    expect(parseDurationOrNever("7d", "--ttl")).toBe(604_800_000);
    expect(parseDurationOrNever("never", "--ttl")).toBeNull();
    expect(() => parseDurationOrNever("forever", "--ttl")).toThrow(/12h or 7d, or never, not "forever"/);
  });
});
