// A session's runs beside its log: their rows, signals, questions and checkpoints are what its events make them.
import type { RunsBeside } from "../contracts/check-queries.ts";
import { rowId } from "../core/row-id.ts";
import { differing, runColumns } from "../core/runs-compared.ts";
import type { Columns, RunsSaid } from "../core/runs-said.ts";
import type { Look } from "./findings.ts";

export function compareRuns(look: Look, session: string, said: RunsSaid, beside: RunsBeside): void {
  compare(
    "runs",
    said.runs,
    beside.runs,
    (row) => row.id,
    runColumns,
    (id) => id,
  );
  const bySeq = (seq: number) => rowId(session, seq);
  for (const table of ["signals", "decisions", "checkpoints"] as const) {
    compare(
      table,
      said[table],
      beside[table],
      (row) => row.seq,
      (row) => ({ ...row }),
      bySeq,
    );
  }
  for (const id of said.undead) look.report("run-ended-twice", [id], { session });

  function compare<K extends string | number, R>(
    table: keyof RunsBeside,
    expected: ReadonlyMap<K, Columns>,
    rows: readonly R[],
    keyOf: (row: R) => K,
    columnsOf: (row: R) => Readonly<Record<string, unknown>>,
    name: (key: K) => string,
  ): void {
    const missing = new Set(expected.keys());
    for (const row of rows) {
      const key = keyOf(row);
      missing.delete(key);
      const columns = expected.get(key);
      if (columns === undefined) look.report("row-without-event", [name(key)], { table });
      else
        for (const column of differing(columnsOf(row), columns))
          look.report("row-mismatch", [name(key)], { table, column });
    }
    for (const key of missing) look.report("event-without-row", [name(key)], { table });
  }
}
