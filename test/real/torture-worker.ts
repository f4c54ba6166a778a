// A child that works on runs until it is told "stop", or killed: "ready" when it is at work, then what its agents say.
import { createInterface } from "node:readline";
import { open } from "../../src/open.ts";
import { openFreezing } from "./freezing-store.ts";
import { say } from "./say.ts";
import { agentsOf } from "./torture-agents.ts";

export interface WorkerArguments {
  readonly url: string;
  /** Where its tools act. */
  readonly effects: string;
  /** The share of commits with several round trips in which it stops (SIGSTOP) after the first, and says "frozen" before. */
  readonly commitFreezes: number;
}

const { url, effects, commitFreezes }: WorkerArguments = JSON.parse(process.argv[2] ?? "{}");

// A server that is down when the child starts is waited for.
async function retryWithDeadline<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if ((error as { retryable?: boolean }).retryable !== true || tries > 300) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const store = await retryWithDeadline(() =>
  commitFreezes === 0
    ? open(url)
    : openFreezing(url, { stops: () => Math.random() < commitFreezes, isStale: () => false }),
);
const worker = store.runs.createWorker({
  agents: Object.values(agentsOf(effects, say)),
  concurrency: 6,
  pollMs: 100,
});
worker.start();
say("ready");
for await (const line of createInterface({ input: process.stdin })) if (line === "stop") break;
await worker.stop();
await store.close();
process.exit(0);
