// The named simulations: the eight of the requirements, and more of what runs can do. Each is made anew for a seed and a
// rate of faults, and must hold at every rate.
import { rng } from "../../src/testing/sim/scheduler.ts";
import type { Simulation } from "../../src/testing/sim/simulate.ts";
import { boss, carrier, clerk, juggler, petitioner, sleeper, waiter } from "./agents.ts";
import { EMBEDDINGS, OTHER_EMBEDDER, PASSAGES } from "./embeddings.ts";
import { PROMOTION } from "./promotion.ts";
import { mixed } from "./rates.ts";
import { SEARCH } from "./search.ts";
import { LIVENESS, STALLED } from "./stalls.ts";
import { helper, KIND_NAMES, trader } from "./trader.ts";
import { finish, forWhat, people } from "./verbs.ts";

export interface Scenario {
  readonly name: string;
  /** As the requirements say it. */
  readonly rate: number;
  readonly make: (seed: number, rate: number) => Simulation;
}

const SESSION = "s";
/** Nothing here pauses for longer than two minutes. */
const QUIET = { quietMs: 900_000 };

const agentCrud: Scenario = {
  name: "agent-crud",
  rate: 0.2,
  make: (seed, rate) => ({
    seed,
    faults: [{ kind: "writeFail", probability: rate }],
    async scenario(client) {
      const { agents } = client.store;
      for (const id of ["a", "b", "c"]) {
        await client.patiently(() => agents.create({ id, name: `first ${id}` }));
        await client.patiently(() => agents.update(id, { name: `second ${id}` }));
      }
      await client.patiently(() => agents.delete("b"));
      const { items } = await agents.list();
      const names = items.map(({ name }) => name).sort();
      client.expect(names.join() === "second a,second c", `the agents are ${names.join()}`);
    },
  }),
};

/** A caller's own loop: it saves its checkpoint, and the next process continues from there. */
function ownLoop(seed: number, rate: number, kind: "crashAfter" | "crashBefore"): Simulation {
  const iterations = 4;
  let saved = 0;
  let tried = 0;
  return {
    // Every crash costs a whole recovery: where every second commit is one, so many cut any of them off several times over.
    seed,
    faults: [{ kind, probability: rate, ...(rate < 0.5 ? {} : { maxTriggers: 14 }) }],
    agents: [clerk],
    async scenario(client) {
      const { runs } = client.store;
      const kept = await runs.loadCheckpoint("loop", "own");
      const at = kept?.iteration ?? 0;
      const right = kind === "crashAfter" ? tried : saved;
      client.expect(at === right, `it resumes at ${at}, not at ${right}`);
      client.expect(kept === null || (kept.state as { done: number }).done === at, "the state is of another iteration");
      for (let iteration = at + 1; iteration <= iterations; iteration++) {
        tried = iteration;
        await runs.saveCheckpoint({ session: "loop", agent: "own", iteration, state: { done: iteration } });
        saved = iteration;
      }
      await client.start("clerk", { id: "run", session: SESSION, input: { iterations: 2 } });
      const { status, value, run } = await client.ended("run");
      client.expect(status === "completed" && run.iteration === 2, `it is ${status} after ${run.iteration} iterations`);
      client.expect((value as { charged: number }).charged === 2, `it charged ${JSON.stringify(value)}`);
      const log = await client.store.log.read(SESSION, { types: ["iteration/complete"] });
      const completed = log.map(({ data }) => data.iteration).join();
      client.expect(completed === "1,2", `the iterations completed are ${completed}`);
    },
  };
}

const checkpointSurvives: Scenario = {
  name: "checkpoint-survives-crash",
  rate: 0.1,
  make: (seed, rate) => ownLoop(seed, rate, "crashAfter"),
};

const checkpointLost: Scenario = {
  name: "checkpoint-lost",
  rate: 0.1,
  make: (seed, rate) => ownLoop(seed, rate, "crashBefore"),
};

