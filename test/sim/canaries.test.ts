// Planted bugs are found on the production loop within a thousand seeds, and without them the same seeds are well.
import { describe, expect, test } from "vitest";
import { simulate, simulatePlanted } from "../../src/testing/sim/simulate.ts";
import { CANARIES } from "./canaries.ts";

const MOST_SEEDS = 1000;

describe("planted bugs", () => {
  test.each(CANARIES)("$name is caught", { timeout: 300_000 }, async ({ plant, make }) => {
    let caught: number | null = null;
    for (let seed = 1; seed <= MOST_SEEDS && caught === null; seed++) {
      const { problems } = await simulatePlanted(make(seed), plant);
      if (problems.length > 0) caught = seed;
    }
    expect(caught, `nothing was noticed in ${MOST_SEEDS} seeds`).not.toBeNull();
    expect((await simulate(make(caught ?? 0))).problems).toEqual([]);
  });
});
