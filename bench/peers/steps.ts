// Durable steps beside those of DBOS and Restate, and the time until the run of a killed process continues.
import type { SharedServer } from "../foundation/postgres.ts";
import { alternate, median, percentile } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench, Setting } from "../suite.ts";
import { CONTENDERS, type Contender, POSTGRES, SQLITE } from "./contenders.ts";
import type { Program } from "./program.ts";

const NAMES = Object.keys(CONTENDERS);
const ROUNDS = 3;
const STEPS = 10;
const RUNS = 64;

const SEQUENTIAL = "peers.step.sequential";
const CONCURRENT = "peers.step.concurrent64";
const RECOVERY = "peers.recovery";

const NOTES: Readonly<Record<string, string>> = {
  [SQLITE]: "WAL, synchronous=FULL; a step is two commits, intent and result",
  [POSTGRES]: "synchronous_commit=on, fsync=on; a step is two commits, intent and result",
  dbos: "on the same PostgreSQL; a step is one commit, its result; baseline: Holdfast on PostgreSQL",
  restate: "own server and log, one node, fsync on; a step is its result; baseline: Holdfast on SQLite",
};

interface StartedContender {
  readonly contender: Contender;
  readonly program: Program;
}

/** Starts every contender that can be started here; the others are named with their reason. */
async function startContenders(
  setting: Setting,
  metric: string,
  entry: string,
  server: SharedServer,
): Promise<StartedContender[]> {
  const started: StartedContender[] = [];
  for (const [name, make] of Object.entries(CONTENDERS)) {
    if (!setting.isSelected(`${metric}.${name}`)) continue;
    try {
      const contender = await make(setting, entry, server);
      started.push({ contender, program: await contender.start() });
    } catch (error) {
      setting.say(`  ${name} is left out: ${error instanceof Error ? error.message : error}`);
    }
  }
  return started;
}

async function closeContenders(started: readonly StartedContender[]): Promise<void> {
  for (const { program, contender } of started) {
    await program.close();
    await contender.close();
  }
}

/** One row per system; a peer's ratio is its figure against that of Holdfast on the comparable engine. */
function toResults(metric: string, unit: string, figures: ReadonlyMap<string, number>, notes = NOTES): Result[] {
  return [...figures].map(([name, value]) => {
    const against = name === "dbos" ? POSTGRES : name === "restate" ? SQLITE : "";
    const baseline = figures.get(against) ?? Number.NaN;
    return { metric: `${metric}.${name}`, value, unit, baseline, ratio: value / baseline, note: notes[name] ?? "" };
  });
}

async function measureRounds(
  started: readonly StartedContender[],
  measure: (program: Program) => Promise<number>,
): Promise<ReadonlyMap<string, number>> {
  const figures = await alternate(
    ROUNDS,
    started.map(
      ({ program }) =>
        () =>
          measure(program),
    ),
  );
  return new Map(started.map(({ contender }, i) => [contender.name, median(figures[i] ?? [])]));
}

export function sequentialSteps(entry: () => string, server: SharedServer): Bench {
  return {
    metrics: NAMES.map((name) => `${SEQUENTIAL}.${name}`),
    async run(setting) {
      const started = await startContenders(setting, SEQUENTIAL, entry(), server);
      const forMs = (setting.seconds * 1000) / ROUNDS;
      const figures = await measureRounds(started, async (program) =>
        percentile(await program.sequential(forMs, STEPS), 0.5),
      );
      await closeContenders(started);
      return toResults(SEQUENTIAL, "ms", figures);
    },
  };
}

export function concurrentSteps(entry: () => string, server: SharedServer): Bench {
  return {
    metrics: NAMES.map((name) => `${CONCURRENT}.${name}`),
    async run(setting) {
      const started = await startContenders(setting, CONCURRENT, entry(), server);
      const forMs = (setting.seconds * 1000) / ROUNDS;
      const figures = await measureRounds(started, (program) => program.concurrent(forMs, STEPS, RUNS));
      await closeContenders(started);
      return toResults(CONCURRENT, "/s", figures);
    },
  };
}

const KILLS = 5;
const RECOVERY_STEPS = 40;
const REPORTING = { pauseMs: 20 };

/** Milliseconds from the kill to the first step of the process that was started in its place. */
async function recoverOnce(contender: Contender, run: string): Promise<number> {
  const first = await contender.start(REPORTING);
  const reached = first.reached(10);
  first.execute(run, RECOVERY_STEPS).catch(() => {}); // it is killed
  await reached;
  const killed = performance.now();
  await first.kill();
  const second = await contender.start(REPORTING);
  try {
    const [began] = await Promise.all([second.firstStep, second.execute(run, RECOVERY_STEPS)]);
    return began - killed;
  } finally {
    await second.close();
  }
}

async function measureRecovery(contender: Contender): Promise<number> {
  try {
    const times: number[] = [];
    for (let kill = 0; kill < KILLS; kill++) times.push(await recoverOnce(contender, `killed-${kill}`));
    return median(times);
  } finally {
    await contender.close();
  }
}

const RECOVERY_NOTE =
  "SIGKILL to the first step of the process that was started at once in its place, its start included";

export function recovery(entry: () => string, server: SharedServer): Bench {
  return {
    metrics: NAMES.map((name) => `${RECOVERY}.${name}`),
    async run(setting) {
      const figures = new Map<string, number>();
      for (const [name, make] of Object.entries(CONTENDERS)) {
        if (!setting.isSelected(`${RECOVERY}.${name}`)) continue;
        try {
          figures.set(name, await measureRecovery(await make(setting, entry(), server)));
        } catch (error) {
          setting.say(`  ${name} is left out: ${error instanceof Error ? error.message : error}`);
        }
      }
      const notes = Object.fromEntries(NAMES.map((name) => [name, RECOVERY_NOTE]));
      return toResults(RECOVERY, "ms", figures, { ...notes, restate: `${RECOVERY_NOTE}; its server stays up` });
    },
  };
}
