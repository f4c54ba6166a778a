// Executes RETURN and WITH: computes the columns, groups, removes duplicates, sorts, skips and limits.
import { columnName, containsAggregate, sortNames } from "../check/check-projection.ts";
import { createCompiler } from "../evaluate/compile-expression.ts";
import { type Evaluator, type ExpressionCompiler, prepareRows, type QueryRuntime } from "../evaluate/compiler.ts";
import type { Expression, Projection } from "../syntax/ast.ts";
import { expressionKey } from "../syntax/walk.ts";
import { rowKey } from "../values/equality.ts";
import { compileFilter } from "./filter.ts";
import { compileGrouping, type RowGrouping } from "./group.ts";
import { sizeOfValue } from "./meter.ts";
import { compileCount, pageRows } from "./page.ts";
import { BATCH_ROWS, cellAt, type Row, type RowStream, SlotScope, sizeOfRows } from "./row.ts";
import { type SortableRow, sortRows } from "./sort.ts";

export interface CompiledClause {
  /** The variables after the clause. */
  readonly scope: SlotScope;
  readonly run: (input: RowStream) => RowStream;
}

interface CompiledColumns {
  readonly runtime: QueryRuntime;
  readonly grouping: RowGrouping | undefined;
  readonly compiler: ExpressionCompiler;
  /** Where the value of each column goes in the row before the projection, and how it is computed. */
  readonly columns: readonly { readonly slot: number; readonly evaluate: Evaluator }[];
  readonly isDistinct: boolean;
}

/** `where` is that of WITH. `drains`: all rows are read even if a limit needs fewer, because reading them writes. */
export function compileProjection(
  projection: Projection,
  where: Expression | undefined,
  runtime: QueryRuntime,
  scope: SlotScope,
  drains: boolean,
): CompiledClause {
  const names = projection.items.map((item) => columnName(item, runtime.source));
  const kept = projection.isStar ? sortNames(scope.slots) : [];
  const grouping = projection.items.some(({ expression }) => containsAggregate(expression))
    ? compileGrouping(projection, runtime, scope)
    : undefined;
  const compiler = createCompiler(runtime, scope, grouping?.known);
  const items = projection.items.map(({ expression }) => ({
    slot: scope.takeSlot(),
    evaluate: compiler.compile(expression, compiler),
  }));
  const columns = [...kept.map(([, slot]) => ({ slot, evaluate: (row: Row) => cellAt(row, slot) })), ...items];
  const compiled: CompiledColumns = { runtime, grouping, compiler, columns, isDistinct: projection.isDistinct };
  const after = compilerAfter(projection, names, items, { runtime, scope, grouping });
  const order = compileOrder(projection, after);
  const filter = where === undefined ? undefined : compileFilter(where, after);
  const skip = compileCount(projection.skip, "SKIP", runtime);
  const limit = compileCount(projection.limit, "LIMIT", runtime);
  const slots = columns.map(({ slot }) => slot);
  const output = SlotScope.of([...kept.map(([name]) => name), ...names]);
  const run = (input: RowStream): RowStream => {
    const most = limit === undefined ? undefined : limit() + (skip?.() ?? 0);
    const rows = computeColumns(compiled, input);
    const sorted = order === undefined ? rows : order(rows, drains ? undefined : most);
    const paged = pageRows(sorted, skip?.() ?? 0, limit?.(), drains);
    return mapRows(
      filter === undefined ? paged : filter(paged),
      (row) => slots.map((slot) => cellAt(row, slot)),
      runtime,
    );
  };
  return { scope: output, run };
}

async function* mapRows(input: RowStream, map: (row: Row) => Row, { meter }: QueryRuntime): RowStream {
  for await (const batch of input) {
    yield batch.map(map);
    if (meter.isSliceSpent) await meter.pause();
  }
}

/** The rows of before with the columns in their slots. */
async function* computeColumns(compiled: CompiledColumns, input: RowStream): RowStream {
  const { runtime, grouping, compiler, columns, isDistinct } = compiled;
  const seen = new Set<string>();
  for await (const batch of grouping === undefined ? input : grouping.run(input)) {
    await prepareRows(compiler, batch);
    const rows: Row[] = [];
    for (const row of batch) {
      if (runtime.meter.shouldPause()) await runtime.meter.pause();
      for (const { slot, evaluate } of columns) row[slot] = evaluate(row);
      if (isDistinct) {
        const key = rowKey(columns.map(({ slot }) => cellAt(row, slot)));
        if (seen.has(key)) continue;
        seen.add(key);
        runtime.meter.hold(sizeOfValue(key));
      }
      rows.push(row);
    }
    runtime.meter.countRows(rows.length);
    yield rows;
  }
}

/**
 * ORDER BY and WHERE see the columns, and where nothing is grouped also the variables of before. What is written as an
 * item is its column.
 */
function compilerAfter(
  projection: Projection,
  names: readonly string[],
  items: readonly { readonly slot: number }[],
  before: { readonly runtime: QueryRuntime; readonly scope: SlotScope; readonly grouping: RowGrouping | undefined },
): () => ExpressionCompiler {
  const known = new Map(before.grouping?.known);
  const slots = items.map(({ slot }) => slot);
  for (const [index, { expression }] of projection.items.entries()) {
    const slot = slots[index];
    if (slot !== undefined && expression.kind !== "variable") known.set(expressionKey(expression), slot);
  }
  const columns = names.map((name, index): [string, number] => [name, slots[index] ?? 0]);
  return () => createCompiler(before.runtime, before.scope.withSlots(columns), known);
}

type SortRows = (input: RowStream, most: number | undefined) => RowStream;

function compileOrder({ orderBy }: Projection, after: () => ExpressionCompiler): SortRows | undefined {
  if (orderBy.length === 0) return undefined;
  const compiler = after();
  const keys = orderBy.map(({ expression }) => compiler.compile(expression, compiler));
  const isDescending = orderBy.map((item) => item.isDescending);
  return (input, most) => collectSorted(input, { compiler, keys, isDescending }, most);
}

interface RowOrder {
  readonly compiler: ExpressionCompiler;
  readonly keys: readonly Evaluator[];
  readonly isDescending: readonly boolean[];
}

/** Keeps only the first `most` rows while it collects. */
async function* collectSorted(input: RowStream, order: RowOrder, most: number | undefined): RowStream {
  const { compiler, keys, isDescending } = order;
  const { meter } = compiler.runtime;
  let rows: readonly SortableRow[] = [];
  let added: SortableRow[] = [];
  let held = 0;
  for await (const batch of input) {
    await prepareRows(compiler, batch);
    for (const row of batch) {
      if (meter.shouldPause()) await meter.pause();
      added.push({ row, keys: keys.map((key) => key(row)) });
    }
    const size = sizeOfRows(batch) + batch.length * keys.length;
    meter.hold(size);
    held += size;
    if (most === undefined || added.length < most + BATCH_ROWS * 8) continue;
    rows = (await sortRows([...rows, ...added], isDescending, meter)).slice(0, most);
    added = [];
    meter.release(held);
    held = 0;
  }
  const sorted = await sortRows(rows.length === 0 ? added : [...rows, ...added], isDescending, meter);
  for (let at = 0; at < sorted.length; at += BATCH_ROWS) {
    yield sorted.slice(at, at + BATCH_ROWS).map(({ row }) => row);
  }
  meter.release(held);
}
