// The required simulations at the rates of the requirements, and every seed that ever failed.
import { describe, expect, test } from "vitest";
import { required } from "./required.ts";
import { keptSeeds, runScenario } from "./run-scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

describe("simulations at their own rate", () => {
  required((own) => own);
});

describe("seeds that failed once", () => {
  test.each(keptSeeds())("$scenario at $rate: $seed", async ({ scenario, rate, seed }) => {
    const found = SCENARIOS.get(scenario);
    if (found === undefined) throw new Error(`there is no scenario ${scenario}`);
    expect((await runScenario(found, seed, rate)).problems).toEqual([]);
  });
});
