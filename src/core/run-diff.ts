// Rows of runs beside what the log makes of them.
import type { RunRows } from "../contracts/storage/check-queries.ts";
import { toHex } from "./bytes.ts";
import { canonicalJson } from "./canonical.ts";
import { jsonObject } from "./decode.ts";
import type { RunColumns, RunProjection } from "./run-projection.ts";

export interface RunDifference {
  readonly kind: "row-without-event" | "row-mismatch" | "event-without-row";
  readonly table: keyof RunRows;
  /** The id of a run, the seq of a signal, a question or a checkpoint. */
  readonly key: string | number;
  /** The column that differs from the projection. */
  readonly column?: string;
}

export const PART_TABLES = ["signals", "decisions", "checkpoints"] as const;

/** In all four tables; `rows` are all stored rows of the runs in the projection. */
export function diffRuns(expected: RunProjection, rows: RunRows): readonly RunDifference[] {
  const ofParts = PART_TABLES.flatMap((table) => [
    ...diffPartRows(table, expected[table], rows[table]),
    ...missingRows(table, expected[table], new Set(rows[table].map(({ seq }) => seq))),
  ]);
  return [...diffRunRows(expected, rows.runs), ...ofParts];
}

export function diffRunRows({ runs }: RunProjection, rows: RunRows["runs"]): readonly RunDifference[] {
  const found = rows.flatMap((row) => diffRow("runs", runs, row.id, runColumns(row)));
  return [...found, ...missingRows("runs", runs, new Set(rows.map(({ id }) => id)))];
}

/** Of the rows that are there. */
export function diffPartRows<T extends (typeof PART_TABLES)[number]>(
  table: T,
  expected: ReadonlyMap<number, RunColumns>,
  rows: RunRows[T],
): readonly RunDifference[] {
  return rows.flatMap((row) => diffRow(table, expected, row.seq, { ...row }));
}

function diffRow<K extends string | number>(
  table: keyof RunRows,
  expected: ReadonlyMap<K, RunColumns>,
  key: K,
  row: Readonly<Record<string, unknown>>,
): readonly RunDifference[] {
  const columns = expected.get(key);
  if (columns === undefined) return [{ kind: "row-without-event", table, key }];
  return differingColumns(row, columns).map((column) => ({ kind: "row-mismatch", table, key, column }));
}

function missingRows<K extends string | number>(
  table: keyof RunRows,
  expected: ReadonlyMap<K, RunColumns>,
  there: ReadonlySet<K>,
): readonly RunDifference[] {
  return [...expected.keys()]
    .filter((key) => !there.has(key))
    .map((key): RunDifference => ({ kind: "event-without-row", table, key }));
}

function differingColumns(row: Readonly<Record<string, unknown>>, expected: RunColumns): readonly string[] {
  return Object.keys(expected).filter((column) => !isSame(row[column] ?? null, expected[column] ?? null));
}

function isSame(found: unknown, expected: unknown): boolean {
  if (expected === null || typeof expected !== "object") return found === expected;
  return (
    typeof found === "object" && found !== null && canonicalJson(found as never) === canonicalJson(expected as never)
  );
}

/** As the log would say it. */
function runColumns(row: {
  readonly toolset: Uint8Array;
  readonly limits: Uint8Array;
}): Readonly<Record<string, unknown>> {
  return { ...row, toolset: toHex(row.toolset), limits: jsonObject.read(row.limits) ?? null };
}
