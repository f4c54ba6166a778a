// A session's runs beside its log: their rows, signals, questions and checkpoints are what its events make them.
import type { RunRows } from "../contracts/storage/check-queries.ts";
import { rowId } from "../core/row-id.ts";
import { diffRuns, type RunProjection } from "../core/run-projection.ts";
import type { SecondLook } from "./findings.ts";

export function compareRuns(look: SecondLook, session: string, said: RunProjection, beside: RunRows): void {
  for (const { kind, table, key, column } of diffRuns(said, beside)) {
    const name = typeof key === "number" ? rowId(session, key) : key;
    look.report(kind, [name], column === undefined ? { table } : { table, column });
  }
  for (const id of said.endedTwice) look.report("run-ended-twice", [id], { session });
}
