// DBOS: a registered workflow whose steps are `DBOS.runStep`. A restarted program recovers its pending workflows at launch.
import { programSetting, serve, step } from "./load.ts";

export interface DbosSetting {
  readonly systemDatabaseUrl: string;
}

interface Dbos {
  setConfig(config: Readonly<Record<string, unknown>>): void;
  launch(): Promise<void>;
  shutdown(): Promise<void>;
  registerWorkflow<A extends unknown[]>(
    workflow: (...args: A) => Promise<void>,
    config: { readonly name: string },
  ): (...args: A) => Promise<void>;
  startWorkflow<A extends unknown[]>(
    workflow: (...args: A) => Promise<void>,
    options: { readonly workflowID: string },
  ): (...args: A) => Promise<{ getResult(): Promise<void> }>;
  runStep<T>(body: () => Promise<T>, config: { readonly name: string }): Promise<T>;
}

const { systemDatabaseUrl }: DbosSetting = programSetting();
const PACKAGE = "@dbos-inc/dbos-sdk";
const { DBOS }: { DBOS: Dbos } = await import(PACKAGE);

DBOS.setConfig({ name: "bench", systemDatabaseUrl, logLevel: "error" });
const workflow = DBOS.registerWorkflow(
  async (run: string, steps: number) => {
    for (let n = 0; n < steps; n++) await DBOS.runStep(() => step(run, n), { name: "step" });
  },
  { name: "bench" },
);
await DBOS.launch();

serve({
  async execute(run, steps) {
    const handle = await DBOS.startWorkflow(workflow, { workflowID: run })(run, steps);
    await handle.getResult();
  },
  close: () => DBOS.shutdown(),
});
