// Measures the time between two ticks of a 1 ms timer: how long other code of the process waits for the event loop.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { alternate, compare } from "./measure.ts";
import type { Result } from "./report.ts";

export const LOOP_DELAY = "loop.delay.p99";
const ROUNDS = 7;

export interface LoopDelay {
  readonly p99: number;
  readonly max: number;
}

/** The delays in milliseconds, including the sampler's own millisecond. */
export async function delayDuring(run: () => Promise<unknown>): Promise<LoopDelay> {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  // The sampler counts from its second tick on. Otherwise it would miss work that never lets the event loop run.
  await sleep(SETTLE_MS);
  await run();
  await sleep(SETTLE_MS);
  histogram.disable();
  return { p99: histogram.percentile(99) / 1e6, max: histogram.max / 1e6 };
}

const SETTLE_MS = 10;

/** The delays under a load, beside those of an idle event loop; `load` gets the milliseconds for which it should run. */
export async function measureLoopDelay(
  under: string,
  seconds: number,
  load: (turnMs: number) => Promise<unknown>,
): Promise<Result> {
  const turnMs = (seconds * 1000) / ROUNDS;
  let worst = 0;
  const delay = async (turn: () => Promise<unknown>): Promise<number> => {
    const { p99, max } = await delayDuring(turn);
    worst = Math.max(worst, max);
    return p99;
  };
  const [busy = [], idle = []] = await alternate(ROUNDS, [
    () => delay(() => load(turnMs)),
    () => delay(() => sleep(turnMs)),
  ]);
  return {
    metric: LOOP_DELAY,
    unit: "ms",
    ...compare(busy, idle),
    targets: [{ of: "value", must: "atMost", limit: 10 }],
    note: `under ${under}, the sampler's own 1 ms included; worst ${worst.toFixed(1)} ms; baseline: an idle loop`,
  };
}
