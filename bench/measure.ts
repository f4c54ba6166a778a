// How the benchmarks measure: contenders take turns in rounds on the same machine in the same run, and what is reported
// is the median round, because the cores are shared and one bad moment must not decide.

/** The value below which that share (0 to 1) of the samples lies, by nearest rank; the samples need not be sorted. */
export function percentile(samples: readonly number[], share: number): number {
  if (samples.length === 0) throw new Error("a percentile of no samples");
  const sorted = Float64Array.from(samples).sort();
  const rank = Math.ceil(share * sorted.length) - 1;
  return sorted[Math.min(Math.max(rank, 0), sorted.length - 1)] ?? 0;
}

/** The median: the middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error("a median of nothing");
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >>> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

export interface Comparison {
  readonly value: number;
  readonly baseline: number;
  readonly ratio: number;
}

/** Medians over the rounds; the ratio is the median of each round's own ratio, so that drift cancels out. */
export function compare(ours: readonly number[], baseline: readonly number[]): Comparison {
  return {
    value: median(ours),
    baseline: median(baseline),
    ratio: median(ours.map((value, round) => value / (baseline[round] ?? Number.NaN))),
  };
}

/** One figure of one contender in one round. */
export type Contender = (round: number) => number | Promise<number>;

/**
 * Runs every contender once in every round, and rotates the order: the first of one round is the last of the next. The
 * first `warmUps` rounds are run and forgotten. Returns one list of figures per contender.
 */
export async function alternate(
  rounds: number,
  contenders: readonly Contender[],
  warmUps = 1,
): Promise<readonly (readonly number[])[]> {
  const figures: number[][] = contenders.map(() => []);
  for (let round = -warmUps; round < rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const which = (turn + round + warmUps) % contenders.length;
      const figure = await contenders[which]?.(round);
      if (round >= 0 && figure !== undefined) figures[which]?.push(figure);
    }
  }
  return figures;
}

/** Milliseconds each call took, one after the other, for about `forMs` and at least `atLeast` calls. */
export async function sample(forMs: number, run: () => unknown, atLeast = 20): Promise<number[]> {
  const samples: number[] = [];
  const deadline = performance.now() + forMs;
  while (performance.now() < deadline || samples.length < atLeast) samples.push(await timed(run));
  return samples;
}

/** Milliseconds of each call, for an exact number of calls. */
export async function sampleTimes(times: number, run: () => unknown): Promise<number[]> {
  const samples: number[] = [];
  while (samples.length < times) samples.push(await timed(run));
  return samples;
}

/** Synchronous calls are not awaited: a turn of the microtask queue would be part of the figure. */
export async function timed(run: () => unknown): Promise<number> {
  const start = performance.now();
  const pending = run();
  if (pending instanceof Promise) await pending;
  return performance.now() - start;
}
