// A whole run of the real OpenCode through `holdfast run`, beside the same run without it: a new session, and one that continues in a
// new home. The program is the built package, the model a fake one on loopback, and the answer is one word.
import { mkdir } from "node:fs/promises";
import * as path from "node:path";
import { installedAgents } from "../../scripts/agents.ts";
import { type Machine, type Machines, startMachines } from "../../test/agents/machine.ts";
import { installPackage, packPackage } from "../../test/packed.ts";
import { alternate, compare, timed } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench, Setting } from "../suite.ts";

const ROUNDS = 5;
const NEW = "run.opencode.new";
const RESUMED = "run.opencode.resumed";
const LINE = ["run", "--format", "json"];
const PROMPT = "[[say done]]";

export function openCodeRuns(): Bench {
  return {
    metrics: [NEW, RESUMED],
    async run(setting) {
      const agents = installedAgents();
      if (typeof agents === "string") throw new Error(agents);
      const machines = await startMachines(agents);
      try {
        const bench = new OpenCodeBench(
          machines,
          await builtProgram(setting),
          path.join(setting.folder, "opencode.db"),
        );
        return [
          ...(setting.isSelected(NEW) ? [await bench.measureNew()] : []),
          ...(setting.isSelected(RESUMED) ? [await bench.measureResumed()] : []),
        ];
      } finally {
        await machines.remove();
      }
    },
  };
}

/** The program as users have it: installed from the package. */
async function builtProgram({ folder, say }: Setting): Promise<string> {
  say("  building the package");
  const project = path.join(folder, "program");
  await mkdir(project, { recursive: true });
  installPackage(project, await packPackage(folder));
  return path.join(project, "node_modules", "holdfast", "bin", "holdfast.js");
}

class OpenCodeBench {
  readonly #machines: Machines;
  readonly #script: string;
  readonly #store: string;
  #requests = 0;

  constructor(machines: Machines, script: string, store: string) {
    this.#machines = machines;
    this.#script = script;
    this.#store = store;
  }

  async measureNew(): Promise<Result> {
    const bare = () => this.#timed(this.#machines.add(), this.#machines.agents.opencode, LINE);
    const ours = () => this.#supervised(this.#machines.add(), `new-${++this.#requests}`);
    return resultOf(NEW, await alternate(ROUNDS, [ours, bare]), 1.3, "a new session in a new home");
  }

  /** Where the session is before the run: in the store, or in the home. */
  async measureResumed(): Promise<Result> {
    const request = "resumed";
    const first = this.#machines.add();
    const output = await first.start(process.execPath, this.#line(request), { input: PROMPT }).done();
    const { sessionID } = JSON.parse(output.split("\n")[0] ?? "") as { sessionID: string };
    const file = path.join(this.#machines.folder, "session.json");
    await first.opencodeCommand(["export", sessionID], { stdoutFile: file }).done();
    await first.die();
    const bare = async () => {
      const machine = this.#machines.add();
      await machine.opencodeCommand(["import", file]).done();
      return this.#timed(machine, this.#machines.agents.opencode, [...LINE, "--session", sessionID]);
    };
    const ours = () => this.#supervised(this.#machines.add(), request);
    return resultOf(RESUMED, await alternate(ROUNDS, [ours, bare]), 1.6, "a session that goes on in a new home");
  }

  #line(request: string): readonly string[] {
    return [this.#script, "run", "--store", this.#store, "--request", request, "--", "opencode", ...LINE];
  }

  #supervised(machine: Machine, request: string): Promise<number> {
    return this.#timed(machine, process.execPath, this.#line(request));
  }

  async #timed(machine: Machine, program: string, args: readonly string[]): Promise<number> {
    const took = await timed(() => machine.start(program, args, { input: PROMPT }).done());
    await machine.die();
    return took;
  }
}

function resultOf(
  metric: string,
  [ours = [], bare = []]: readonly (readonly number[])[],
  limit: number,
  what: string,
): Result {
  return {
    metric,
    unit: "ms",
    ...compare(ours, bare),
    targets: [{ of: "ratio", must: "atMost", limit }],
    note: `${what}, a whole run; baseline: OpenCode without \`holdfast run\``,
  };
}
