// The arithmetic of the figures and the shape of the report; nothing here is timed.
import { describe, expect, test } from "vitest";
import { alternate, compare, median, percentile } from "./measure.ts";
import { figure, isMet, type Result, toJson, toTable, wrap } from "./report.ts";
import { type Bench, chosen } from "./suite.ts";

describe("percentile", () => {
  test("is the nearest rank of samples in any order", () => {
    const samples = Array.from({ length: 100 }, (_, i) => 100 - i);
    expect(percentile(samples, 0.5)).toBe(50);
    expect(percentile(samples, 0.99)).toBe(99);
    expect(percentile(samples, 1)).toBe(100);
    expect(percentile(samples, 0)).toBe(1);
    expect(percentile([7], 0.99)).toBe(7);
  });

  test("of nothing is refused", () => {
    expect(() => percentile([], 0.5)).toThrow();
    expect(() => median([])).toThrow();
  });
});

test("median is the middle, or the mean of the two in the middle", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([10, 9])).toBe(9.5);
});

test("compare takes the median of the rounds' own ratios", () => {
  // The machine was ten times slower in the last round, for both.
  expect(compare([2, 2, 30], [1, 1, 10])).toEqual({ value: 2, baseline: 1, ratio: 2 });
});

test("alternate gives everyone a turn in every round, in a changing order, and forgets the warm-up", async () => {
  const order: string[] = [];
  const contender = (name: string, figure: number) => (round: number) => {
    order.push(`${name}${round}`);
    return figure * 10 + round;
  };
  const figures = await alternate(2, [contender("a", 1), contender("b", 2)]);
  expect(figures).toEqual([
    [10, 11],
    [20, 21],
  ]);
  expect(order).toEqual(["a-1", "b-1", "b0", "a0", "a1", "b1"]);
});

describe("the report", () => {
  const results: Result[] = [
    {
      metric: "append.concurrent64.unkeyed",
      value: 23_456.789,
      unit: "/s",
      baseline: 123_456,
      ratio: 0.19,
      note: `a long note ${"with many words ".repeat(12)}`,
    },
    {
      metric: "history.last100",
      value: 0.43219876,
      unit: "ms",
      baseline: 0.4,
      ratio: 1.08,
      targets: [
        { of: "ratio", must: "atMost", limit: 1.5 },
        { of: "value", must: "atMost", limit: 1 },
      ],
    },
    {
      metric: "append.concurrent64",
      value: 23_456,
      unit: "/s",
      baseline: 60_000,
      ratio: 0.39,
      targets: [{ of: "ratio", must: "atLeast", limit: 0.5 }],
    },
  ];

  test("as a table fits 80 columns and says what missed its target", () => {
    const lines = toTable(results);
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(lines[0]).toMatch(/^metric +value +baseline +ratio +target$/);
    expect(lines[1]).toMatch(/23,457 \/s +123,456 +0\.190$/);
    expect(lines[2]).toMatch(/0\.432 ms +0\.400 +1\.08 +≤ 1\.5, ≤ 1 ms +ok$/);
    expect(lines[3]).toMatch(/≥ 0\.5 +MISS$/);
  });

  test("as JSON is one array of the published shape", () => {
    const rows = JSON.parse(toJson(results));
    expect(rows[1]).toEqual({
      metric: "history.last100",
      value: 0.4322,
      unit: "ms",
      baseline: 0.4,
      ratio: 1.08,
      target: "ratio ≤ 1.5, value ≤ 1 ms",
    });
    expect(Object.keys(rows[0])).toEqual(["metric", "value", "unit", "baseline", "ratio", "note"]);
  });

  test("judges a result by all its targets", () => {
    expect(results.map(isMet)).toEqual([true, true, false]);
  });

  test("shows three digits that matter", () => {
    expect([0.12345, 1.2345, 12.345, 123.45, 1_234_567, Number.NaN].map(figure)).toEqual([
      "0.123",
      "1.23",
      "12.3",
      "123",
      "1,234,567",
      "-",
    ]);
  });

  test("wraps at spaces", () => {
    expect(wrap("one two three four", 9)).toEqual(["one two", "  three", "  four"]);
  });
});

test("a bench is chosen by a metric's name or by the name's beginning", () => {
  const bench = (...metrics: string[]): Bench => ({ metrics, run: async () => [] });
  const benches = [bench("append.growth", "history.last100"), bench("append.sequential"), bench("blobs.growing")];
  const names = (...only: string[]) => chosen(benches, only).flatMap((one) => one.metrics[0] ?? []);
  expect(names()).toHaveLength(3);
  expect(names("append")).toEqual(["append.growth", "append.sequential"]);
  expect(names("history.last100", "blobs.growing")).toEqual(["append.growth", "blobs.growing"]);
  expect(names("app")).toEqual([]);
});
