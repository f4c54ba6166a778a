// Compiles list comprehensions, quantifiers and reduce. They are computed ahead like what reads the graph: a loop over a long list
// pauses, so that the event loop runs, and what its body reads of the graph is read for many items at once.
import { BATCH_ROWS, cellAt, type Row } from "../execute/row.ts";
import type { Expression, ListComprehension, Quantifier, Reduction } from "../syntax/ast.ts";
import { type CypherList, type CypherValue, isList, typeOfValue } from "../values/value.ts";
import { compileCondition } from "./compile-operators.ts";
import {
  addPreparation,
  type Evaluator,
  type ExpressionCompiler,
  innerCompiler,
  type Preparation,
  prepareRows,
  typeError,
} from "./compiler.ts";

/** null stays null; what is no list is an error. */
type ListEvaluator = (row: Row) => CypherList | null;

function compileList(expression: Expression, compiler: ExpressionCompiler): ListEvaluator {
  const evaluate = compiler.compile(expression, compiler);
  return (row) => {
    const value = evaluate(row);
    if (value === null || isList(value)) return value;
    const message = `this must be a list, and is a ${typeOfValue(value)}`;
    throw typeError(compiler, expression.at, "InvalidArgumentType", message);
  };
}

/** What a loop makes of its items. */
interface LoopResult {
  /** Takes the row with the next item in its slot; false: the result is known. */
  take(row: Row): boolean;
  finish(): CypherValue;
}

interface Loop {
  readonly list: ListEvaluator;
  /** Where the item goes. */
  readonly slot: number;
  /** What the body is compiled with. */
  readonly inner: ExpressionCompiler;
  readonly begin: () => LoopResult;
}

function compileLoop(loop: Loop, compiler: ExpressionCompiler): Evaluator {
  const slot = compiler.scope.takeSlot();
  const prepare = loop.inner.preparations.length === 0 ? prepareInPlace(loop, slot) : prepareCopies(loop, slot);
  addPreparation(compiler, prepare, slot);
  return (row) => cellAt(row, slot);
}

/** The body only computes: every item is put into the row itself. */
function prepareInPlace({ list, slot, inner, begin }: Loop, result: number): Preparation {
  const { meter } = inner.runtime;
  return async (rows) => {
    for (const row of rows) {
      const items = list(row);
      const body = begin();
      for (const item of items ?? []) {
        if (meter.shouldPause()) await meter.pause();
        row[slot] = item;
        if (!body.take(row)) break;
      }
      row[result] = items === null ? null : body.finish();
    }
  };
}

/** The body must be prepared too: rows with their items are copied, and prepared together. */
function prepareCopies({ list, slot, inner, begin }: Loop, result: number): Preparation {
  const { meter } = inner.runtime;
  return async (rows) => {
    const loops = rows.map((row) => ({ row, items: list(row), body: begin(), isDone: false }));
    let copies: { readonly loop: (typeof loops)[number]; readonly row: Row }[] = [];
    const flush = async () => {
      await prepareRows(
        inner,
        copies.map(({ row }) => row),
      );
      for (const { loop, row } of copies) if (!loop.isDone && !loop.body.take(row)) loop.isDone = true;
      copies = [];
    };
    for (const loop of loops) {
      for (const item of loop.items ?? []) {
        const copy = [...loop.row];
        copy[slot] = item;
        copies.push({ loop, row: copy });
        if (meter.shouldPause()) await meter.pause();
        if (copies.length >= BATCH_ROWS) await flush();
        if (loop.isDone) break;
      }
    }
    await flush();
    for (const { row, items, body } of loops) row[result] = items === null ? null : body.finish();
  };
}

export function compileListComprehension(expression: ListComprehension, compiler: ExpressionCompiler): Evaluator {
  const { scope, slot } = compiler.scope.withLocal(expression.variable);
  const inner = innerCompiler(compiler, scope);
  const list = compileList(expression.list, compiler);
  const { where, projection } = expression;
  const isWanted = where === undefined ? undefined : compileCondition(where, inner);
  const project = projection === undefined ? (row: Row) => cellAt(row, slot) : inner.compile(projection, inner);
  const { meter } = compiler.runtime;
  const begin = (): LoopResult => {
    const values: CypherValue[] = [];
    return {
      take(row) {
        if (isWanted === undefined || isWanted(row) === true) {
          meter.hold(1);
          values.push(project(row));
        }
        return true;
      },
      finish: () => values,
    };
  };
  return compileLoop({ list, slot, inner, begin }, compiler);
}

export function compileQuantifier(expression: Quantifier, compiler: ExpressionCompiler): Evaluator {
  const { scope, slot } = compiler.scope.withLocal(expression.variable);
  const inner = innerCompiler(compiler, scope);
  const list = compileList(expression.list, compiler);
  const condition = compileCondition(expression.where, inner);
  const { quantifier } = expression;
  const begin = (): LoopResult => {
    const counts = { trues: 0, falses: 0, nulls: 0 };
    return {
      take(row) {
        const value = condition(row);
        counts[value === null ? "nulls" : value ? "trues" : "falses"]++;
        return !isDecided(quantifier, counts);
      },
      finish: () => quantify(quantifier, counts),
    };
  };
  return compileLoop({ list, slot, inner, begin }, compiler);
}

interface ConditionCounts {
  readonly trues: number;
  readonly falses: number;
  readonly nulls: number;
}

/** More items cannot change the result. */
function isDecided(quantifier: Quantifier["quantifier"], { trues, falses }: ConditionCounts): boolean {
  if (quantifier === "all") return falses > 0;
  return trues > (quantifier === "single" ? 1 : 0);
}

function quantify(quantifier: Quantifier["quantifier"], counts: ConditionCounts): boolean | null {
  const { trues, nulls } = counts;
  if (isDecided(quantifier, counts)) return quantifier === "any";
  if (nulls > 0) return null;
  return quantifier === "single" ? trues === 1 : quantifier !== "any";
}

/** The value of one item depends on the one before, so rows are reduced one after the other. */
export function compileReduction(expression: Reduction, compiler: ExpressionCompiler): Evaluator {
  const accumulator = compiler.scope.withLocal(expression.accumulator);
  const variable = accumulator.scope.withLocal(expression.variable);
  const inner = innerCompiler(compiler, variable.scope);
  const initial = compiler.compile(expression.initial, compiler);
  const list = compileList(expression.list, compiler);
  const body = inner.compile(expression.body, inner);
  const result = compiler.scope.takeSlot();
  const { meter } = compiler.runtime;
  const reduceRow = async (row: Row) => {
    const items = list(row);
    row[accumulator.slot] = items === null ? null : initial(row);
    for (const item of items ?? []) {
      if (meter.shouldPause()) await meter.pause();
      row[variable.slot] = item;
      if (inner.preparations.length > 0) await prepareRows(inner, [row]);
      row[accumulator.slot] = body(row);
    }
    row[result] = cellAt(row, accumulator.slot);
  };
  addPreparation(
    compiler,
    async (rows) => {
      for (const row of rows) await reduceRow(row);
    },
    result,
  );
  return (row) => cellAt(row, result);
}
