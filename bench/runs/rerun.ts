// The cost of a run beside its steps, and the time until a killed program continues after it is started again.
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as path from "node:path";
import * as readline from "node:readline";
import type { AgentDefinition } from "../../src/contracts/agent-definitions.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { type SharedServer, withSchema } from "../foundation/postgres.ts";
import { alternate, compare, median, sample } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { ACT, act } from "./held-runs.ts";

const STEPS = 10;
const ROUNDS = 7;
const KILLS = 5;
const PROGRAM = path.join(import.meta.dirname, "rerun-program.ts");

/** The time from the call of execute() to its result, without the time of its ten steps. */
async function overheadOf(hf: Holdfast, seconds: number, prefix: string): Promise<readonly Result[]> {
  let spentMs = 0;
  const agent: AgentDefinition = {
    ...ACT,
    id: "bench",
    async iterate(it) {
      for (let n = 0; n < STEPS; n++) {
        const start = performance.now();
        await act(it);
        spentMs += performance.now() - start;
      }
      return it.done(null);
    },
  };
  let runs = 0;
  const execute = async () => {
    const id = `r${++runs}`;
    spentMs = 0;
    const start = performance.now();
    await hf.runs.execute(agent, { session: id, id });
    return { beside: performance.now() - start - spentMs, steps: spentMs };
  };
  const [beside = [], steps = []] = await alternate(ROUNDS, [
    async () => {
      const some: number[] = [];
      await sample((seconds * 1000) / ROUNDS, async () => some.push((await execute()).beside));
      return median(some);
    },
    async () => {
      const some: number[] = [];
      await sample((seconds * 1000) / ROUNDS, async () => some.push((await execute()).steps / STEPS));
      return median(some);
    },
  ]);
  return [
    {
      metric: `${prefix}run.overhead`,
      unit: "ms",
      ...compare(beside, steps),
      note: "p50 of a run of ten steps from execute() to its result, without its steps; baseline: one of its steps",
    },
  ];
}

export const overhead: Bench = {
  metrics: ["run.overhead"],
  async run({ folder, seconds }) {
    const hf = await open(path.join(folder, "overhead.db"));
    const results = await overheadOf(hf, seconds, "");
    await hf.close();
    return results;
  },
};

export function overheadOn(server: SharedServer): Bench {
  return {
    metrics: ["pg.run.overhead"],
    async run({ seconds, say }) {
      return withSchema(await server.url(say), async (url) => {
        const hf = await open(url);
        const results = await overheadOf(hf, seconds, "pg.");
        await hf.close();
        return results;
      });
    },
  };
}

/** Starts the program; returns the time until its first line, and a function that kills it a little later. */
async function startProgram(url: string): Promise<{ readonly firstMs: number; kill(): Promise<number> }> {
  const start = performance.now();
  const child = spawn(process.execPath, [PROGRAM, url], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = readline.createInterface({ input: child.stdout });
  await once(lines, "line");
  const firstMs = performance.now() - start;
  return {
    firstMs,
    kill: async () => {
      child.kill("SIGKILL");
      const killed = performance.now();
      await once(child, "close");
      return killed;
    },
  };
}

async function resumeOf(url: string, fresh: (n: number) => string | Promise<string>, prefix: string) {
  const beginnings: number[] = [];
  for (let n = 0; n < KILLS; n++) {
    const program = await startProgram(await fresh(n));
    beginnings.push(program.firstMs);
    await program.kill();
  }
  const resumed: number[] = [];
  let running = await startProgram(url);
  for (let n = 0; n < KILLS; n++) {
    const killed = await running.kill();
    running = await startProgram(url);
    resumed.push(performance.now() - killed);
  }
  await running.kill();
  return [
    {
      metric: `${prefix}resume.local`,
      unit: "ms",
      ...compare(resumed, beginnings),
      targets: [{ of: "value", must: "atMost", limit: 1000 }],
      note:
        "median from kill -9 to the first step that the same program, started again at once, does anew, the start of Node " +
        "included; baseline: from its start to the first step of a new run",
    },
  ] satisfies readonly Result[];
}

export const resume: Bench = {
  metrics: ["resume.local"],
  run: ({ folder }) => resumeOf(path.join(folder, "resume.db"), (n) => path.join(folder, `begin-${n}.db`), ""),
};

export function resumeOn(server: SharedServer): Bench {
  return {
    metrics: ["pg.resume.local"],
    run: async ({ say }) => {
      const base = await server.url(say);
      return withSchema(base, async (url) => resumeOf(url, (n) => `${url}_begin_${n}`, "pg."));
    },
  };
}
