// What the planted bugs are looked for in: small simulations of the production loop, each with what brings its bug out.
import type { Fault } from "../../src/testing/sim/faults.ts";
import { rng } from "../../src/testing/sim/scheduler.ts";
import type { PlantedBug, Simulation } from "../../src/testing/sim/simulate.ts";
import { clerk, waiter } from "./agents.ts";
import type { Edit } from "./mutants.ts";
import * as plants from "./planted-bugs.ts";
import { PROMOTION } from "./promotion.ts";
import { SLOW } from "./scenarios.ts";
import { SEARCH } from "./search.ts";
import { frozenPeer, hungPeer, STALLS } from "./stalls.ts";
import { helper, trader } from "./trader.ts";
import { forWhat, people } from "./verbs.ts";

export interface Canary {
  readonly name: string;
  /** Around the product, or in its code. */
  readonly bug: PlantedBug | readonly Edit[];
  readonly make: (seed: number) => Simulation;
  /** Looked for from here on: where it was caught when it was planted, if that took long. */
  readonly from?: number;
}

function working(seed: number, faults: readonly Fault[]): Simulation {
  return {
    seed,
    faults,
    agents: [clerk],
    limits: { quietMs: 300_000 },
    async scenario(client) {
      await client.start("clerk", { id: "run", session: "s", input: { iterations: 2 } });
      await client.ended("run");
    },
  };
}

function waiting(seed: number): Simulation {
  return {
    seed,
    agents: [waiter],
    limits: { quietMs: 300_000 },
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

/** A person cancels a run at any moment of a slow store and slow tools. */
function cancelled(seed: number): Simulation {
  const random = rng(seed, "cancelled");
  return {
    seed,
    agents: [trader, helper],
    limits: { quietMs: 300_000 },
    purpose: forWhat,
    // An intent whose commit had an unknown outcome is found after a while.
    faults: [
      { kind: "latency", probability: 0.6, ms: 8000 },
      { kind: "errorAfter", probability: 0.5, filter: ({ names }) => names.includes("step/started") },
    ],
    async scenario(client) {
      await client.start("trader", { id: "run", session: "s", input: ["meet", "pay"] });
      await client.sleep(random() * 30_000);
      await client.attempt(() => client.store.runs.cancel("run"));
      await client.ended("run");
      await client.sleep(30_000);
    },
  };
}

/** People, and tools that fail or take long. */
const meddling = (seed: number): Simulation => people(seed, 0.05, ["pay", "meet", "ask"]);
/** People, and processes that die: a person is asked what happened beside other work. */
const dying = (seed: number): Simulation => {
  const simulation = people(seed, 0.05, ["meet"]);
  return { ...simulation, faults: [...(simulation.faults ?? []), { kind: "death", probability: 0.01 }] };
};
/** A worker so slow that it takes its own child for that of a worker that is gone. */
const sluggish = (seed: number): Simulation => ({
  seed,
  agents: [trader, helper],
  workers: 1,
  leaseMs: 2000,
  pollMs: 500,
  purpose: forWhat,
  faults: [{ kind: "latency", probability: 0.2, ms: 30_000 }],
  limits: { quietMs: 300_000 },
  async scenario(client) {
    await client.start("trader", { id: "run", session: "s", input: ["nest", "nest"] });
    await client.ended("run");
  },
});

export const CANARIES: readonly Canary[] = [
  { name: "fencing removed", bug: plants.withoutFencing, make: (seed) => working(seed, slow) },
  { name: "intent after effect", bug: plants.intentAfterEffect, make: (seed) => working(seed, deadly), from: 30 },
  { name: "chain not advanced atomically", bug: plants.chainApart, make: (seed) => working(seed, deadly) },
  { name: "lost wake-up", bug: plants.lostWakeup, make: waiting, from: 190 },
  { name: "an iteration that goes on when it was left", bug: plants.goesOn, make: cancelled },
  { name: "and writes behind the end", bug: plants.goesOnBehindEnd, make: cancelled },
  { name: "an answer that begins the iteration anew", bug: plants.answeredAnew, make: dying, from: 438 },
  { name: "a failure lived with that is tried again", bug: plants.livedWithAgain, make: meddling, from: 175 },
  { name: "a child that two work on", bug: plants.workedOnTwice, make: sluggish, from: 24 },
  {
    name: "a lease taken beside who had it",
    bug: plants.takenBeside,
    make: (seed) => SLOW.make(seed, 0.25),
    from: 1170,
  },
  { name: "idle transactions without an end", bug: plants.idleForEver, make: frozenPeer },
  { name: "waits for locks without an end", bug: plants.waitsForEver, make: frozenPeer },
  { name: "one batch at a time", bug: plants.oneBatch, make: frozenPeer },
  { name: "a hung connection whose transaction stays", bug: plants.idleForEver, make: hungPeer },
  { name: "sessions that are not locked", bug: plants.withoutRowLocks, make: (seed) => STALLS.make(seed, 0.1) },
  { name: "sleep instead of the end", bug: plants.sleepsOnCancel, make: meddling, from: 12 },
  { name: "an index of erased texts", bug: plants.withoutEpoch, make: (seed) => SEARCH.make(seed, 0.15) },
  {
    name: "blocks changed behind a promotion",
    bug: plants.withoutBlockVersions,
    make: (seed) => PROMOTION.make(seed, 0.15),
  },
  { name: "what one run was allowed, allowed to the next", bug: plants.allowedForEver, make: dying, from: 95 },
];
