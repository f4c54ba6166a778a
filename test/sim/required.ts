// The eight required simulations over many seeds: a failure names the one command that plays it again.
import { expect, test } from "vitest";
import { command, play } from "./play.ts";
import { REQUIRED } from "./scenarios.ts";

/** More with HOLDFAST_SIM_SEEDS. */
const SEEDS = Number(process.env.HOLDFAST_SIM_SEEDS ?? 200);

export function required(rateOf: (own: number) => number): void {
  test.each(REQUIRED)("$name", { timeout: SEEDS * 20_000 }, async (scenario) => {
    const rate = rateOf(scenario.rate);
    const failed: string[] = [];
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { problems } = await play(scenario, seed, rate);
      if (problems.length > 0) failed.push(`${command(scenario, seed, rate)}: ${problems.join("; ")}`);
    }
    expect(failed).toEqual([]);
  });
}
