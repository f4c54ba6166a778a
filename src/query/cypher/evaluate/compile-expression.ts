// Compiles an expression of a scope to a function from a row to its value.
import { cypherError, unsupported } from "../errors.ts";
import { cellAt, type SlotScope } from "../execute/row.ts";
import { checkReadable } from "../functions/call-context.ts";
import { functions } from "../functions/table.ts";
import type { Expression, FunctionCall, MapLiteral, PropertyAccess } from "../syntax/ast.ts";
import { expressionKey } from "../syntax/walk.ts";
import { type CypherMap, type CypherValue, isEntity, isMap } from "../values/value.ts";
import { compileIndex, compileSlice, readProperty } from "./access.ts";
import { compileGraphExpression } from "./compile-graph.ts";
import { compileListComprehension, compileQuantifier, compileReduction } from "./compile-loops.ts";
import {
  compileArithmetic,
  compileComparison,
  compileLabelPredicate,
  compileLogical,
  compilePredicate,
  compileUnary,
} from "./compile-operators.ts";
import { type Evaluator, type ExpressionCompiler, placed, type QueryRuntime } from "./compiler.ts";

export function createCompiler(
  runtime: QueryRuntime,
  scope: SlotScope,
  known?: ReadonlyMap<string, number>,
): ExpressionCompiler {
  return { runtime, scope, known, preparations: [], compile };
}

function compile(expression: Expression, compiler: ExpressionCompiler): Evaluator {
  const slot = compiler.known?.get(expressionKey(expression));
  return slot === undefined ? compileKind(expression, compiler) : (row) => cellAt(row, slot);
}

function compileKind(expression: Expression, compiler: ExpressionCompiler): Evaluator {
  switch (expression.kind) {
    case "literal": {
      const { value } = expression;
      return () => value;
    }
    case "parameter":
      return compileParameter(expression, compiler);
    case "variable": {
      const slot = compiler.scope.slotOf(expression.name);
      return (row) => cellAt(row, slot);
    }
    case "property":
      return compileProperty(expression, compiler);
    case "index":
      return compileIndex(expression, compiler);
    case "slice":
      return compileSlice(expression, compiler);
    case "hasLabels":
      return compileLabelPredicate(expression, compiler);
    case "logical":
      return compileLogical(expression, compiler);
    case "unary":
      return compileUnary(expression, compiler);
    case "arithmetic":
      return compileArithmetic(expression, compiler);
    case "comparison":
      return compileComparison(expression, compiler);
    case "predicate":
      return compilePredicate(expression, compiler);
    case "isNull": {
      const operand = compile(expression.operand, compiler);
      const { isNegated } = expression;
      return (row) => (operand(row) === null) !== isNegated;
    }
    case "call":
      return compileCall(expression, compiler);
    case "list": {
      const items = expression.items.map((item) => compile(item, compiler));
      return (row) => items.map((item) => item(row));
    }
    case "map":
      return compileMap(expression, compiler);
    case "mapProjection":
      return compileMapProjection(expression, compiler);
    case "listComprehension":
      return compileListComprehension(expression, compiler);
    case "quantifier":
      return compileQuantifier(expression, compiler);
    case "reduce":
      return compileReduction(expression, compiler);
    case "case":
      return compileCase(expression, compiler);
    default:
      return compileGraphExpression(expression, compiler);
  }
}

function compileParameter(
  expression: Extract<Expression, { kind: "parameter" }>,
  compiler: ExpressionCompiler,
): Evaluator {
  const { source, parameters } = compiler.runtime;
  const { name, at } = expression;
  const value = parameters.get(name);
  if (value !== undefined) return () => value;
  throw cypherError(source, at, {
    kind: "ParameterMissing",
    phase: "compile time",
    detail: "MissingParameter",
    message: `the query needs the parameter ${name}`,
  });
}

/** Functions that return what is there already. */
const TAKING = new Set(["coalesce", "head", "last", "nodes", "relationships", "rels", "nullif", "properties"]);

function compileCall(call: FunctionCall, compiler: ExpressionCompiler): Evaluator {
  if (call.name === "startnode" || call.name === "endnode") return compileGraphExpression(call, compiler);
  const run = functions().get(call.name);
  if (run === undefined) throw unsupported(compiler.runtime.source, call.at, `the function ${call.shownName}()`);
  const operands = call.operands.map((operand) => compile(operand, compiler));
  const { calls, meter } = compiler.runtime;
  const isMaking = !TAKING.has(call.name);
  return placed(compiler, call, (row) => {
    meter.step();
    const values = operands.map((operand) => operand(row));
    return isMaking ? meter.holdMade(run(values, calls)) : run(values, calls);
  });
}

function compileProperty(expression: PropertyAccess, compiler: ExpressionCompiler): Evaluator {
  const object = compile(expression.object, compiler);
  const { key } = expression;
  return placed(compiler, expression, (row) => readProperty(object(row), key));
}

function compileMap(expression: MapLiteral, compiler: ExpressionCompiler): Evaluator {
  const entries = expression.entries.map(({ key, value }) => [key, compile(value, compiler)] as const);
  return (row) => new Map(entries.map(([key, value]) => [key, value(row)]));
}

function compileMapProjection(
  expression: Extract<Expression, { kind: "mapProjection" }>,
  compiler: ExpressionCompiler,
): Evaluator {
  const object = compile(expression.object, compiler);
  const items = expression.items.map((item) =>
    item.kind === "entry" ? { ...item, evaluate: compile(item.value, compiler) } : item,
  );
  return placed(compiler, expression, (row) => {
    const value = object(row);
    if (value === null) return null;
    const result = new Map<string, CypherValue>();
    for (const item of items) {
      if (item.kind === "all") for (const [key, one] of propertiesOf(value)) result.set(key, one);
      else result.set(item.key, item.kind === "entry" ? item.evaluate(row) : readProperty(value, item.key));
    }
    return result;
  });
}

function propertiesOf(value: CypherValue): CypherMap {
  if (isEntity(value)) return checkReadable(value).properties;
  return isMap(value) ? value : new Map();
}

function compileCase(expression: Extract<Expression, { kind: "case" }>, compiler: ExpressionCompiler): Evaluator {
  const { subject, otherwise, branches } = expression;
  const evaluateOther: Evaluator = otherwise === undefined ? () => null : compile(otherwise, compiler);
  const compiled = branches.map(({ when, result }) => {
    const condition: Expression =
      subject === undefined
        ? when
        : { kind: "comparison", first: subject, rest: [{ operator: "=", operand: when }], at: when.at, end: when.end };
    return { isMet: compile(condition, compiler), evaluate: compile(result, compiler) };
  });
  return (row) => {
    const branch = compiled.find(({ isMet }) => isMet(row) === true);
    return branch === undefined ? evaluateOther(row) : branch.evaluate(row);
  };
}
