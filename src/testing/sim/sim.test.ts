// The simulator itself: the seed decides everything, dead processes do nothing, and every fault has its effect.
import { describe, expect, test } from "vitest";
import type { AgentDefinition } from "../../contracts/agent-definitions.ts";
import { type Fault, type FaultKind, Faults } from "./faults.ts";
import { Process, Scheduler, Stuck } from "./scheduler.ts";
import { type Simulation, simulate } from "./simulate.ts";

const LIMITS = { steps: 10_000, ms: 1e9, quietMs: 1e9 };

const agent: AgentDefinition = {
  id: "a",
  version: "1",
  tools: { act: { execute: () => "acted" } },
  models: { m: { retry: { attempts: 5 }, call: () => ({ output: "said" }) } },
  async iterate(iteration) {
    await iteration.model("?");
    return iteration.done(await iteration.tool("act"));
  },
};

function one(seed: number, faults: readonly Fault[], more: Partial<Simulation> = {}): Simulation {
  return {
    seed,
    faults,
    agents: [agent],
    limits: { quietMs: 900_000 },
    async scenario(client) {
      await client.start("a", { id: "run", session: "s" });
      await client.ended("run");
    },
    ...more,
  };
}

/** A fault that happens once, at the commit of an event of this type. */
function at(kind: FaultKind, event: string): Fault {
  const isHere: Fault["filter"] = ({ what, names, process }) =>
    what === "commit" && names.includes(event) && process.startsWith("worker");
  return { kind, probability: 1, maxTriggers: 1, filter: isHere };
}

async function order(seed: number): Promise<string> {
  const scheduler = new Scheduler(seed);
  const done: string[] = [];
  const live = async (name: string) => {
    const process = new Process(scheduler, name, 1);
    for (let i = 0; i < 5; i++) {
      await process.schedule("step");
      done.push(name);
      await process.environment.sleep(10);
    }
  };
  await scheduler.drive(Promise.all(["a", "b", "c"].map(live)), LIMITS);
  return done.join("");
}

describe("the scheduler", () => {
  test("gives the same order for the same seed, and others for others", async () => {
    const orders = await Promise.all(Array.from({ length: 20 }, (_, seed) => order(seed)));
    expect(await order(3)).toBe(orders[3]);
    expect(new Set(orders).size).toBeGreaterThan(10);
  });

  test("lets nothing of a dead process go on", async () => {
    const scheduler = new Scheduler(1);
    const [dead, alive] = [new Process(scheduler, "dead", 1), new Process(scheduler, "alive", 1)];
    let acted = false;
    const act = () => {
      acted = true;
    };
    dead.environment.sleep(5).then(act);
    dead.environment.defer(act);
    dead.schedule("step").then(act);
    dead.kill("now");
    dead.environment.sleep(1).then(act);
    await scheduler.drive(alive.environment.sleep(100), LIMITS);
    expect(acted).toBe(false);
    expect(scheduler.monotonic).toBe(100);
  });

  test("holds everything of a process that stands still until it goes on, and nothing of others", async () => {
    const scheduler = new Scheduler(1);
    const [frozen, awake] = [new Process(scheduler, "frozen", 1), new Process(scheduler, "awake", 1)];
    const went: string[] = [];
    const note = (what: string) => () => went.push(`${what} at ${scheduler.monotonic}`);
    frozen.freeze(100, "test");
    const all = [
      frozen.environment.sleep(5).then(note("timer")),
      frozen.environment.sleep(150).then(note("later timer")),
      frozen.schedule("step").then(note("step")),
      awake.environment.sleep(10).then(note("other")),
    ];
    frozen.environment.defer(note("macrotask"));
    await scheduler.drive(Promise.all(all), LIMITS);
    expect(went[0]).toBe("other at 10");
    expect(went.slice(1, 4).sort()).toEqual(["macrotask at 100", "step at 100", "timer at 100"]);
    expect(went[4]).toBe("later timer at 150");
  });

  test("lets nothing go on of a process that died while it stood still", async () => {
    const scheduler = new Scheduler(1);
    const [frozen, alive] = [new Process(scheduler, "frozen", 1), new Process(scheduler, "alive", 1)];
    let acted = false;
    frozen.schedule("step").then(() => {
      acted = true;
    });
    frozen.freeze(50, "test");
    await scheduler.drive(alive.environment.sleep(10), LIMITS);
    frozen.kill("now");
    await scheduler.drive(alive.environment.sleep(100), LIMITS);
    expect(acted).toBe(false);
  });

  test("says so when nothing is left to do", async () => {
    await expect(new Scheduler(1).drive(new Promise(() => {}), LIMITS)).rejects.toThrow(Stuck);
  });
});

