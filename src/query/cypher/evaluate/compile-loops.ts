// Compiles list comprehensions, quantifiers and reduce. If their inner expressions read the graph, all their items are prepared
// ahead, for all rows of a batch at once.
import { unsupported } from "../errors.ts";
import { cellAt, type Row } from "../execute/row.ts";
import type { Expression, ListComprehension, Quantifier, Reduction } from "../syntax/ast.ts";
import type { Ternary } from "../values/equality.ts";
import { type CypherList, type CypherValue, isList, typeOfValue } from "../values/value.ts";
import { compileCondition } from "./compile-operators.ts";
import { type Evaluator, type ExpressionCompiler, innerCompiler, prepareRows, typeError } from "./compiler.ts";

/** null stays null; what is no list is an error. */
type ListEvaluator = (row: Row) => CypherList | null;

function compileList(expression: Expression, compiler: ExpressionCompiler): ListEvaluator {
  const evaluate = compiler.compile(expression, compiler);
  return (row) => {
    const value = evaluate(row);
    if (value === null || isList(value)) return value;
    throw typeError(
      compiler,
      expression.at,
      "InvalidArgumentType",
      `this must be a list, and is a ${typeOfValue(value)}`,
    );
  };
}

/** `finish` makes the result of the rows of the loop: copies of the row, one for each item. */
function compileLoop(
  list: ListEvaluator,
  slot: number,
  inner: ExpressionCompiler,
  compiler: ExpressionCompiler,
  finish: (rows: Iterable<Row>) => CypherValue,
): Evaluator {
  const { meter } = compiler.runtime;
  if (inner.preparations.length === 0) {
    return (row) => {
      const items = list(row);
      return items === null ? null : finish(assignEach(row, slot, items, () => meter.step()));
    };
  }
  const result = compiler.scope.takeSlot();
  compiler.preparations.push(async (rows) => {
    const loops = rows.map((row) => list(row)?.map((item) => copyWith(row, slot, item)) ?? null);
    const all = loops.flatMap((loop) => loop ?? []);
    meter.countRows(all.length);
    await prepareRows(inner, all);
    for (const [index, row] of rows.entries()) {
      const loop = loops[index] ?? null;
      row[result] = loop === null ? null : finish(loop);
    }
  });
  return (row) => cellAt(row, result);
}

function* assignEach(row: Row, slot: number, items: CypherList, step: () => void): Generator<Row> {
  for (const item of items) {
    step();
    row[slot] = item;
    yield row;
  }
}

function copyWith(row: Row, slot: number, value: CypherValue): Row {
  const copy = [...row];
  copy[slot] = value;
  return copy;
}

export function compileListComprehension(expression: ListComprehension, compiler: ExpressionCompiler): Evaluator {
  const { scope, slot } = compiler.scope.withLocal(expression.variable);
  const inner = innerCompiler(compiler, scope);
  const list = compileList(expression.list, compiler);
  const { where, projection } = expression;
  const isWanted = where === undefined ? undefined : compileCondition(where, inner);
  const project = projection === undefined ? (row: Row) => cellAt(row, slot) : inner.compile(projection, inner);
  return compileLoop(list, slot, inner, compiler, (rows) => {
    const values: CypherValue[] = [];
    for (const row of rows) if (isWanted === undefined || isWanted(row) === true) values.push(project(row));
    return values;
  });
}

export function compileQuantifier(expression: Quantifier, compiler: ExpressionCompiler): Evaluator {
  const { scope, slot } = compiler.scope.withLocal(expression.variable);
  const inner = innerCompiler(compiler, scope);
  const list = compileList(expression.list, compiler);
  const condition = compileCondition(expression.where, inner);
  return compileLoop(list, slot, inner, compiler, (rows) => quantify(expression.quantifier, rows, condition));
}

function quantify(
  quantifier: Quantifier["quantifier"],
  rows: Iterable<Row>,
  condition: (row: Row) => Ternary,
): Ternary {
  let trues = 0;
  let nulls = 0;
  for (const row of rows) {
    const value = condition(row);
    if (value === null) nulls++;
    else if (value) trues++;
    if (quantifier === "all" && value === false) return false;
    if (quantifier === "any" && value === true) return true;
    if (quantifier === "none" && value === true) return false;
    if (quantifier === "single" && trues > 1) return false;
  }
  if (nulls > 0) return null;
  return quantifier === "single" ? trues === 1 : quantifier !== "any";
}

/** The value of one item depends on the one before, so the body cannot be prepared ahead. */
export function compileReduction(expression: Reduction, compiler: ExpressionCompiler): Evaluator {
  const accumulator = compiler.scope.withLocal(expression.accumulator);
  const variable = accumulator.scope.withLocal(expression.variable);
  const inner = innerCompiler(compiler, variable.scope);
  const initial = compiler.compile(expression.initial, compiler);
  const list = compileList(expression.list, compiler);
  const body = inner.compile(expression.body, inner);
  const { meter, source } = compiler.runtime;
  if (inner.preparations.length > 0) throw unsupported(source, expression.body.at, "a pattern inside reduce()");
  return (row) => {
    const items = list(row);
    if (items === null) return null;
    let value = initial(row);
    for (const item of items) {
      meter.step();
      row[accumulator.slot] = value;
      row[variable.slot] = item;
      value = body(row);
    }
    return value;
  };
}
