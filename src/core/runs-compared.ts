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

export const PARTS = ["signals", "decisions", "checkpoints"] as const;

/** In all four tables; `beside` is all there is of the runs that `said` has heard of. */
export function differences(said: RunsSaid, beside: RunsBeside): readonly Difference[] {
  const ofParts = PARTS.flatMap((table) => [
    ...partDifferences(table, said[table], beside[table]),
    ...missing(table, said[table], new Set(beside[table].map(({ seq }) => seq))),
  ]);
  return [...runDifferences(said, beside.runs), ...ofParts];
}

export function runDifferences({ runs }: RunsSaid, rows: RunsBeside["runs"]): readonly Difference[] {
  const found = rows.flatMap((row) => compare("runs", runs, row.id, runColumns(row)));
  return [...found, ...missing("runs", runs, new Set(rows.map(({ id }) => id)))];
}

/** Of the rows that are there. */
export function partDifferences<T extends (typeof PARTS)[number]>(
  table: T,
  said: ReadonlyMap<number, Columns>,
  rows: RunsBeside[T],
): readonly Difference[] {
  return rows.flatMap((row) => compare(table, said, row.seq, { ...row }));
}

function compare<K extends string | number>(
  table: keyof RunsBeside,
  expected: ReadonlyMap<K, Columns>,
  key: K,
  row: Readonly<Record<string, unknown>>,
): readonly Difference[] {
  const columns = expected.get(key);
  if (columns === undefined) return [{ kind: "row-without-event", table, key }];
  return differing(row, columns).map((column) => ({ kind: "row-mismatch", table, key, column }));
}

function missing<K extends string | number>(
  table: keyof RunsBeside,
  expected: ReadonlyMap<K, Columns>,
  there: ReadonlySet<K>,
): readonly Difference[] {
  return [...expected.keys()]
    .filter((key) => !there.has(key))
    .map((key): Difference => ({ kind: "event-without-row", table, key }));
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
