// Functions of numbers.
import { EvaluationError } from "../errors.ts";
import { checkInteger } from "../values/arithmetic.ts";
import { type CypherValue, isNumber } from "../values/value.ts";
import { type CypherFunction, invalidValue, ofNumber, wholeNumber } from "./call-context.ts";

/** `sin sin`: the name in Cypher, and the name in Math. */
const PLAIN = "acos asin atan ceil cos exp floor log log10 sin sqrt tan".split(" ");

export function mathFunctions(): readonly (readonly [string, CypherFunction])[] {
  const plain = PLAIN.map((name): [string, CypherFunction] => [name, ofNumber(name, mathOf(name))]);
  return [
    ...plain,
    ["abs", ([value = null]) => (value === null ? null : absolute(value))],
    [
      "atan2",
      ([y = null, x = null]) =>
        y === null || x === null ? null : Math.atan2(toNumber("atan2", y), toNumber("atan2", x)),
    ],
    ["cot", ofNumber("cot", (value) => 1 / Math.tan(value))],
    ["degrees", ofNumber("degrees", (value) => (value * 180) / Math.PI)],
    ["radians", ofNumber("radians", (value) => (value * Math.PI) / 180)],
    ["haversin", ofNumber("haversin", (value) => (1 - Math.cos(value)) / 2)],
    ["isnan", ([value = null]) => (value === null ? null : Number.isNaN(toNumber("isNaN", value)))],
    ["sign", ([value = null]) => (value === null ? null : signOf(value))],
    ["round", round],
    ["e", () => Math.E],
    ["pi", () => Math.PI],
    ["rand", (_, { random }) => random()],
  ];
}

function mathOf(name: string): (value: number) => number {
  switch (name) {
    case "acos":
      return Math.acos;
    case "asin":
      return Math.asin;
    case "atan":
      return Math.atan;
    case "ceil":
      return Math.ceil;
    case "cos":
      return Math.cos;
    case "exp":
      return Math.exp;
    case "floor":
      return Math.floor;
    case "log":
      return Math.log;
    case "log10":
      return Math.log10;
    case "sin":
      return Math.sin;
    case "sqrt":
      return Math.sqrt;
    default:
      return Math.tan;
  }
}

function toNumber(name: string, value: CypherValue): number {
  if (!isNumber(value)) throw invalidValue(name, value);
  return Number(value);
}

function absolute(value: CypherValue): CypherValue {
  if (typeof value === "bigint") return value < 0n ? checkInteger(-value) : value;
  return Math.abs(toNumber("abs", value));
}

function signOf(value: CypherValue): bigint {
  const number = toNumber("sign", value);
  return number > 0 ? 1n : number < 0 ? -1n : 0n;
}

/** Without a precision, halves go up; with one, away from zero. */
function round([value = null, precision, mode]: readonly CypherValue[]): CypherValue {
  if (value === null || precision === null) return null;
  const number = toNumber("round", value);
  if (mode !== undefined && mode !== null && mode !== "HALF_UP") {
    throw new EvaluationError("ArgumentError", "InvalidArgumentValue", "round() knows the mode HALF_UP only");
  }
  if (precision === undefined) return Math.round(number);
  const digits = wholeNumber("round", precision);
  if (digits < 0 || digits > 100) {
    throw new EvaluationError("ArgumentError", "NumberOutOfRange", "the precision of round() is 0 to 100");
  }
  const scale = 10 ** digits;
  const scaled = Math.round(Math.abs(number) * scale) / scale;
  return Number.isFinite(scaled) ? Math.sign(number) * scaled : number;
}
