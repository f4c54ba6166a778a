// Large commits of imports, with very many rows. Their rows are prepared before the transaction begins, in time slices,
// and sent to the engine in round trips of bounded size, so that neither statement blocks the event loop, and the store is
// locked as briefly as possible.
import type { Environment } from "../../contracts/environment.ts";
import type { Commit } from "../../contracts/storage/commit.ts";
import { runInSlices, TimeSlice } from "../../core/time-slice.ts";
import type { Plan, Statement } from "./driver.ts";
import { restoreInSteps } from "./restore.ts";
import { pieces } from "./row-pieces.ts";
import { Script } from "./write-plan.ts";

/** A commit with more rows is large. With fewer rows, the preparation costs more than it saves. */
const MOST_SMALL_ROWS = 2000;
/** A statement cannot be interrupted. */
const ROWS_PER_STEP = 256;
const BYTES_PER_STEP = 256 * 1024;
const ROWS_PER_ROUND_TRIP = 2048;

/** The statements of a large commit that do not depend on the store's content; undefined if the commit is not large. */
export async function prepareLarge(
  batch: readonly Commit[],
  environment: Environment,
): Promise<readonly Statement[] | undefined> {
  const [commit] = batch;
  const restores = commit?.restores ?? [];
  if (batch.length !== 1 || restores.length <= MOST_SMALL_ROWS) return undefined;
  const script = new Script();
  await runInSlices(restoreInSteps(script, restores), new TimeSlice(environment));
  return script.statements().flatMap(split);
}

/** Runs all statements; the last trip commits. No statement may return rows. */
export function* inRoundTrips(statements: readonly Statement[]): Plan<void> {
  let trip: Statement[] = [];
  let rows = 0;
  for (const statement of statements.flatMap(split)) {
    trip.push(statement);
    rows += statement.kind === "bulk" ? statement.rows.length : 1;
    if (rows < ROWS_PER_ROUND_TRIP) continue;
    yield { statements: trip, last: false };
    [trip, rows] = [[], 0];
  }
  yield { statements: trip, last: true };
}

function split(statement: Statement): readonly Statement[] {
  if (statement.kind !== "bulk") return [statement];
  const { spec, rows } = statement;
  return pieces(rows, ROWS_PER_STEP, BYTES_PER_STEP).map((some) => ({ kind: "bulk", spec, rows: some }));
}
