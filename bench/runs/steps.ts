// Steps of runs: the time of one, the steps per second with 1, 16 and 64 runs at work, whether a long run is slower
// than a short one, and how long the event loop is blocked.
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { AgentDefinition } from "../../src/contracts/agent-definitions.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { bareAppender, bareBatches, openBare } from "../foundation/floor.ts";
import { LOOP_DELAY, measureLoopDelay } from "../loop.ts";
import { alternate, compare, median, percentile, sample, sampleTimes } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { ACT, act, type HeldRun, hold, holdMany, stepAtOnce } from "./held-runs.ts";
import { bytesOf, inTwo, type ReadTable, rowsOf, sameRowsOn, type WrittenRows } from "./rows.ts";

const ROUNDS = 7;
export const ATONCE = 64;
const TOGETHER = [1, 16, 64] as const;

/** A separate store with one step of each session; the rows are written into its tables. */
export async function stepRows(hf: Holdfast, read: ReadTable, sessions: number): Promise<readonly WrittenRows[]> {
  const held = await Promise.all(Array.from({ length: sessions }, (_, i) => hold(hf, `bare-${i}`)));
  for (const one of held) await one.step();
  const written = await rowsOf(read, () => Promise.all(held.map((one) => one.step())));
  await Promise.all(held.map((one) => one.end()));
  return inTwo(written);
}

export function readerOf(file: string): ReadTable {
  return async (text) => {
    const db = new DatabaseSync(file, { readOnly: true });
    try {
      return db.prepare(text).all() as never;
    } finally {
      db.close();
    }
  };
}

export const sequential: Bench = {
  metrics: ["step.sequential", "step.sequential.onerow"],
  async run({ folder, seconds }) {
    const same = path.join(folder, "step-same.db");
    const filled = await open(same);
    const parts = await stepRows(filled, readerOf(same), 1);
    await filled.close();
    const sameDb = openBare(same);
    const bareRows = sameRowsOn(sameDb, parts);
    const one = openBare(path.join(folder, "step-bare.db"));
    const two = openBare(path.join(folder, "step-bare-2.db"));
    const [asked = 0, answered = 0] = parts.map(bytesOf);
    const intent = bareAppender(one, asked);
    const result = bareAppender(two, answered);
    const hf = await open(path.join(folder, "step.db"));
    const held = await hold(hf, "one");
    const turnMs = (seconds * 1000) / ROUNDS;
    const [ours = [], rows = [], oneRow = []] = await alternate(ROUNDS, [
      async () => percentile(await sample(turnMs, held.step), 0.5),
      async () => percentile(await sample(turnMs, bareRows), 0.5),
      async () =>
        percentile(
          await sample(turnMs, () => {
            intent();
            result();
          }),
          0.5,
        ),
    ]);
    await held.end();
    await hf.close();
    for (const db of [sameDb, one, two]) db.close();
    return [
      {
        metric: "step.sequential",
        unit: "ms",
        ...compare(ours, rows),
        targets: [{ of: "ratio", must: "atMost", limit: 1.5 }],
        note: "p50 of intent and result; baseline: the same rows into the same tables by two bare commits",
      },
      {
        metric: "step.sequential.onerow",
        unit: "ms",
        ...compare(ours, oneRow),
        note: `the same against two bare commits of one row each, ${asked} and ${answered} bytes, tables without any key`,
      },
    ];
  },
};

export const concurrent: Bench = {
  metrics: ["step.concurrent64"],
  async run({ folder, seconds }) {
    const file = path.join(folder, "step64.db");
    const hf = await open(file);
    const parts = await stepRows(hf, readerOf(file), 1);
    const bytes = Math.round(parts.reduce((sum, part) => sum + bytesOf(part), 0) / 2);
    const bare = openBare(path.join(folder, "step64-bare.db"));
    const batches = bareBatches(bare, bytes, true);
    const held = await holdMany(hf, ATONCE);
    const turnMs = (seconds * 1000) / ROUNDS;
    const [ours = [], raw = []] = await alternate(ROUNDS, [
      async () => (await stepAtOnce(held, turnMs)).rate,
      // A row for the intent, a row for the result.
      () => batches(turnMs) / 2,
    ]);
    await endAll(hf, held);
    bare.close();
    return [
      {
        metric: "step.concurrent64",
        unit: "/s",
        ...compare(ours, raw),
        targets: [{ of: "ratio", must: "atLeast", limit: 0.5 }],
        note: `steps of 64 runs; baseline: two rows of ${bytes} bytes each, 64 rows in one INSERT and commit, PRIMARY KEY (session, seq)`,
      },
    ];
  },
};

async function endAll(hf: Holdfast, held: readonly HeldRun[]): Promise<void> {
  await Promise.all(held.map((one) => one.end()));
  await hf.close();
}

