// Parses a caller's filter over metadata to plain data, and says whether metadata matches it. Only the operators named here are
// accepted; names and values of the caller are data and never become SQL.

import type { JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { FilterValue } from "../contracts/metadata-filter.ts";
import { encodeText, sameBytes } from "./bytes.ts";
import { checkArray, checkBoolean, checkPlain, checkText, invalid, isList, limitExceeded } from "./check.ts";
import { suggestNames } from "./distance.ts";
import {
  encodeValue,
  fieldsOf,
  isInRange,
  type MetadataField,
  rangeOfAnyKind,
  rangeOfKind,
  successorOf,
  type ValueRange,
} from "./metadata-fields.ts";

/** A filter as it was parsed. `all` of nothing matches everything, `any` of nothing matches nothing. */
export type ParsedFilter =
  | { readonly kind: "all" | "any"; readonly of: readonly ParsedFilter[] }
  | { readonly kind: "not"; readonly of: ParsedFilter }
  /** One of the field's values is in the range. */
  | { readonly kind: "field"; readonly path: Uint8Array; readonly range: ValueRange };

/** null: it matches everything. InvalidArgument or LimitExceeded names the place in the filter. */
export function parseFilter(filter: unknown, what = "filter"): ParsedFilter | null {
  if (filter === undefined) return null;
  const parsed = parseNode(filter, what, 0, { left: LIMITS.filterConditions });
  return parsed.kind === "all" && parsed.of.length === 0 ? null : parsed;
}

/** Counts conditions and values: a filter that many variables share would else be as large as it likes. */
interface Budget {
  left: number;
}

function spend(budget: Budget, what: string): void {
  if (--budget.left < 0) throw limitExceeded("filterConditions", `${what} in conditions`, LIMITS.filterConditions + 1);
}

function parseNode(filter: unknown, what: string, depth: number, budget: Budget): ParsedFilter {
  if (depth > LIMITS.filterDepth) throw limitExceeded("filterDepth", "the filter's nesting", depth);
  const parts = Object.entries(checkPlain(filter, what)).map(([name, value]) => {
    spend(budget, what);
    const place = placeOf(what, name);
    if ((name === "and" || name === "or") && isList(value)) {
      const of = checkArray(value, place, "filterConditions").map((one, i) =>
        parseNode(one, `${place}[${i}]`, depth + 1, budget),
      );
      return { kind: name === "and" ? "all" : "any", of } as const;
    }
    if (name === "not" && isRecord(value)) {
      return { kind: "not", of: parseNode(value, place, depth + 1, budget) } as const;
    }
    return parseField(name, value, place, budget);
  });
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: "all", of: parts };
}

function placeOf(what: string, name: string): string {
  return `${what}.${name.length > 80 ? `${name.slice(0, 80)}…` : name}`;
}

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !isList(value);
}

function parseField(name: string, value: unknown, what: string, budget: Budget): ParsedFilter {
  const path = encodeText(checkText(name, "a field's name in a filter", "filterPathBytes"));
  if (isList(value)) {
    throw invalid(what, "a value or a condition", value, `Ask for one of several values with { in: [...] }.`);
  }
  if (!isRecord(value)) return equals(path, checkValue(value, what));
  const conditions = Object.entries(checkPlain(value, what));
  if (conditions.length === 0) throw invalid(what, `a condition with one of ${OPERATORS.join(", ")}`, "{}");
  const of = conditions.map(([operator, operand]) => {
    spend(budget, what);
    return parseCondition(path, operator, operand, what, budget);
  });
  return of.length === 1 && of[0] !== undefined ? of[0] : { kind: "all", of };
}

const OPERATORS = ["eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "exists"] as const;

function parseCondition(path: Uint8Array, name: string, operand: unknown, what: string, budget: Budget): ParsedFilter {
  const operator = OPERATORS.find((one) => one === name);
  if (operator === undefined) {
    const near = suggestNames(name, OPERATORS);
    const hint = near === "" ? 'Name a field inside an object with dots, as in { "a.b": 1 }.' : `Did you mean ${near}?`;
    throw invalid(what, `made of ${OPERATORS.join(", ")}`, name, hint);
  }
  const place = `${what}.${operator}`;
  switch (operator) {
    case "eq":
      return equals(path, checkValue(operand, place));
    case "ne":
      return { kind: "not", of: equals(path, checkValue(operand, place)) };
    case "in":
      return equalsAny(path, operand, place, budget);
    case "nin":
      return { kind: "not", of: equalsAny(path, operand, place, budget) };
    case "exists": {
      const exists = { kind: "field", path, range: rangeOfAnyKind() } as const;
      return checkBoolean(operand, place) ? exists : { kind: "not", of: exists };
    }
    default:
      return { kind: "field", path, range: rangeBeside(operator, operand, place) };
  }
}

function equals(path: Uint8Array, value: FilterValue): ParsedFilter {
  const from = encodeValue(value);
  return { kind: "field", path, range: { from, to: successorOf(from) } };
}

function equalsAny(path: Uint8Array, operand: unknown, what: string, budget: Budget): ParsedFilter {
  const of = checkArray(operand, what, "filterConditions").map((value, i) => {
    spend(budget, what);
    return equals(path, checkValue(value, `${what}[${i}]`));
  });
  return { kind: "any", of };
}

/** The values of the operand's own kind on one side of it. */
function rangeBeside(operator: "gt" | "gte" | "lt" | "lte", operand: unknown, what: string): ValueRange {
  if (typeof operand !== "number" && typeof operand !== "string") throw invalid(what, "a number or a text", operand);
  const value = encodeValue(checkValue(operand, what));
  const { from, to } = rangeOfKind(typeof operand === "number" ? "number" : "text");
  if (operator === "gt") return { from: successorOf(value), to };
  if (operator === "gte") return { from: value, to };
  return { from, to: operator === "lt" ? value : successorOf(value) };
}

function checkValue(value: unknown, what: string): FilterValue {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return checkText(value, what, "filterTextBytes");
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const hint = value === undefined ? "Leave the field out if it must not be filtered by." : undefined;
  throw invalid(what, "a text, a finite number, true, false or null", value, hint);
}

/** The exact meaning of a filter. An index may answer instead, and must answer the same. */
export function matchesFilter(filter: ParsedFilter | null, metadata: JsonObject): boolean {
  return filter === null || matchesFields(filter, fieldsOf(metadata));
}

function matchesFields(filter: ParsedFilter, fields: readonly MetadataField[]): boolean {
  switch (filter.kind) {
    case "all":
      return filter.of.every((one) => matchesFields(one, fields));
    case "any":
      return filter.of.some((one) => matchesFields(one, fields));
    case "not":
      return !matchesFields(filter.of, fields);
    case "field":
      return fields.some(({ path, value }) => sameBytes(path, filter.path) && isInRange(value, filter.range));
  }
}