const handoff: Scenario = {
  name: "session-handoff",
  rate: 0,
  make: (seed, rate) => ({
    seed,
    workers: 0,
    agents: [waiter],
    faults: [{ kind: "latency", probability: rate, ms: 10_000 }],
    async scenario(client) {
      const scope = { session: SESSION, agent: "waiter" };
      const first = await client.open("first");
      for (let i = 0; i < 5; i++) await first.store.history.append(scope, { role: "user", content: `message ${i}` });
      await first.store.state.set(SESSION, { v: seed });
      await first.store.runs.saveCheckpoint({ ...scope, iteration: 7, state: { at: seed } });
      const before = await first.store.runs.execute(
        client.agent("waiter"),
        { session: SESSION, id: "run" },
        { wait: false },
      );
      client.expect(before.status === "waiting", `the run is ${before.status}`);
      first.kill();
      const second = await client.open("second");
      const messages = await second.store.history.get(scope);
      const said = messages.map(({ content }) => JSON.stringify(content)).join();
      client.expect(
        [0, 1, 2, 3, 4].every((i) => said.includes(`message ${i}`)),
        `the messages are ${said}`,
      );
      client.expect(messages.length === 5, `there are ${messages.length} messages`);
      const kept = await second.store.runs.loadCheckpoint(SESSION, "waiter");
      client.expect(kept?.iteration === 7 && JSON.stringify(kept.state) === `{"at":${seed}}`, "the checkpoint differs");
      await second.store.runs.signal("run", "go", seed);
      const after = await second.store.runs.resume(client.agent("waiter"), "run");
      client.expect(after.status === "completed" && after.value === seed, `the run is ${after.status}`);
      client.expect(client.world.times("note") === 1, "what was done before was done again");
    },
  }),
};

const pauseSurvives: Scenario = {
  name: "pause-survives-crash",
  rate: 0.1,
  make: (seed, rate) => ({
    seed,
    agents: [sleeper],
    faults: [{ kind: "crashAfter", probability: rate }],
    async scenario(client) {
      await client.start("sleeper", { id: "run", session: SESSION });
      const { status, value } = await client.ended("run");
      client.expect(status === "completed" && value === "rested", `it is ${status}`);
      const log = await client.store.log.read(SESSION);
      const paused = log.find(({ type }) => type === "run/paused");
      const next = log.find(({ type, seq }) => type === "run/claimed" && seq > (paused?.seq ?? 0));
      client.expect(paused !== undefined && next !== undefined, "it never paused");
      const early = Number(paused?.data.wake_at) - (next?.at ?? 0);
      client.expect(early <= 0, `it went on ${early} ms too early`);
      client.expect(log.filter(({ type }) => type === "run/paused").length === 1, "it paused more than once");
    },
  }),
};

const messageOrder: Scenario = {
  name: "message-ordering",
  rate: 0.1,
  make: (seed, rate) => ({
    seed,
    agents: [clerk],
    faults: [{ kind: "latency", probability: rate, ms: 60_000 }],
    async scenario(client) {
      const writers = await Promise.all(["first", "second"].map((name) => client.open(name)));
      await client.start("clerk", { id: "run", session: SESSION, input: { iterations: 2 } });
      const each = [0, 1, 2, 3, 4, 5];
      await Promise.all(
        writers.map(async ({ store }, w) => {
          for (const i of each)
            await store.history.append({ session: SESSION, agent: `w${w}` }, { role: "user", content: `${i}` });
        }),
      );
      await client.ended("run");
      for (const [w] of writers.entries()) {
        const messages = await client.store.history.get({ session: SESSION, agent: `w${w}` });
        const said = messages.map(({ content }) => (content[0]?.type === "text" ? content[0].text : "")).join("");
        client.expect(said === each.join(""), `writer ${w} said ${said}`);
      }
      const own = await client.store.history.get({ session: SESSION, agent: "clerk" });
      const said = own.map(({ content }) => (content[0]?.type === "text" ? content[0].text : "")).join();
      client.expect(said === "do 2,did 2,do 1,did 1", `the run said ${said}`);
    },
  }),
};

const ALL = [clerk, waiter, sleeper, juggler, boss, carrier];

