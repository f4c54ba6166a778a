// What the planted bugs are looked for in: small simulations of the production loop, each with what brings its bug out.
import type { Fault } from "../../src/testing/sim/faults.ts";
import type { Plant, Simulation } from "../../src/testing/sim/simulate.ts";
import { clerk, waiter } from "./agents.ts";
import { chainApart, intentAfterEffect, lostWakeup, withoutFencing } from "./plants.ts";

export interface Canary {
  readonly name: string;
  readonly plant: Plant;
  readonly make: (seed: number) => Simulation;
}

function working(seed: number, faults: readonly Fault[]): Simulation {
  return {
    ...{ seed, faults, agents: [clerk], limits: { quietMs: 300_000 } },
    async scenario(client) {
      await client.start("clerk", { id: "run", session: "s", input: { iterations: 2 } });
      await client.ended("run");
    },
  };
}

function waiting(seed: number): Simulation {
  return {
    ...{ seed, agents: [waiter], limits: { quietMs: 300_000 } },
    faults: [{ kind: "latency", probability: 0.3, ms: 2000 }],
    async scenario(client) {
      await client.start("waiter", { id: "run", session: "s" });
      await client.until("run", ({ status }) => status !== "running" || client.world.times("note") > 0);
      await client.signal("run", "go", "now");
      await client.ended("run");
    },
  };
}

const slow: readonly Fault[] = [
  { kind: "latency", probability: 0.15, ms: 60_000 },
  { kind: "leaseStolen", probability: 0.1 },
];
const deadly: readonly Fault[] = [{ kind: "death", probability: 0.01 }];

export const CANARIES: readonly Canary[] = [
  { name: "fencing removed", plant: withoutFencing, make: (seed) => working(seed, slow) },
  { name: "intent after effect", plant: intentAfterEffect, make: (seed) => working(seed, deadly) },
  { name: "chain not advanced atomically", plant: chainApart, make: (seed) => working(seed, deadly) },
  { name: "lost wake-up", plant: lostWakeup, make: waiting },
];
