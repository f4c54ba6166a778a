// Groups rows for aggregates. Each group becomes one row: its first one, with the results of the aggregates in slots of their own.
import { isAggregate } from "../check/check-expression.ts";
import { containsAggregate } from "../check/check-projection.ts";
import { placeError } from "../errors.ts";
import { createCompiler } from "../evaluate/compile-expression.ts";
import { type Evaluator, prepareRows, type QueryRuntime } from "../evaluate/compiler.ts";
import { type Accumulator, createAccumulator } from "../functions/aggregate.ts";
import type { Expression, FunctionCall, Projection } from "../syntax/ast.ts";
import { childExpressions, expressionKey } from "../syntax/walk.ts";
import { rowKey } from "../values/equality.ts";
import { BATCH_ROWS, cellAt, type Row, type RowStream, type SlotScope, sizeOfRows } from "./row.ts";

export interface RowGrouping {
  /** Slots of the aggregates' results, by expressionKey. */
  readonly known: ReadonlyMap<string, number>;
  readonly run: (input: RowStream) => RowStream;
}

interface CompiledAggregate {
  readonly call: FunctionCall;
  readonly slot: number;
  readonly operand: Evaluator;
  readonly second: Evaluator;
}

interface RowGroup {
  readonly row: Row;
  readonly accumulators: readonly Accumulator[];
}

export function compileGrouping(projection: Projection, runtime: QueryRuntime, scope: SlotScope): RowGrouping {
  const compiler = createCompiler(runtime, scope);
  const expressions = [...projection.items, ...projection.orderBy].map(({ expression }) => expression);
  const calls = new Map(expressions.flatMap(findAggregates).map((call) => [expressionKey(call), call]));
  const compileOperand = (operand: Expression | undefined): Evaluator =>
    operand === undefined ? () => true : compiler.compile(operand, compiler);
  const aggregates = [...calls.values()].map((call): CompiledAggregate => {
    const [operand, second] = call.operands;
    return { call, slot: scope.takeSlot(), operand: compileOperand(operand), second: compileOperand(second) };
  });
  const grouping = projection.items.map(({ expression }) => expression).filter((one) => !containsAggregate(one));
  const keys = grouping.map((expression) => compiler.compile(expression, compiler));
  if (projection.isStar) {
    for (const slot of scope.slots.values()) keys.push((row) => cellAt(row, slot));
  }
  const known = new Map([...calls.keys()].map((key, index) => [key, aggregates[index]?.slot ?? 0]));
  const prepare = (rows: readonly Row[]) => prepareRows(compiler, rows);
  return { known, run: (input) => groupRows(input, { aggregates, keys, runtime, prepare }) };
}

function findAggregates(expression: Expression): readonly FunctionCall[] {
  if (expression.kind === "call" && isAggregate(expression)) return [expression];
  return childExpressions(expression).flatMap(findAggregates);
}

interface GroupingRun {
  readonly aggregates: readonly CompiledAggregate[];
  readonly keys: readonly Evaluator[];
  readonly runtime: QueryRuntime;
  readonly prepare: (rows: readonly Row[]) => Promise<void>;
}

async function* groupRows(input: RowStream, run: GroupingRun): RowStream {
  const { aggregates, keys, runtime, prepare } = run;
  const groups = new Map<string, RowGroup>();
  const newGroup = (row: Row): RowGroup => {
    runtime.meter.hold(sizeOfRows([row]) + aggregates.length);
    return { row, accumulators: aggregates.map(({ call }) => newAccumulator(call, runtime)) };
  };
  for await (const batch of input) {
    await prepare(batch);
    for (const row of batch) {
      if (runtime.meter.shouldPause()) await runtime.meter.pause();
      const key = rowKey(keys.map((evaluate) => evaluate(row)));
      let group = groups.get(key);
      if (group === undefined) {
        group = newGroup(row);
        groups.set(key, group);
      }
      addRow(group, row, run);
    }
  }
  // Without keys there is one group, also of no rows.
  if (groups.size === 0 && keys.length === 0) groups.set("", newGroup([]));
  const all = [...groups.values()];
  for (let at = 0; at < all.length; at += BATCH_ROWS) {
    yield all.slice(at, at + BATCH_ROWS).map(({ row, accumulators }) => {
      for (const [index, { slot }] of aggregates.entries()) row[slot] = accumulators[index]?.result() ?? null;
      return row;
    });
  }
}

function newAccumulator({ name, isDistinct }: FunctionCall, { meter }: QueryRuntime): Accumulator {
  return createAccumulator({ name, isDistinct, hold: (count) => meter.hold(count) });
}

function addRow(group: RowGroup, row: Row, { aggregates, runtime }: GroupingRun): void {
  for (const [index, { operand, second, call }] of aggregates.entries()) {
    try {
      group.accumulators[index]?.add(operand(row), second(row));
    } catch (error) {
      throw placeError(error, runtime.source, call.at);
    }
  }
}
