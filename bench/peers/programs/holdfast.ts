// Holdfast, as the built package: one run, one iteration, each step a tool call with its intent and its result.
import { programSetting, serve, step } from "./load.ts";

export interface HoldfastSetting {
  /** The built index.js. */
  readonly entry: string;
  readonly store: string;
}

const { entry, store }: HoldfastSetting = programSetting();
const { defineAgent, open }: typeof import("../../../src/index.ts") = await import(entry);

const agent = defineAgent<null, { run: string; steps: number }>({
  id: "bench",
  version: "1",
  initial: () => null,
  tools: {
    step: {
      effect: "idempotent",
      execute: (input) => {
        const { run, n } = input as { run: string; n: number };
        return step(run, n);
      },
    },
  },
  async iterate(it) {
    const { run, steps } = it.input;
    for (let n = 0; n < steps; n++) await it.tool("step", { run, n });
    return it.done(null);
  },
});

const hf = await open(store);
serve({
  async execute(run, steps) {
    const { status, error } = await hf.runs.execute(agent, { id: run, session: run, input: { run, steps } });
    if (status !== "completed") throw new Error(`the run is ${status}: ${error?.message}`);
  },
  close: () => hf.close(),
});
