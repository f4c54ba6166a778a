// Rows of runs beside what the log makes of them.
import type { RunsBeside } from "../contracts/check-queries.ts";
import { toHex } from "./bytes.ts";
import { canonicalJson } from "./canonical.ts";
import { jsonObject } from "./decode.ts";
import type { Columns, RunsSaid } from "./runs-said.ts";

export interface Difference {
  readonly kind: "row-without-event" | "row-mismatch" | "event-without-row";
  readonly table: keyof RunsBeside;
  /** The id of a run, the seq of a signal, a question or a checkpoint. */
  readonly key: string | number;
  /** In which it is not what was said. */
  readonly column?: string;
}

/** In all four tables; `beside` is all there is of the runs that `said` has heard of. */
export function differences(said: RunsSaid, beside: RunsBeside): readonly Difference[] {
  const rows = beside.runs.map((row) => [row.id, runColumns(row)] as const);
  const parts = (["signals", "decisions", "checkpoints"] as const).flatMap((table) =>
    compare(
      table,
      said[table],
      beside[table].map((row) => [row.seq, { ...row }] as const),
    ),
  );
  return [...compare("runs", said.runs, rows), ...parts];
}

function compare<K extends string | number>(
  table: keyof RunsBeside,
  expected: ReadonlyMap<K, Columns>,
  rows: readonly (readonly [K, Readonly<Record<string, unknown>>])[],
): readonly Difference[] {
  const missing = new Set(expected.keys());
  const found = rows.flatMap(([key, row]): readonly Difference[] => {
    missing.delete(key);
    const columns = expected.get(key);
    if (columns === undefined) return [{ kind: "row-without-event", table, key }];
    return differing(row, columns).map((column) => ({ kind: "row-mismatch", table, key, column }));
  });
  return [...found, ...[...missing].map((key): Difference => ({ kind: "event-without-row", table, key }))];
}

function differing(row: Readonly<Record<string, unknown>>, said: Columns): readonly string[] {
  return Object.keys(said).filter((column) => !isSame(row[column] ?? null, said[column] ?? null));
}

function isSame(found: unknown, said: unknown): boolean {
  if (said === null || typeof said !== "object") return found === said;
  return typeof found === "object" && found !== null && canonicalJson(found as never) === canonicalJson(said as never);
}

/** As the log would say it. */
function runColumns(row: {
  readonly toolset: Uint8Array;
  readonly limits: Uint8Array;
}): Readonly<Record<string, unknown>> {
  return { ...row, toolset: toHex(row.toolset), limits: jsonObject.read(row.limits) ?? null };
}
