// Compares the rows of a session's runs, signals, decisions and checkpoints with those that its log produces.
import type { RunRows } from "../contracts/storage/check-queries.ts";
import { rowId } from "../core/row-id.ts";
import { diffRuns, type RunProjection } from "../core/run-projection.ts";
import type { IssueReporter } from "./findings.ts";

export function compareRuns(reporter: IssueReporter, session: string, logged: RunProjection, rows: RunRows): void {
  for (const { kind, table, key, column } of diffRuns(logged, rows)) {
    const name = typeof key === "number" ? rowId(session, key) : key;
    reporter.report(kind, [name], column === undefined ? { table } : { table, column });
  }
  for (const id of logged.endedTwice) reporter.report("run-ended-twice", [id], { session });
}
