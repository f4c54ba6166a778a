// What `holdfast run` adds to a run of the real Claude Code: a new session, a resumed one, and one of 12 MB. The program is
// the built package; each run has its own home, as in a new container. The model is a fake one on loopback.
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { installedAgents } from "../../scripts/agents.ts";
import { projectKey } from "../../src/coding/claude/session-files.ts";
import { importCaptured } from "../../src/coding/entry.ts";
import { open } from "../../src/open.ts";
import { type Machine, type Machines, MODEL, startMachines } from "../../test/agents/machine.ts";
import { buildCopy } from "../../test/packed.ts";
import { claudeSession } from "../claude-session.ts";
import { type SharedServer, withSchema } from "../foundation/postgres.ts";
import { alternate, median, timed } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench, Setting } from "../suite.ts";
import { BYTES } from "./saving.ts";

const ROUNDS = 7;
const CLAUDE = ["-p", "--model", MODEL, "--dangerously-skip-permissions"];
const PROMPT = "[[say done]]";

/** The milliseconds that `holdfast run` may add. */
interface RunGoals {
  readonly overhead?: number;
  readonly resume12MB: number;
}

export interface RunEngine {
  readonly prefix: string;
  readonly goals: RunGoals;
  /** Runs a function with a new store. */
  with<T>(setting: Setting, run: (url: string) => Promise<T>): Promise<T>;
}

let stores = 0;

export const runOnSqlite: RunEngine = {
  prefix: "",
  goals: { overhead: 350, resume12MB: 700 },
  with: ({ folder }, run) => run(path.join(folder, `run-${++stores}.db`)),
};

export function runOnPostgres(server: SharedServer): RunEngine {
  return {
    prefix: "pg.",
    goals: { resume12MB: 1000 },
    with: async ({ say }, run) => withSchema(await server.url(say), (url) => run(url)),
  };
}

/** Built once for all benches. */
export class BuiltProgram {
  #script: string | null = null;

  script({ folder, say }: Setting): string {
    if (this.#script === null) {
      say("  building the package");
      const copy = buildCopy(path.join(folder, "program"));
      const { bin } = JSON.parse(readFileSync(path.join(copy, "package.json"), "utf8"));
      this.#script = path.join(copy, bin.holdfast);
    }
    return this.#script;
  }
}

export function running(engine: RunEngine, program: BuiltProgram): Bench {
  const names = ["run.overhead.new", "run.overhead.resumed", "run.resume12MB"].map((name) => engine.prefix + name);
  const [fresh = "", resumed = "", large = ""] = names;
  return {
    metrics: names,
    async run(setting) {
      const agents = installedAgents();
      if (typeof agents === "string") throw new Error(agents);
      const machines = await startMachines(agents);
      const script = program.script(setting);
      try {
        return await engine.with(setting, async (url) => {
          const bench = new RunBench(machines, script, url);
          const { overhead, resume12MB } = engine.goals;
          return [
            ...(setting.isSelected(fresh) ? [await bench.measureNew(fresh, overhead)] : []),
            ...(setting.isSelected(resumed) ? [await bench.measureResumed(resumed, 1, overhead)] : []),
            ...(setting.isSelected(large) ? [await bench.measureResumed(large, BYTES, resume12MB)] : []),
          ];
        });
      } finally {
        await machines.remove();
      }
    },
  };
}

class RunBench {
  readonly #machines: Machines;
  readonly #script: string;
  readonly #url: string;
  #requests = 0;

  constructor(machines: Machines, script: string, url: string) {
    this.#machines = machines;
    this.#script = script;
    this.#url = url;
  }

  async measureNew(metric: string, limit: number | undefined): Promise<Result> {
    await (await open(this.#url)).close();
    const bare = () => this.#bare(this.#machines.add(), []);
    const ours = () => this.#supervised(this.#machines.add(), `new-${++this.#requests}`);
    return resultOf(metric, await alternate(ROUNDS, [ours, bare]), limit, "a new session in a new home");
  }

  /** The same session in a new home each time: restored from the store, or present already. */
  async measureResumed(metric: string, bytes: number, limit: number | undefined): Promise<Result> {
    const request = `resumed-${++this.#requests}`;
    const { sessionId, bytes: content } = claudeSession({ bytes, cwd: this.#machines.folder, seed: 7 });
    const hf = await open(this.#url);
    const file = { role: "transcript", path: `project/${sessionId}.jsonl`, content, grows: true } as const;
    const capture = await hf.captures.save({
      request,
      agent: "claude-code",
      sessionId,
      cwd: this.#machines.folder,
      files: [file],
    });
    // The home as the previous run has left it.
    await importCaptured(hf, capture);
    await hf.close();
    const bare = async () => {
      const machine = this.#machines.add();
      const project = path.join(machine.home, ".claude/projects", projectKey(machine.cwd));
      await mkdir(project, { recursive: true });
      await writeFile(path.join(project, `${sessionId}.jsonl`), content);
      return this.#bare(machine, ["--resume", sessionId]);
    };
    const ours = () => this.#supervised(this.#machines.add(), request, "--must-resume");
    const what = bytes === BYTES ? "a session of 12 MB resumed in a new home" : "a short session resumed in a new home";
    return resultOf(metric, await alternate(ROUNDS, [ours, bare]), limit, what);
  }

  #bare(machine: Machine, flags: readonly string[]): Promise<number> {
    return timedRun(machine, this.#machines.agents.claude, [...flags, ...CLAUDE, PROMPT]);
  }

  #supervised(machine: Machine, request: string, ...flags: readonly string[]): Promise<number> {
    const options = ["--store", this.#url, "--request", request, ...flags];
    const line = [this.#script, "run", ...options, "--", "claude", ...CLAUDE, PROMPT];
    return timedRun(machine, process.execPath, line);
  }
}

async function timedRun(machine: Machine, program: string, args: readonly string[]): Promise<number> {
  const took = await timed(() => machine.start(program, args).done());
  await machine.die();
  return took;
}

function resultOf(
  metric: string,
  [ours = [], bare = []]: readonly (readonly number[])[],
  limit: number | undefined,
  what: string,
): Result {
  const baseline = median(bare);
  const added = median(ours.map((ms, round) => ms - (bare[round] ?? Number.NaN)));
  return {
    metric,
    value: added,
    unit: "ms",
    baseline,
    ratio: (baseline + added) / baseline,
    ...(limit === undefined ? {} : { targets: [{ of: "value", must: "atMost", limit }] }),
    note: `added by \`holdfast run\` to ${what}; baseline: Claude Code without it`,
  };
}
