// Planted bugs are found on the production loop within a thousand seeds, and without them the same seeds are well.
import { describe, expect, test } from "vitest";
import { type Simulation, simulate, simulatePlanted } from "../../src/testing/sim/simulate.ts";
import { CANARIES, type Canary } from "./canaries.ts";
import { mutated, type Simulate } from "./mutants.ts";

const MOST_SEEDS = 1000;

async function planted({ plant }: Canary): Promise<Simulate> {
  if (plant instanceof Array) return mutated(plant);
  return (simulation: Simulation) => simulatePlanted(simulation, plant);
}

describe("planted bugs", () => {
  test.each(CANARIES)("$name is caught", { timeout: 300_000 }, async (canary) => {
    const { make } = canary;
    const bad = await planted(canary);
    let caught: number | null = null;
    for (let seed = 1; seed <= MOST_SEEDS && caught === null; seed++) {
      const { problems } = await bad(make(seed));
      if (problems.length > 0) caught = seed;
    }
    expect(caught, `nothing was noticed in ${MOST_SEEDS} seeds`).not.toBeNull();
    expect((await simulate(make(caught ?? 0))).problems).toEqual([]);
  });
});