describe("faults", () => {
  test("keep to their filter, spare the first and stop at their number", () => {
    const faults = new Faults(1, [
      { kind: "writeFail", probability: 1, afterN: 2, maxTriggers: 3, filter: ({ process }) => process === "p" },
    ]);
    const here = { process: "p", what: "commit", names: [] };
    expect(faults.strike(["writeFail"], { ...here, process: "q" })).toBeNull();
    expect(faults.strike(["readFail"], here)).toBeNull();
    const struck = Array.from({ length: 8 }, () => faults.strike(["writeFail"], here) !== null);
    expect(struck).toEqual([false, false, true, true, true, false, false, false]);
    expect(faults.fired()).toEqual({ writeFail: 3 });
  });
});

describe("a simulation", () => {
  test("is the same for the same seed, to the last byte of the log", async () => {
    const faults: Fault[] = [{ kind: "latency", probability: 0.3, ms: 30_000 }];
    const [first, second, other] = [
      await simulate(one(1, faults)),
      await simulate(one(1, faults)),
      await simulate(one(2, faults)),
    ];
    expect(second).toEqual(first);
    expect(other.eventsHash).not.toBe(first.eventsHash);
    expect(first.problems).toEqual([]);
  });

  test("tells a run that chance held up from one that can never go on, where it is asked to", async () => {
    const faults: Fault[] = [
      { kind: "writeFail", probability: 1, filter: ({ process }) => process.startsWith("worker") },
    ];
    const limits = { quietMs: 60_000 };
    expect((await simulate(one(1, faults, { limits }))).problems).toContain("nothing happened for 60000 ms");
    const calm = { limits: { ...limits, calmMs: 90_000 } };
    expect((await simulate(one(1, faults, calm))).problems).toEqual([]);
    const stuck = await simulate(
      one(1, faults, { ...calm, agents: [{ ...agent, iterate: () => new Promise(() => {}) }] }),
    );
    expect(stuck.problems).toContain("nothing happened for 90000 ms");
  });

  test("on a server is the same for the same seed, whatever stands still", async () => {
    const faults: Fault[] = [
      { kind: "freeze", probability: 0.02, ms: 60_000 },
      { kind: "slowDisk", probability: 0.2, ms: 60_000 },
      { kind: "connectionLost", probability: 0.05 },
      { kind: "connectionHung", probability: 0.05 },
    ];
    const server = { engine: "postgres" } as const;
    const [first, second, other] = [
      await simulate(one(1, faults, server)),
      await simulate(one(1, faults, server)),
      await simulate(one(2, faults, server)),
    ];
    expect(second).toEqual(first);
    expect(other.eventsHash).not.toBe(first.eventsHash);
  });

  test("keeps writers of a file waiting while a commit of one of them is on its way to the disk", async () => {
    const isFirst: Fault["filter"] = ({ process }) => process === "first";
    const slow: Fault = { kind: "slowDisk", probability: 1, maxTriggers: 1, ms: 1e8, filter: isFirst };
    const said: string[] = [];
    const { problems, fired, log } = await simulate(
      one(1, [slow], {
        async scenario(client) {
          const [first, second] = [await client.open("first"), await client.open("second")];
          const began = client.now;
          const append = async (store: typeof first.store, session: string) => {
            await store.history.append({ session, agent: "a" }, { role: "user", content: "said" });
            said.push(`${session} after ${client.now - began}`);
          };
          const slowly = append(first.store, "slow");
          await client.sleep(1);
          await Promise.all([slowly, client.patiently(() => append(second.store, "other"))]);
        },
      }),
    );
    expect(problems).toEqual([]);
    expect(fired).toEqual({ slowDisk: 1 });
    const ms = Number(/first stands still for (\d+) ms at disk/.exec(log.join())?.[1]);
    expect(ms).toBeGreaterThan(1000);
    const [slowMs, otherMs] = ["slow", "other"].map((name) =>
      Number(
        said
          .find((one) => one.startsWith(name))
          ?.split(" ")
          .at(-1),
      ),
    );
    expect(slowMs).toBeGreaterThanOrEqual(ms - 1);
    expect(otherMs).toBeGreaterThanOrEqual(ms - 1);
  });

  test.each([
    ["crashBefore", "step/done"],
    ["crashDuring", "step/done"],
    ["crashAfter", "step/started"],
    ["crashAfter", "run/completed"],
    ["errorAfter", "step/done"],
    ["writeFail", "step/started"],
    ["diskFull", "step/started"],
  ] as const)("%s at %s", async (kind, event) => {
    const { problems, fired, effects, commits } = await simulate(one(1, [at(kind, event)]));
    expect(problems).toEqual([]);
    expect(fired).toEqual({ [kind]: 1 });
    expect(effects.map(({ times }) => times)).toEqual([1]);
    const types = commits.flatMap(({ events }) => events);
    expect(types.filter((type) => type === "step/started")).toHaveLength(2);
    expect(types.filter((type) => type === "run/completed")).toHaveLength(1);
  });

  test.each(["writeFail", "errorAfter"] as const)("%s at a message: the only worker goes on", async (kind) => {
    const says: AgentDefinition = {
      id: "a",
      version: "1",
      async iterate(iteration) {
        await iteration.message({ role: "user", content: "said" });
        return iteration.done();
      },
    };
    const { problems, commits } = await simulate(one(1, [at(kind, "message/added")], { agents: [says], workers: 1 }));
    expect(problems).toEqual([]);
    expect(commits.flatMap(({ events }) => events).filter((type) => type === "message/added")).toHaveLength(1);
  });

  test("asks nobody where a person does not answer: the run waits", async () => {
    const isAct: Fault["filter"] = ({ what, names }) => what === "commit" && names.join() === "step/done";
    const { problems, effects, commits } = await simulate(
      one(1, [{ kind: "crashBefore", probability: 1, maxTriggers: 1, filter: isAct }], {
        person: () => null,
        async scenario(client) {
          await client.start("a", { id: "run", session: "s" });
          await client.until("run", ({ waitsFor }) => waitsFor.some(({ kind }) => kind === "decision"));
        },
      }),
    );
    expect(problems).toEqual([]);
    expect(effects.map(({ times }) => times)).toEqual([1]);
    expect(commits.flatMap(({ events }) => events)).not.toContain("run/completed");
  });

  test("names what does not hold", async () => {
    const { problems } = await simulate(
      one(1, [], {
        async scenario(client) {
          client.expect(false, "this is so");
        },
      }),
    );
    expect(problems.join()).toContain("this is so");
  });

  test("steals the lease of who is alive, and all is well", async () => {
    const slow: Fault = { kind: "latency", probability: 1, ms: 8000, filter: ({ what }) => what === "tool" };
    const seeds = Array.from({ length: 10 }, (_, seed) => seed);
    const claims: number[] = [];
    for (const seed of seeds) {
      const found = await simulate(one(seed, [slow, { kind: "leaseStolen", probability: 0.5, maxTriggers: 1 }]));
      expect(found.problems).toEqual([]);
      claims.push(
        found.commits.filter(({ process, events }) => process.startsWith("thief") && events[0] === "run/claimed")
          .length,
      );
    }
    expect(Math.max(...claims)).toBeGreaterThan(0);
  });
});
