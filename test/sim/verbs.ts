// The verbs of people, at any moment: beside the workers a person cancels, pauses, signals, retries, forks, rewinds,
// deletes and recovers runs as the seed says, and answers questions, truly or not. Whatever the person does, runs come
// to one end, and nothing is done twice unless the person asked for it.
import type { AnswerInput, Decision } from "../../src/contracts/decisions.ts";
import type { Run } from "../../src/contracts/run-record.ts";
import type { SimulationClient } from "../../src/testing/sim/client.ts";
import type { Effect, ObservedEffects } from "../../src/testing/sim/external-effects.ts";
import type { Fault } from "../../src/testing/sim/faults.ts";
import { rng } from "../../src/testing/sim/scheduler.ts";
import type { Simulation } from "../../src/testing/sim/simulate.ts";
import { mixed } from "./rates.ts";
import { helper, KIND_NAMES, trader } from "./trader.ts";

const RUNS = 2;
const VERBS = 14;
/** With those that go on from others. */
const MOST_RUNS = 8;

/** What makes a moment for a verb: tools that take long, and one that fails. */
function moments(rate: number): readonly Fault[] {
  return [
    { kind: "latency", probability: 0.4, ms: 20_000, filter: ({ names }) => names.includes("slow") },
    { kind: "toolFail", probability: 0.4, filter: ({ names }) => names.includes("card") },
    ...mixed(rate),
  ];
}

type Verb = () => Promise<unknown>;

class RandomPerson {
  readonly #rng: () => number;
  #left = VERBS;
  #isPatient = true;

  constructor(seed: number) {
    this.#rng = rng(seed, "verbs");
  }

  #one<T>(all: readonly T[]): T | undefined {
    return all[Math.floor(this.#rng() * all.length)];
  }

  two(kinds: readonly string[]): readonly string[] {
    return [0, 1].map(() => this.#one(kinds) ?? "");
  }

  /** Now and then nothing, and not always what is so. */
  answer({ step }: Decision, world: ObservedEffects): AnswerInput | null {
    const random = this.#rng();
    if (this.#isPatient && random < 0.3) return null;
    const done = world.effect(step.idempotencyKey);
    if (random > 0.85) return { verdict: "fail", by: "person" };
    if (random > 0.7) return { verdict: "retry" };
    return done === undefined ? { verdict: "retry" } : { verdict: "result", result: done.result };
  }

  /** So many in all, also when another client continues the scenario. */
  async meddle(client: SimulationClient): Promise<void> {
    while (this.#left-- > 0) {
      await client.sleep(this.#rng() ** 2 * 12_000);
      const { items } = await client.patiently(() => client.store.runs.list({ limit: 100 }));
      const run = this.#one(items);
      if (run !== undefined) await this.#act(client, run, items.length < MOST_RUNS);
    }
    this.#isPatient = false;
  }

  async #act(client: SimulationClient, { id, iteration, endedAt }: Run, mayBegin: boolean): Promise<void> {
    const { runs } = client.store;
    const next = `${id.slice(0, 40)}.${this.#left}`;
    const back = Math.floor(this.#rng() * (iteration + 1));
    const alive: Verb[] = [
      () => runs.cancel(id),
      () => runs.cancel(id),
      () => runs.pause(id, 1),
      () => runs.unpause(id),
      () => runs.signal(id, "go", this.#left),
      () => runs.signal(id, "go"),
      () => runs.recover(id),
    ];
    const retry = () => runs.retry(id, { id: next });
    const over: Verb[] = [retry, retry, retry, () => runs.delete(id)];
    const any: Verb[] = [
      () => runs.fork(id, { id: next, session: `of ${next}`, iteration: back }),
      () => runs.rewind(id, { id: next, iteration: Math.max(1, back) }),
    ];
    const verbs = endedAt === null ? alive : mayBegin ? over : [() => runs.delete(id)];
    const verb = this.#one(mayBegin && this.#rng() < 0.2 ? any : verbs);
    if (verb !== undefined) await client.attempt(verb);
  }
}

/** Signals whatever waits for one, until all is over. */
export async function finish(client: SimulationClient): Promise<void> {
  for (;;) {
    const { items } = await client.patiently(() => client.store.runs.list({ limit: 100 }));
    const alive = items.filter(({ endedAt }) => endedAt === null);
    if (alive.length === 0) return;
    for (const { id, waitsFor } of alive)
      if (waitsFor.some(({ kind }) => kind === "signal")) await client.signal(id, "go", "at last");
    await client.sleep(5000);
  }
}

export const forWhat = ({ input }: Effect): string => (input as { readonly for: string }).for;

/** `kinds` of what the runs do, when not all. */
export function people(seed: number, rate: number, kinds: readonly string[] = KIND_NAMES): Simulation {
  const person = new RandomPerson(seed);
  const unbegun = Array.from({ length: RUNS }, (_, i) => ({ i, input: person.two(kinds) }));
  return {
    seed,
    agents: [trader, helper],
    faults: moments(rate),
    limits: { quietMs: 900_000 },
    purpose: forWhat,
    person: (decision, world) => person.answer(decision, world),
    async scenario(client) {
      // Not again when another client plays on: it may have been deleted.
      for (let next = unbegun[0]; next !== undefined; next = unbegun[0]) {
        await client.start("trader", { id: `run-${next.i}`, session: `s-${next.i}`, input: next.input });
        unbegun.shift();
      }
      await person.meddle(client);
      await finish(client);
    },
  };
}
