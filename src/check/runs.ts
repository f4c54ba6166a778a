// A session's runs beside its log: their rows, signals, questions and checkpoints are what its events make them.
import type { RunsBeside } from "../contracts/check-queries.ts";
import { rowId } from "../core/row-id.ts";
import { differences } from "../core/runs-compared.ts";
import type { RunsSaid } from "../core/runs-said.ts";
import type { Look } from "./findings.ts";

export function compareRuns(look: Look, session: string, said: RunsSaid, beside: RunsBeside): void {
  for (const { kind, table, key, column } of differences(said, beside)) {
    const name = typeof key === "number" ? rowId(session, key) : key;
    look.report(kind, [name], column === undefined ? { table } : { table, column });
  }
  for (const id of said.undead) look.report("run-ended-twice", [id], { session });
}
