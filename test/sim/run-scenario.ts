// One seed of a scenario, as the tests and `npm run sim` play it, and the seeds that ever failed.
import { readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { type SimulationReport, simulate } from "../../src/testing/sim/simulate.ts";
import type { Scenario } from "./scenarios.ts";

/** Played twice, and must be the same both times: of these scenarios every seed, or every so many. */
const RUN_TWICE_EVERY: Readonly<Record<string, number>> = { determinism: 1, verbs: 10 };

export async function runScenario({ name, make }: Scenario, seed: number, rate: number): Promise<SimulationReport> {
  const first = await simulate(make(seed, rate));
  const every = RUN_TWICE_EVERY[name];
  if (every === undefined || seed % every !== 0) return first;
  const second = await simulate(make(seed, rate));
  const isSame = first.eventsHash === second.eventsHash && first.interleaving === second.interleaving;
  if (isSame && first.steps === second.steps) return first;
  return { ...first, problems: [...first.problems, "the same seed gave another history the second time"] };
}

export function command({ name }: Scenario, seed: number, rate: number): string {
  return `npm run sim -- --scenario ${name} --rate ${rate} --seed ${seed}`;
}

export interface KeptSeed {
  readonly scenario: string;
  readonly rate: number;
  readonly seed: number;
}

const FILE = path.join(import.meta.dirname, "seeds.json");

export function keptSeeds(): readonly KeptSeed[] {
  return JSON.parse(readFileSync(FILE, "utf8")) as readonly KeptSeed[];
}

/** For ever: whatever failed once is played by every test run. */
export function keepSeed({ scenario, rate, seed }: KeptSeed): void {
  const kept = keptSeeds();
  if (kept.some((one) => one.scenario === scenario && one.rate === rate && one.seed === seed)) return;
  const lines = [...kept, { scenario, rate, seed }].map(
    (one) => `  ${JSON.stringify(one).replaceAll(/([:,])(?=\S)/g, "$1 ")}`,
  );
  const text = `[\n${lines.map((line) => line.replace("{", "{ ").replace("}", " }")).join(",\n")}\n]\n`;
  writeFileSync(FILE, text);
}
