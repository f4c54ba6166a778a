// Processes, connections and disks that stand still. A peer that is frozen inside a commit, or whose connection hangs
// there, holds what it locked: commits that need the same rows wait, all others go on, its run is taken over, and
// stores close.
import type { SimulationClient } from "../../src/testing/sim/client.ts";
import type { Fault, Opportunity } from "../../src/testing/sim/faults.ts";
import type { Limits } from "../../src/testing/sim/scheduler.ts";
import type { Simulation } from "../../src/testing/sim/simulate.ts";
import { clerk, juggler, waiter } from "./agents.ts";
import { mixed, stalling } from "./rates.ts";
import type { Scenario } from "./scenarios.ts";
import { people } from "./verbs.ts";

/** By the clock of the simulation. */
const BOUNDS = {
  /** An append to a session that no stalled peer uses, by a handle that also waits for the others. */
  unrelatedMs: 2000,
  /** Two iterations, with a lease that runs out, a look of the next worker and an answer of a person. */
  runsMs: 60_000,
  closeMs: 15_000,
};
const RUNS = 3;
const QUIET = { quietMs: 900_000 };
const SLOW = { quietMs: 4 * 3_600_000, ms: 48 * 3_600_000 };

/** Where every second commit fails and every trip may hang, a run is handed on for hours, but not without these faults. */
function slow(rate: number): Partial<Limits> {
  return rate < 0.5 ? SLOW : { ...SLOW, calmMs: QUIET.quietMs };
}

const isWorker = ({ process }: Opportunity) => process.startsWith("worker");

/** One worker stands still inside a commit that takes several round trips: its transaction is open, and it has locked rows. */
export function frozenPeer(seed: number, rate = 0.3): Simulation {
  const filter: Fault["filter"] = (at) => isWorker(at) && at.what === "answer";
  return stalledPeer(seed, [{ kind: "freeze", probability: rate, ms: 3_600_000, maxTriggers: 1, filter }]);
}

/** The connection of a worker hangs, at any trip of a commit. */
export function hungPeer(seed: number, rate = 0.3): Simulation {
  const filter: Fault["filter"] = (at) => isWorker(at) && at.what === "trip";
  return stalledPeer(seed, [{ kind: "connectionHung", probability: rate, maxTriggers: 1, filter }]);
}

/** What must go on, and how fast. */
export const LIVENESS: readonly Scenario[] = [
  { name: "frozen-peer", rate: 0.1, make: frozenPeer },
  { name: "hung-peer", rate: 0.1, make: hungPeer },
];

function stalledPeer(seed: number, faults: readonly Fault[]): Simulation {
  return {
    seed,
    faults,
    engine: "postgres",
    agents: [clerk],
    workers: 2,
    limits: QUIET,
    async scenario(client) {
      for (let i = 0; i < RUNS; i++) {
        await client.start("clerk", { id: `run-${i}`, session: `s-${i}`, input: { iterations: 2 } });
      }
      const state = { isOver: false };
      const over = () => {
        state.isOver = true;
      };
      const ended = client.within(BOUNDS.runsMs, "the runs", async () => {
        for (let i = 0; i < RUNS; i++) await client.ended(`run-${i}`);
      });
      await Promise.all([visit(client, state), ended.finally(over)]);
    },
  };
}

/**
 * Writes to the sessions of all runs without waiting for that, and to one of its own, which must not wait for them; now and
 * then another handle does the same and is closed.
 */
async function visit(client: SimulationClient, state: { readonly isOver: boolean }): Promise<void> {
  for (let n = 0; !state.isOver; n++) {
    visitRuns(client.store, n);
    await client.within(BOUNDS.unrelatedMs, "an append to another session", () =>
      client.store.history.append({ session: "own", agent: "writer" }, { role: "user", content: `${n}` }),
    );
    if (n % 2 === 0) {
      const { store } = await client.open("closer");
      visitRuns(store, n);
      await client.within(BOUNDS.closeMs, "close()", () => store.close());
    }
    await client.sleep(1000);
  }
}

function visitRuns({ history }: SimulationClient["store"], n: number): void {
  for (let i = 0; i < RUNS; i++) {
    // Whether it succeeds is not the point here.
    history.append({ session: `s-${i}`, agent: "visitor" }, { role: "user", content: `${n}` }).catch(() => {});
  }
}

/** Everything that can go wrong, on a server. */
export const STALLS: Scenario = {
  name: "stalls",
  rate: 0.1,
  make: (seed, rate) => ({
    ...working(seed, [...mixed(rate), ...stalling(rate)]),
    engine: "postgres",
    limits: slow(rate),
  }),
};

/** Commits that take seconds to reach the disk, while the file is locked and its writer stands still. */
const SLOW_DISK: Scenario = {
  name: "slow-disk",
  rate: 0.1,
  make: (seed, rate) =>
    working(seed, [
      { kind: "slowDisk", probability: rate, ms: 60_000 },
      { kind: "freeze", probability: rate / 100, ms: 60_000 },
      { kind: "death", probability: rate / 200 },
    ]),
};

/** People that do anything at any moment, on a server, beside stalls. */
const SERVER_VERBS: Scenario = {
  name: "server-verbs",
  rate: 0.1,
  make: (seed, rate) => {
    const simulation = people(seed, rate);
    const faults = [...(simulation.faults ?? []), ...stalling(rate)];
    return { ...simulation, faults, engine: "postgres", limits: slow(rate) };
  },
};

/** What must be right, however long it takes. */
export const STALLED: readonly Scenario[] = [STALLS, SLOW_DISK, SERVER_VERBS];

/** Runs, and a client that writes to their sessions: whatever was acknowledged is there at the end, once. */
function working(seed: number, faults: readonly Fault[]): Simulation {
  const acknowledged = new Set<string>();
  const agents = [clerk, waiter, juggler];
  return {
    seed,
    faults,
    agents,
    workers: 2,
    limits: QUIET,
    async scenario(client) {
      for (const [i, { id }] of agents.entries()) {
        await client.start(id, { id: `run-${i}`, session: `s-${i}`, input: { iterations: 1 } });
      }
      await client.signal("run-1", "go", "now");
      for (const key of ["a", "b", "c", "d"]) {
        for (const session of ["s-0", "s-1", "own"]) {
          const message = { role: "user", content: key, key } as const;
          await client.patiently(() => client.store.history.append({ session, agent: "visitor" }, message));
          acknowledged.add(`${session} ${key}`);
        }
      }
      for (const [i, { id }] of agents.entries()) {
        const { status, error } = await client.ended(`run-${i}`);
        const isFair = ["ToolFailed", "Timeout", "RateLimited", "InvalidArgument"].includes(error?.code ?? "");
        client.expect(status === "completed" || isFair, `the ${id} is ${status}: ${error?.code} ${error?.message}`);
      }
      await expectAll(client, acknowledged);
    },
  };
}

async function expectAll(client: SimulationClient, acknowledged: ReadonlySet<string>): Promise<void> {
  const found: string[] = [];
  for (const session of ["s-0", "s-1", "own"]) {
    const messages = await client.patiently(() => client.store.history.get({ session, agent: "visitor" }));
    found.push(...messages.map(({ content: [part] }) => `${session} ${part?.type === "text" ? part.text : ""}`));
  }
  const isSame = found.length === acknowledged.size && found.every((one) => acknowledged.has(one));
  client.expect(isSame, `acknowledged were ${[...acknowledged].join(", ")}; there are ${found.join(", ")}`);
}