/** Runs of all kinds at once; what they end in depends on nothing that goes wrong. */
function load(seed: number, rate: number, all: readonly (readonly [agent: string, input: unknown])[]): Simulation {
  // Where half of all commits fail, some of the kinds at a time, others with every seed.
  const runs = rate < 0.5 ? all : all.filter((_, i) => (i + seed) % all.length < Math.ceil(all.length / 2));
  return {
    seed,
    agents: ALL,
    workers: 3,
    blobs: true,
    pollMs: 6000,
    faults: mixed(rate),
    limits: QUIET,
    async scenario(client) {
      for (const [i, [agent, input]] of runs.entries()) {
        await client.start(agent, { id: `run-${i}`, session: `s-${i}`, input });
      }
      for (const [i, [agent]] of runs.entries()) if (agent === "waiter") await client.signal(`run-${i}`, "go", i);
      for (const [i, [agent]] of runs.entries()) {
        const { status, error } = await client.ended(`run-${i}`);
        // A tool that failed as often as it may be tried ends the run, and so does a model.
        const isFair = ["ToolFailed", "Timeout", "RateLimited", "InvalidArgument"].includes(error?.code ?? "");
        client.expect(status === "completed" || isFair, `the ${agent} is ${status}: ${error?.code} ${error?.message}`);
      }
    },
  };
}

const highLoad: Scenario = {
  name: "high-load",
  rate: 0.1,
  make: (seed, rate) =>
    load(seed, rate, [
      ["clerk", { iterations: 1 }],
      ["waiter", null],
      ["sleeper", null],
      ["juggler", null],
      ["boss", null],
    ]),
};

const determinism: Scenario = {
  name: "determinism",
  rate: 0.1,
  make: (seed, rate) =>
    load(seed, rate, [
      ["clerk", { iterations: 1 }],
      ["waiter", null],
      ["carrier", null],
    ]),
};

export const REQUIRED: readonly Scenario[] = [
  agentCrud,
  checkpointSurvives,
  checkpointLost,
  handoff,
  pauseSurvives,
  messageOrder,
  highLoad,
  determinism,
];

export const VERBS: Scenario = { name: "verbs", rate: 0.1, make: people };

/**
 * Workers that stand still for longer than their leases last, and then continue: only the fence keeps two workers from
 * working on one run, also where both are one process.
 */
export const SLOW: Scenario = {
  name: "slow-worker",
  rate: 0.25,
  make: (seed, rate) => {
    const random = rng(seed, "slow");
    const two = [0, 1].map(() => KIND_NAMES[Math.floor(random() * KIND_NAMES.length)] ?? "nest");
    // A worker is beside itself where it has children.
    return seed % 2 === 0 ? slow(seed, rate, 1, ["nest", "help", "nest", "help"]) : slow(seed, rate, 2, two);
  },
};

function slow(seed: number, rate: number, workers: number, kinds: readonly string[]): Simulation {
  return {
    seed,
    agents: [trader, helper],
    workers,
    leaseMs: 2000,
    pollMs: 500,
    purpose: forWhat,
    limits: QUIET,
    faults: [{ kind: "latency", probability: rate, ms: 30_000 }],
    async scenario(client) {
      await client.start("trader", { id: "run", session: SESSION, input: kinds });
      await finish(client);
    },
  };
}

/** Tools that need approval: no effect before a person permitted it, and one for each permission. */
export const APPROVAL: Scenario = {
  name: "approval",
  rate: 0.1,
  make: (seed, rate) => ({
    seed,
    agents: [petitioner],
    workers: 2,
    faults: mixed(rate),
    limits: QUIET,
    async scenario(client) {
      await client.start("petitioner", { id: "run", session: SESSION });
      const { status, error } = await client.ended("run");
      const isFair = ["ToolFailed", "Timeout", "RateLimited", "InvalidArgument"].includes(error?.code ?? "");
      client.expect(status === "completed" || isFair, `it is ${status}: ${error?.code} ${error?.message}`);
    },
  }),
};

export const SCENARIOS: ReadonlyMap<string, Scenario> = new Map(
  [
    ...REQUIRED,
    VERBS,
    SLOW,
    APPROVAL,
    EMBEDDINGS,
    OTHER_EMBEDDER,
    PASSAGES,
    SEARCH,
    PROMOTION,
    ...LIVENESS,
    ...STALLED,
  ].map((one) => [one.name, one]),
);
