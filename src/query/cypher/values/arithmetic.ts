// + - * / % ^ on numbers, texts and lists. Integers stay in 64 bits; what does not fit is an error and never wraps.
import { EvaluationError } from "../errors.ts";
import type { ArithmeticOperator } from "../syntax/ast.ts";
import { formatNumber } from "./format.ts";
import { type CypherValue, isList, isNumber, typeOfValue } from "./value.ts";

export function checkInteger(value: bigint): bigint {
  if (BigInt.asIntN(64, value) === value) return value;
  throw new EvaluationError("ArithmeticError", "IntegerOverflow", `the integer ${value} does not fit into 64 bits`);
}

export function calculate(operator: ArithmeticOperator, left: CypherValue, right: CypherValue): CypherValue {
  if (left === null || right === null) return null;
  if (typeof left === "bigint" && typeof right === "bigint") return calculateIntegers(operator, left, right);
  if (isNumber(left) && isNumber(right)) return calculateFloats(operator, Number(left), Number(right));
  if (operator === "+") {
    if (isList(left)) return isList(right) ? [...left, ...right] : [...left, right];
    if (isList(right)) return [left, ...right];
    if (typeof left === "string" && (typeof right === "string" || isNumber(right))) return left + formatNumber(right);
    if (typeof right === "string" && isNumber(left)) return formatNumber(left) + right;
  }
  const types = `${typeOfValue(left)} ${operator} ${typeOfValue(right)}`;
  throw new EvaluationError("TypeError", "InvalidArgumentType", `there is no ${types}`);
}

function calculateIntegers(operator: ArithmeticOperator, left: bigint, right: bigint): CypherValue {
  switch (operator) {
    case "+":
      return checkInteger(left + right);
    case "-":
      return checkInteger(left - right);
    case "*":
      return checkInteger(left * right);
    case "/":
      return checkInteger(left / checkDivisor(right));
    case "%":
      return left % checkDivisor(right);
    case "^":
      return Number(left) ** Number(right);
  }
}

function checkDivisor(value: bigint): bigint {
  if (value !== 0n) return value;
  throw new EvaluationError("ArithmeticError", "DivideByZero", "an integer is divided by zero");
}

function calculateFloats(operator: ArithmeticOperator, left: number, right: number): number {
  switch (operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "/":
      return left / right;
    case "%":
      return left % right;
    case "^":
      return left ** right;
  }
}

export function changeSign(value: CypherValue): CypherValue {
  if (value === null) return null;
  if (typeof value === "bigint") return checkInteger(-value);
  if (typeof value === "number") return -value;
  throw new EvaluationError("TypeError", "InvalidArgumentType", `a ${typeOfValue(value)} has no sign`);
}
