// toInteger, toFloat, toBoolean and toString. A text that says no such value gives null; a value of a wrong type is an error, or
// null with …OrNull.
import { formatNumber } from "../values/format.ts";
import { type CypherList, type CypherValue, isList, isNumber } from "../values/value.ts";
import { type CypherFunction, invalidValue } from "./call-context.ts";

/** undefined: the type cannot be converted. */
type Conversion = (value: Exclude<CypherValue, null>) => CypherValue | undefined;

export function conversionFunctions(): readonly (readonly [string, CypherFunction])[] {
  const conversions: readonly (readonly [string, Conversion])[] = [
    ["toInteger", convertToInteger],
    ["toFloat", convertToFloat],
    ["toBoolean", convertToBoolean],
    ["toString", convertToString],
  ];
  return conversions.flatMap(([name, convert]): (readonly [string, CypherFunction])[] => [
    [name.toLowerCase(), ([value = null]) => strict(name, convert, value)],
    [`${name.toLowerCase()}ornull`, ([value = null]) => (value === null ? null : (convert(value) ?? null))],
    [`${name.toLowerCase()}list`, (operands) => convertList(`${name}List`, convert, operands)],
  ]);
}

function strict(name: string, convert: Conversion, value: CypherValue): CypherValue {
  if (value === null) return null;
  const converted = convert(value);
  if (converted === undefined) throw invalidValue(name, value);
  return converted;
}

function convertList(name: string, convert: Conversion, [list = null]: CypherList): CypherValue {
  if (list === null) return null;
  if (!isList(list)) throw invalidValue(name, list);
  return list.map((one) => (one === null ? null : (convert(one) ?? null)));
}

const NUMBER = /^\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$/;

function convertToInteger(value: Exclude<CypherValue, null>): CypherValue | undefined {
  if (typeof value === "bigint") return value;
  if (typeof value === "number") return truncate(value);
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (typeof value !== "string") return undefined;
  if (!NUMBER.test(value)) return null;
  if (!/^\s*[+-]?[0-9]+\s*$/.test(value)) return truncate(Number(value));
  const text = value.trim();
  if (text.length > 40) return null;
  const integer = BigInt(text.replace("+", ""));
  return BigInt.asIntN(64, integer) === integer ? integer : null;
}

/** null: the float is too large for an integer, or none. */
function truncate(value: number): bigint | null {
  if (!Number.isFinite(value)) return null;
  const integer = BigInt(Math.trunc(value));
  return BigInt.asIntN(64, integer) === integer ? integer : null;
}

function convertToFloat(value: Exclude<CypherValue, null>): CypherValue | undefined {
  if (isNumber(value)) return Number(value);
  if (typeof value !== "string") return undefined;
  return NUMBER.test(value) ? Number(value) : null;
}

function convertToBoolean(value: Exclude<CypherValue, null>): CypherValue | undefined {
  if (typeof value === "boolean") return value;
  if (typeof value === "bigint") return value !== 0n;
  if (typeof value !== "string") return undefined;
  const text = value.trim().toLowerCase();
  return text === "true" ? true : text === "false" ? false : null;
}

function convertToString(value: Exclude<CypherValue, null>): CypherValue | undefined {
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" || isNumber(value) ? formatNumber(value) : undefined;
}
