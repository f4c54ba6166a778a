// The real environment: the machine's clock, randomness, timers and processes.
import type { Environment } from "../contracts/environment.ts";
import { platformEnvironment } from "./platform-environment.ts";
import { machineProcesses } from "./processes.ts";

export function realEnvironment(): Environment {
  return {
    ...platformEnvironment(),
    monotonic: () => {
      // Not performance.now(): its module takes longer to load than everything else here.
      const [seconds, nanoseconds] = process.hrtime();
      return seconds * 1000 + nanoseconds / 1e6;
    },
    processes: machineProcesses(),
  };
}
