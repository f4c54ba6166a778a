// The simulator finds planted bugs on the production loop, and without them the same seeds are clean. `npm test` begins the
// search shortly before the seed that finds each one; `npm run test:long` begins at 1.
import { describe, expect, test } from "vitest";
import { scaled } from "../../src/testing/scale.ts";
import { type Simulation, simulate, simulateWithBug } from "../../src/testing/sim/simulate.ts";
import { CANARIES, type Canary } from "./canaries.ts";
import { type Edit, mutated, type Simulate } from "./mutants.ts";

const MOST_SEEDS = scaled({ short: 1000, long: 2000 });

function isEdits(bug: Canary["bug"]): bug is readonly Edit[] {
  return Array.isArray(bug);
}

async function planted({ bug }: Canary): Promise<Simulate> {
  if (isEdits(bug)) return mutated(bug);
  return (simulation: Simulation) => simulateWithBug(simulation, bug);
}

describe("planted bugs", () => {
  test.each(CANARIES)("$name is caught", { timeout: 300_000 }, async (canary) => {
    const { make } = canary;
    const from = scaled({ short: canary.from ?? 1, long: 1 });
    const bad = await planted(canary);
    let caught: number | null = null;
    for (let seed = from; seed < from + MOST_SEEDS && caught === null; seed++) {
      const { problems } = await bad(make(seed));
      if (problems.length > 0) caught = seed;
    }
    expect(caught, `nothing was noticed in ${MOST_SEEDS} seeds`).not.toBeNull();
    expect((await simulate(make(caught ?? 0))).problems).toEqual([]);
  });
});
