// Large commits of imports, with very many rows. Their rows are prepared before the transaction begins, in time slices,
// and sent to the engine in round trips of bounded size, so that neither step blocks the event loop, and the store is
// locked as briefly as possible.
import type { Environment } from "../../contracts/environment.ts";
import type { Commit } from "../../contracts/storage/commit.ts";
import { runInSlices, TimeSlice } from "../../core/time-slice.ts";
import type { Plan, Step } from "./driver.ts";
import { restoreInSteps } from "./restore.ts";
import { pieces } from "./row-pieces.ts";
import { Script } from "./writing.ts";

/** A commit with more rows is large. With fewer rows, the preparation costs more than it saves. */
const MOST_SMALL_ROWS = 2000;
/** A step cannot be interrupted. */
const ROWS_PER_STEP = 256;
const BYTES_PER_STEP = 256 * 1024;
const ROWS_PER_ROUND_TRIP = 2048;

/** The steps of a large commit that do not depend on the store's content; undefined if the commit is not large. */
export async function prepareLarge(
  batch: readonly Commit[],
  environment: Environment,
): Promise<readonly Step[] | undefined> {
  const [commit] = batch;
  const restores = commit?.restores ?? [];
  if (batch.length !== 1 || restores.length <= MOST_SMALL_ROWS) return undefined;
  const script = new Script();
  await runInSlices(restoreInSteps(script, restores), new TimeSlice(environment));
  return script.steps().flatMap(split);
}

/** Runs all steps; the last trip commits. No step may return rows. */
export function* inRoundTrips(steps: readonly Step[]): Plan<void> {
  let trip: Step[] = [];
  let rows = 0;
  for (const step of steps.flatMap(split)) {
    trip.push(step);
    rows += step.kind === "bulk" ? step.rows.length : 1;
    if (rows < ROWS_PER_ROUND_TRIP) continue;
    yield { steps: trip, last: false };
    [trip, rows] = [[], 0];
  }
  yield { steps: trip, last: true };
}

function split(step: Step): readonly Step[] {
  if (step.kind !== "bulk") return [step];
  const { spec, rows } = step;
  return pieces(rows, ROWS_PER_STEP, BYTES_PER_STEP).map((some) => ({ kind: "bulk", spec, rows: some }));
}
