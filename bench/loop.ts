// Of the time between two turns of a 1 ms timer: what a neighbour in the same process waits for its turn.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { alternate, compare } from "./measure.ts";
import type { Result } from "./report.ts";

export const LOOP_DELAY = "loop.delay.p99";
const ROUNDS = 7;

/** Under that load, against an idle loop; `load` is given the milliseconds of its turn. */
export async function measureLoopDelay(
  under: string,
  seconds: number,
  load: (turnMs: number) => Promise<unknown>,
): Promise<Result> {
  const turnMs = (seconds * 1000) / ROUNDS;
  let worst = 0;
  const delay = async (turn: () => Promise<unknown>): Promise<number> => {
    const histogram = monitorEventLoopDelay({ resolution: 1 });
    histogram.enable();
    await turn();
    histogram.disable();
    worst = Math.max(worst, histogram.max / 1e6);
    return histogram.percentile(99) / 1e6;
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
