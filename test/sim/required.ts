// The eight required simulations over many seeds: a failure names the one command that plays it again.
import { expect, test } from "vitest";
import { type Scale, scaled } from "../../src/testing/scale.ts";
import { command, runScenario } from "./run-scenario.ts";
import { REQUIRED, type Scenario } from "./scenarios.ts";

export function required(rateOf: (own: number) => number): void {
  played(REQUIRED, rateOf, { short: 3, long: 200 });
}

/** HOLDFAST_SIM_SEEDS sets another number of seeds. */
export function played(scenarios: readonly Scenario[], rateOf: (own: number) => number, count: Scale<number>): void {
  const seeds = Number(process.env.HOLDFAST_SIM_SEEDS ?? scaled(count));
  const all = scenarios.map((scenario) => ({ scenario, name: scenario.name, rate: rateOf(scenario.rate) }));
  test.each(all)("$name at $rate", { timeout: Math.max(300_000, seeds * 20_000) }, async ({ scenario, rate }) => {
    const failed: string[] = [];
    for (let seed = 1; seed <= seeds; seed++) {
      const { problems } = await runScenario(scenario, seed, rate);
      if (problems.length > 0) failed.push(`${command(scenario, seed, rate)}: ${problems.join("; ")}`);
    }
    expect(failed).toEqual([]);
  });
}
