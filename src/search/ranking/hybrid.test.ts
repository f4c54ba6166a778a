// The scores of words and of vectors as one ranking.
import { describe, expect, test } from "vitest";
import { rankHybrid } from "./hybrid.ts";

describe("a hybrid ranking", () => {
  test("ME11 adds normalised scores by their weights, and shows both", () => {
    const text = new Map([
      ["a", 0.8],
      ["b", 0.4],
    ]);
    const vector = new Map([
      ["b", 0.9],
      ["c", 0.7],
      ["d", 0.5],
    ]);
    const ranked = rankHybrid(text, vector, { weights: { text: 0.75, vector: 0.25 } });
    expect(ranked.map(({ key }) => key)).toEqual(["a", "b", "c", "d"]);
    expect(ranked[0]).toEqual({ key: "a", score: 0.75, text: 1, vector: 0 });
    expect(ranked[1]).toEqual({ key: "b", score: 0.625, text: 0.5, vector: 1 });
    expect(ranked[2]?.score).toBeCloseTo(0.125);
  });

  test("ME11 is that of one signal where the other has nothing, in its order", () => {
    const scores = new Map([
      ["a", 0.2],
      ["b", 0.9],
    ]);
    expect(rankHybrid(scores, new Map()).map(({ key }) => key)).toEqual(["b", "a"]);
    expect(rankHybrid(new Map(), scores).map(({ key }) => key)).toEqual(["b", "a"]);
    expect(rankHybrid(new Map(), new Map())).toEqual([]);
    expect(rankHybrid(new Map([["a", 0]]), new Map())).toEqual([{ key: "a", score: 0.6, text: 1, vector: 0 }]);
  });

  test("ME11 takes very many candidates", () => {
    const many = new Map(Array.from({ length: 200_000 }, (_, at) => [at, at + 1] as const));
    expect(rankHybrid(many, many)[0]).toEqual({ key: 199_999, score: 1, text: 1, vector: 1 });
  });
});
