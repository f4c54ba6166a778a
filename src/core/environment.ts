// The real environment: the machine's clock, randomness, timers and processes.
import type { Environment } from "../contracts/environment.ts";
import { hrtimeMs, platformEnvironment } from "./platform-environment.ts";
import { machineProcesses } from "./processes.ts";

export function realEnvironment(): Environment {
  return { ...platformEnvironment(), monotonic: hrtimeMs, processes: machineProcesses() };
}
