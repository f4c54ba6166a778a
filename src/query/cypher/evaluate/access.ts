// Reads parts of values: properties, items of lists, slices.
import { EvaluationError } from "../errors.ts";
import type { Row } from "../execute/row.ts";
import { checkReadable } from "../functions/call-context.ts";
import type { Expression } from "../syntax/ast.ts";
import { type CypherList, type CypherValue, isEntity, isList, isMap, typeOfValue } from "../values/value.ts";
import { type Evaluator, type ExpressionCompiler, placed } from "./compiler.ts";

export function readProperty(object: CypherValue, key: string): CypherValue {
  if (object === null) return null;
  if (isEntity(object)) return checkReadable(object).properties.get(key) ?? null;
  if (isMap(object)) return object.get(key) ?? null;
  throw new EvaluationError("TypeError", "InvalidArgumentType", `a ${typeOfValue(object)} has no properties`);
}

export function compileIndex(
  expression: Extract<Expression, { kind: "index" }>,
  compiler: ExpressionCompiler,
): Evaluator {
  const object = compiler.compile(expression.object, compiler);
  const index = compiler.compile(expression.index, compiler);
  return placed(compiler, expression, (row) => readIndex(object(row), index(row)));
}

function readIndex(object: CypherValue, index: CypherValue): CypherValue {
  if (object === null || index === null) return null;
  if (isList(object)) {
    if (typeof index === "bigint") return object.at(Number(index)) ?? null;
    throw new EvaluationError("TypeError", "InvalidArgumentType", `a list has no item of ${typeOfValue(index)}`);
  }
  if (isMap(object) || isEntity(object)) {
    if (typeof index === "string") return readProperty(object, index);
    const message = `keys are texts, and this is a ${typeOfValue(index)}`;
    throw new EvaluationError("TypeError", "MapElementAccessByNonString", message);
  }
  throw new EvaluationError("TypeError", "InvalidArgumentType", `a ${typeOfValue(object)} has no items`);
}

export function compileSlice(
  expression: Extract<Expression, { kind: "slice" }>,
  compiler: ExpressionCompiler,
): Evaluator {
  const object = compiler.compile(expression.object, compiler);
  const from = compileBound(expression.from, compiler);
  const to = compileBound(expression.to, compiler);
  return placed(compiler, expression, (row) =>
    compiler.runtime.meter.holdMade(readSlice(object(row), from(row), to(row))),
  );
}

/** A missing bound is undefined, which is not null. */
function compileBound(
  bound: Expression | undefined,
  compiler: ExpressionCompiler,
): (row: Row) => CypherValue | undefined {
  return bound === undefined ? () => undefined : compiler.compile(bound, compiler);
}

function readSlice(object: CypherValue, from: CypherValue | undefined, to: CypherValue | undefined): CypherValue {
  if (object === null || from === null || to === null) return null;
  if (!isList(object)) {
    throw new EvaluationError("TypeError", "InvalidArgumentType", `a ${typeOfValue(object)} has no slices`);
  }
  return sliceList(object, from, to);
}

function sliceList(list: CypherList, from: CypherValue | undefined, to: CypherValue | undefined): CypherList {
  const bounds = [from, to].map((bound) => {
    if (bound === undefined || typeof bound === "bigint") return bound === undefined ? undefined : Number(bound);
    throw new EvaluationError(
      "TypeError",
      "InvalidArgumentType",
      `a slice is bounded by integers, not ${typeOfValue(bound)}`,
    );
  });
  return list.slice(bounds[0], bounds[1]);
}
