// `begin` starts a run of three steps and kills its own process inside the second. `continue` executes the same run again, after
// another one, and prints the files of src that ran code from the call of execute() until the second step was done again.
import { defineAgent, open } from "../../src/index.ts";
import { executedFiles } from "./executed-files.ts";

const [, , store = "", mode] = process.argv;
let onThirdStep = () => {};
const thirdStep = () =>
  new Promise<void>((resolve) => {
    onThirdStep = resolve;
  });

const agent = defineAgent({
  id: "three-steps",
  version: "1",
  tools: {
    count: {
      effect: "idempotent",
      execute: async (input: { readonly step: number }) => {
        if (input.step === 2 && mode === "begin") process.kill(process.pid, "SIGKILL");
        if (input.step === 3) onThirdStep();
        return input.step;
      },
    },
  },
  async iterate(iteration) {
    for (const step of [1, 2, 3]) await iteration.tools.count({ step });
    return iteration.done("counted");
  },
});

const hf = await open(store);
const run = { id: "count-1", session: "chat-42" };
if (mode === "begin") {
  await hf.runs.execute(agent, run);
} else {
  // The first run in a process also loads code and writes the texts of statements: that is not the path of a step.
  await hf.runs.execute(agent, { id: "count-2", session: "chat-43" });
  let ending: Promise<unknown> = Promise.resolve();
  const files = await executedFiles(async () => {
    const isAtThirdStep = thirdStep();
    ending = hf.runs.execute(agent, run);
    await isAtThirdStep;
  });
  await ending;
  console.log(JSON.stringify(files));
}
await hf.close();
