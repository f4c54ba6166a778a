// The load of torture (test/real/torture.ts), round after round on one store until the time is over.
import { Torture, type TortureOptions } from "../real/torture.ts";
import { addTally, emptyTally, type Tally } from "../real/torture-faults.ts";
import type { TortureContext } from "./part.ts";

/** Long enough for runs to meet many faults, short enough to be compared often. */
const ROUND_MS = 45_000;
const SHORTEST_ROUND_MS = 1000;

type Round = Pick<TortureOptions, "url" | "faults" | "commitFreezes">;

/** `round` says what the next one is; it gets the torture before itself too, to look at what it did. */
export async function tortureRounds(
  { folder, workers, runs, progress }: TortureContext,
  ms: number,
  label: string,
  round: (torture: () => Torture | null) => Round,
): Promise<Tally> {
  const sum = emptyTally();
  const end = performance.now() + ms;
  for (let count = 1; performance.now() < end; count++) {
    const faultMs = Math.min(ROUND_MS, Math.max(SHORTEST_ROUND_MS, end - performance.now()));
    let torture: Torture | null = null;
    torture = new Torture({ ...round(() => torture), folder, faultMs, workers, runs, progress });
    const tally = await torture.run();
    addTally(sum, tally);
    progress(`${label}, round ${count}: ${describeTally(tally)}`);
  }
  return sum;
}

const FAULTS: readonly (readonly [keyof Tally, string])[] = [
  ["kills", "workers killed"],
  ["serverKills", "servers killed"],
  ["poolerKills", "poolers killed"],
  ["freezes", "workers frozen"],
  ["commitFreezes", "workers frozen inside a commit"],
  ["backendFreezes", "server processes frozen"],
];

export function describeTally(tally: Tally): string {
  const { started, ended, recoveries, supplied, retries, effects, acknowledged, unrelated, closes } = tally;
  const faults = FAULTS.filter(([name]) => tally[name] > 0).map(([name, what]) => `${tally[name]} ${what}`);
  const beside =
    unrelated === 0
      ? []
      : [`${unrelated} unrelated appends and ${closes} closes, the slowest took ${tally.slowestMs} ms`];
  return [
    faults.join(", "),
    `${started} runs begun, ${ended} ended with their children, ${recoveries} recoveries`,
    `${supplied + retries} decisions (${retries} retries), ${tally.signals} signals, ${tally.unpauses} pauses ended`,
    `${effects} effects, none too many; ${acknowledged} acknowledged, all there`,
    ...beside,
    "check is clean",
  ].join("; ");
}
