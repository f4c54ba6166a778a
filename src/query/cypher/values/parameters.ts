// Turns what callers pass as parameters into values: whole numbers become integers, all others floats.
import { invalid } from "../../../core/check.ts";
import type { CypherValue } from "./value.ts";

/** Nesting of a parameter's value. */
const DEPTH_MAX = 64;

export function readParameters(parameters: Readonly<Record<string, unknown>>): ReadonlyMap<string, CypherValue> {
  return new Map(
    Object.entries(parameters).map(([name, value]) => [name, readValue(value, `the parameter ${name}`, 0)]),
  );
}

function readValue(value: unknown, what: string, depth: number): CypherValue {
  if (depth > DEPTH_MAX) throw invalid(what, `nested at most ${DEPTH_MAX} deep`, value);
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") {
    if (!value.isWellFormed()) throw invalid(what, "well-formed Unicode text", value);
    return value;
  }
  if (typeof value === "number") return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value;
  if (typeof value === "bigint") {
    if (BigInt.asIntN(64, value) !== value) throw invalid(what, "an integer of 64 bits", value);
    return value;
  }
  if (Array.isArray(value)) return value.map((one: unknown) => readValue(one, what, depth + 1));
  if (value instanceof Map) {
    return new Map([...value].map(([key, one]) => [String(key), readValue(one, what, depth + 1)]));
  }
  if (typeof value === "object" && isPlain(value)) {
    return new Map(Object.entries(value).map(([key, one]) => [key, readValue(one, what, depth + 1)]));
  }
  throw invalid(what, "null, a boolean, a number, a text, a list or a map", value);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
