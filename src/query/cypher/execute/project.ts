// Executes RETURN and WITH: computes the columns, groups, removes duplicates, sorts, skips and limits.
import { columnName, containsAggregate } from "../check/check-projection.ts";
import { createCompiler } from "../evaluate/compile-expression.ts";
import { type Evaluator, type ExpressionCompiler, prepareRows, type QueryRuntime } from "../evaluate/compiler.ts";
import type { Projection } from "../syntax/ast.ts";
import { expressionKey } from "../syntax/walk.ts";
import { rowKey } from "../values/equality.ts";
import { compileGrouping, type RowGrouping } from "./group.ts";
import { compileCount, pageRows } from "./page.ts";
import { BATCH_ROWS, cellAt, type Row, type RowStream, SlotScope } from "./row.ts";
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

/** `drains`: all rows are read even if a limit needs fewer, because reading them writes. */
export function compileProjection(
  projection: Projection,
  runtime: QueryRuntime,
  scope: SlotScope,
  drains: boolean,
): CompiledClause {
  const names = projection.items.map((item) => columnName(item, runtime.source));
  const kept = projection.isStar ? [...scope.slots].filter(([name]) => !name.startsWith(" ")) : [];
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
  const order = compileOrder(projection, names, items, { runtime, scope, grouping });
  const skip = compileCount(projection.skip, "SKIP", runtime);
  const limit = compileCount(projection.limit, "LIMIT", runtime);
  const slots = columns.map(({ slot }) => slot);
  const output = SlotScope.of([...kept.map(([name]) => name), ...names]);
  const run = (input: RowStream): RowStream => {
    const most = limit === undefined ? undefined : limit() + (skip?.() ?? 0);
    const rows = computeColumns(compiled, input);
    const sorted = order === undefined ? rows : order(rows, drains ? undefined : most);
    const paged = pageRows(sorted, skip?.() ?? 0, limit?.(), drains);
    return mapRows(paged, (row) => slots.map((slot) => cellAt(row, slot)), runtime);
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
      for (const { slot, evaluate } of columns) row[slot] = evaluate(row);
      if (isDistinct) {
        const key = rowKey(columns.map(({ slot }) => cellAt(row, slot)));
        if (seen.has(key)) continue;
        seen.add(key);
        runtime.meter.hold(1);
      }
      rows.push(row);
    }
    runtime.meter.countRows(rows.length);
    yield rows;
  }
}

type SortRows = (input: RowStream, most: number | undefined) => RowStream;

/** ORDER BY sees the columns, and where nothing is grouped also the variables of before. */
function compileOrder(
  projection: Projection,
  names: readonly string[],
  items: readonly { readonly slot: number }[],
  before: { readonly runtime: QueryRuntime; readonly scope: SlotScope; readonly grouping: RowGrouping | undefined },
): SortRows | undefined {
  if (projection.orderBy.length === 0) return undefined;
  const { runtime, grouping } = before;
  const known = new Map(grouping?.known);
  for (const [index, { expression }] of projection.items.entries()) {
    const slot = items[index]?.slot;
    if (slot !== undefined && expression.kind !== "variable") known.set(expressionKey(expression), slot);
  }
  const columnSlots = names.map((name, index): [string, number] => [name, items[index]?.slot ?? 0]);
  const compiler = createCompiler(runtime, before.scope.withSlots(columnSlots), known);
  const keys = projection.orderBy.map(({ expression }) => compiler.compile(expression, compiler));
  const isDescending = projection.orderBy.map((item) => item.isDescending);
  return (input, most) => collectSorted(input, { compiler, keys, isDescending, runtime }, most);
}

interface RowOrder {
  readonly compiler: ExpressionCompiler;
  readonly keys: readonly Evaluator[];
  readonly isDescending: readonly boolean[];
  readonly runtime: QueryRuntime;
}

/** Keeps only the first `most` rows while it collects. */
async function* collectSorted(input: RowStream, order: RowOrder, most: number | undefined): RowStream {
  const { compiler, keys, isDescending, runtime } = order;
  const { meter } = runtime;
  let rows: readonly SortableRow[] = [];
  let added: SortableRow[] = [];
  let held = 0;
  for await (const batch of input) {
    await prepareRows(compiler, batch);
    for (const row of batch) {
      added.push({ row, keys: keys.map((key) => key(row)) });
      held += row.length + keys.length;
    }
    meter.hold(batch.reduce((sum, row) => sum + row.length + keys.length, 0));
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
