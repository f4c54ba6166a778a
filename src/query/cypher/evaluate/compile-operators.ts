// Compiles operators, with their three-valued logic.
import { unsupported } from "../errors.ts";
import type { Row } from "../execute/row.ts";
import { checkListLength, checkReadable, checkTextLength } from "../functions/call-context.ts";
import { isInList } from "../plan/filters.ts";
import type { Expression, LogicalExpression, PredicateExpression } from "../syntax/ast.ts";
import { calculate, changeSign } from "../values/arithmetic.ts";
import { compareValues, negate } from "../values/compare.ts";
import type { Ternary } from "../values/equality.ts";
import { type CypherValue, isList, isNode, isNumber, isRelationship, typeOfValue } from "../values/value.ts";
import { type Evaluator, type ExpressionCompiler, placed, typeError } from "./compiler.ts";

type Condition = (row: Row) => Ternary;

/** A condition; what is neither a boolean nor null is an error. */
export function compileCondition(expression: Expression, compiler: ExpressionCompiler): Condition {
  const evaluate = compiler.compile(expression, compiler);
  return (row) => {
    const value = evaluate(row);
    if (value === null || typeof value === "boolean") return value;
    const message = `a condition is true, false or null, and this is a ${typeOfValue(value)}`;
    throw typeError(compiler, expression.at, "InvalidArgumentType", message);
  };
}

export function compileLogical({ operator, operands }: LogicalExpression, compiler: ExpressionCompiler): Evaluator {
  const conditions = operands.map((operand) => compileCondition(operand, compiler));
  if (operator === "XOR") return (row) => exclusive(conditions.map((condition) => condition(row)));
  const decisive = operator === "OR";
  return (row) => {
    let result: Ternary = !decisive;
    for (const condition of conditions) {
      const value = condition(row);
      if (value === decisive) return decisive;
      if (value === null) result = null;
    }
    return result;
  };
}

function exclusive(values: readonly Ternary[]): Ternary {
  if (values.includes(null)) return null;
  return values.filter((value) => value === true).length % 2 === 1;
}

export function compileUnary(
  expression: Extract<Expression, { kind: "unary" }>,
  compiler: ExpressionCompiler,
): Evaluator {
  const { operator, operand } = expression;
  if (operator === "NOT") {
    const condition = compileCondition(operand, compiler);
    return (row) => negate(condition(row));
  }
  const evaluate = compiler.compile(operand, compiler);
  return placed(compiler, expression, (row) => {
    const value = evaluate(row);
    return operator === "-" ? changeSign(value) : isNumber(value) || value === null ? value : changeSign(value);
  });
}

export function compileArithmetic(
  expression: Extract<Expression, { kind: "arithmetic" }>,
  compiler: ExpressionCompiler,
): Evaluator {
  const first = compiler.compile(expression.first, compiler);
  const rest = expression.rest.map(({ operator, operand }) => ({
    operator,
    evaluate: compiler.compile(operand, compiler),
  }));
  return placed(compiler, expression, (row) => {
    let result = first(row);
    for (const { operator, evaluate } of rest) {
      const right = evaluate(row);
      if (operator === "+") checkSize(result, right);
      result = compiler.runtime.meter.holdMade(calculate(operator, result, right));
    }
    return result;
  });
}

function checkSize(left: CypherValue, right: CypherValue): void {
  if (typeof left === "string" && typeof right === "string") checkTextLength(left.length + right.length);
  if (isList(left) && isList(right)) checkListLength(left.length + right.length);
}

/** `a < b < c` compares neighbours. */
export function compileComparison(
  expression: Extract<Expression, { kind: "comparison" }>,
  compiler: ExpressionCompiler,
): Evaluator {
  const first = compiler.compile(expression.first, compiler);
  const rest = expression.rest.map(({ operator, operand }) => ({
    operator,
    evaluate: compiler.compile(operand, compiler),
  }));
  return (row) => {
    let left = first(row);
    let result: Ternary = true;
    for (const { operator, evaluate } of rest) {
      const right = evaluate(row);
      const holds = compareValues(operator, left, right);
      if (holds === false) return false;
      if (holds === null) result = null;
      left = right;
    }
    return result;
  };
}

export function compilePredicate(expression: PredicateExpression, compiler: ExpressionCompiler): Evaluator {
  const { operator } = expression;
  if (operator === "=~") throw unsupported(compiler.runtime.source, expression.at, "the operator =~");
  const left = compiler.compile(expression.left, compiler);
  const right = compiler.compile(expression.right, compiler);
  if (operator !== "IN") {
    return (row) => testText(operator, left(row), right(row));
  }
  return (row) => {
    const value = left(row);
    const list = right(row);
    if (list === null) return null;
    if (isList(list)) return isInList(value, list);
    throw typeError(compiler, expression.at, "InvalidArgumentType", `IN needs a list, not a ${typeOfValue(list)}`);
  };
}

/** What is no text contains nothing, and null. */
function testText(operator: "STARTS WITH" | "ENDS WITH" | "CONTAINS", left: CypherValue, right: CypherValue): Ternary {
  if (typeof left !== "string" || typeof right !== "string") return null;
  if (operator === "STARTS WITH") return left.startsWith(right);
  return operator === "ENDS WITH" ? left.endsWith(right) : left.includes(right);
}

export function compileLabelPredicate(
  expression: Extract<Expression, { kind: "hasLabels" }>,
  compiler: ExpressionCompiler,
): Evaluator {
  const object = compiler.compile(expression.object, compiler);
  const { labels } = expression;
  return placed(compiler, expression, (row) => {
    const value = object(row);
    if (value === null) return null;
    if (isNode(value)) {
      const { labels: actual } = checkReadable(value);
      return labels.every((label) => actual.has(label));
    }
    if (isRelationship(value)) return labels.every((label) => label === value.type);
    throw typeError(compiler, expression.at, "InvalidArgumentType", `a ${typeOfValue(value)} has no labels`);
  });
}
