// What a worker is created with, checked at once, whether or not the code of workers is loaded yet.
import type { AgentDefinition, AnyAgent } from "../contracts/runs.ts";
import type { WorkerOptions } from "../contracts/workers.ts";
import { checkArray, checkInt, checkRecord, invalid } from "../core/check.ts";
import { checkAgent, checkErased, checkVerify } from "./agents.ts";
import type { WorkerSettings } from "./worker.ts";

export interface CheckedWorker {
  readonly agents: readonly AgentDefinition[];
  readonly settings: WorkerSettings;
}

export function checkWorker(options: WorkerOptions): CheckedWorker {
  const given = checkRecord(options, "worker", [
    ...["agents", "concurrency", "pollMs", "watch", "allowMismatch", "verify", "erased"],
  ]);
  const agents = checkArray(given.agents, "worker.agents", "batchSlots") as readonly AnyAgent[];
  const whole = (name: "concurrency" | "pollMs", fallback: number, min: number, max: number) =>
    given[name] === undefined ? fallback : checkInt(given[name], `worker.${name}`, min, max);
  const checked = agents.map(checkAgent);
  refuseTwice(checked);
  const settings: WorkerSettings = {
    ...{ concurrency: whole("concurrency", 16, 1, 10_000), pollMs: whole("pollMs", 1000, 10, 3_600_000) },
    ...{ allowMismatch: given.allowMismatch === true, verify: checkVerify(given.verify) },
    ...{ watch: checkWatch(given.watch), erased: checkErased(given.erased) },
  };
  return { agents: checked, settings };
}

function refuseTwice(agents: readonly AgentDefinition[]): void {
  const ids = new Set<string>();
  for (const { id } of agents) {
    if (ids.has(id)) throw invalid("worker.agents", "agents with different ids", id);
    ids.add(id);
  }
}

function checkWatch(watch: unknown): WorkerOptions["watch"] {
  if (watch !== undefined && typeof watch !== "function") throw invalid("worker.watch", "a function", watch);
  return watch as WorkerOptions["watch"];
}