export function ratesOf(prefix: string): readonly string[] {
  return TOGETHER.flatMap((count) => [`${prefix}rate.${count}`, `${prefix}p50.${count}`, `${prefix}p99.${count}`]);
}

/** The figures with 1, 16 and 64 runs at work, without a baseline. */
export async function measureRates(prefix: string, hf: Holdfast, seconds: number): Promise<readonly Result[]> {
  const held = await holdMany(hf, Math.max(...TOGETHER));
  const results: Result[] = [];
  for (const count of TOGETHER) {
    const some = held.slice(0, count);
    await stepAtOnce(some, 200);
    const rounds: Awaited<ReturnType<typeof stepAtOnce>>[] = [];
    for (let round = 0; round < 3; round++) rounds.push(await stepAtOnce(some, (seconds * 1000) / 3));
    const alone = { baseline: Number.NaN, ratio: Number.NaN };
    const share = (at: number) => median(rounds.map(({ samples }) => percentile(samples, at)));
    const note = `of steps, ${count} ${count === 1 ? "run" : "runs"} at work`;
    results.push(
      { metric: `${prefix}rate.${count}`, unit: "/s", value: median(rounds.map(({ rate }) => rate)), ...alone, note },
      { metric: `${prefix}p50.${count}`, unit: "ms", value: share(0.5), ...alone, note },
      { metric: `${prefix}p99.${count}`, unit: "ms", value: share(0.99), ...alone, note },
    );
  }
  await Promise.all(held.map((one) => one.end()));
  return results;
}

export const rates: Bench = {
  metrics: ratesOf("step."),
  async run({ folder, seconds }) {
    const hf = await open(path.join(folder, "rates.db"));
    const results = await measureRates("step.", hf, seconds);
    await hf.close();
    return results;
  },
};

const STEPS_PER_ITERATION = 10;
const LONG = 10_000;
const SHORT = 100;
const STEPS_PER_TURN = 50;

/** A run that has executed a number of steps, ten in each iteration, and waits in the next one. */
async function heldAfter(file: string, steps: number): Promise<{ readonly hf: Holdfast; readonly held: HeldRun }> {
  const reached = Promise.withResolvers<HeldRun>();
  const over = Promise.withResolvers<void>();
  const ready = { is: false };
  const agent: AgentDefinition = {
    ...ACT,
    id: "bench",
    initial: () => 0,
    async iterate(it, done) {
      if (Number(done) < steps / STEPS_PER_ITERATION) {
        for (let n = 0; n < STEPS_PER_ITERATION; n++) await act(it);
        return it.next(Number(done) + 1);
      }
      // The store is filled without waiting for the disk, and measured with a handle that waits for it.
      if (!ready.is) await it.waitFor("go");
      reached.resolve({ run: it.run, step: () => act(it), end: async () => over.resolve() });
      await over.promise;
      return it.done();
    },
  };
  const quick = await open(file, { durability: "normal" });
  const { run } = await quick.runs.execute(agent, { session: "long" }, { wait: false });
  await quick.runs.signal(run.id, "go");
  await quick.close();
  const hf = await open(file);
  const working = hf.runs.resume(agent, run.id);
  working.catch(reached.reject);
  const held = await reached.promise;
  return {
    hf,
    held: {
      ...held,
      end: () =>
        held
          .end()
          .then(() => working)
          .then(() => hf.close()),
    },
  };
}

export const growth: Bench = {
  metrics: ["step.growth"],
  async run({ folder, say }) {
    const start = performance.now();
    const long = await heldAfter(path.join(folder, "step-long.db"), LONG);
    say(`  ${LONG} steps and a resume in ${((performance.now() - start) / 1000).toFixed(1)} s`);
    const short = await heldAfter(path.join(folder, "step-short.db"), SHORT);
    const [atLong = [], atShort = []] = await alternate(
      ROUNDS,
      [long, short].map(
        ({ held }) =>
          async () =>
            percentile(await sampleTimes(STEPS_PER_TURN, held.step), 0.5),
      ),
    );
    await long.held.end();
    await short.held.end();
    return [
      {
        metric: "step.growth",
        unit: "ms",
        ...compare(atLong, atShort),
        targets: [{ of: "ratio", must: "atMost", limit: 1.2 }],
        note: "p50 of a step after 10,000 of its run; baseline: after 100",
      },
    ];
  },
};

export const loopDelay: Bench = {
  metrics: [LOOP_DELAY],
  async run({ folder, seconds }) {
    const hf = await open(path.join(folder, "loop.db"));
    const held = await holdMany(hf, ATONCE);
    const result = await measureLoopDelay("64 runs", seconds, (turnMs) => stepAtOnce(held, turnMs));
    await endAll(hf, held);
    return [result];
  },
};
