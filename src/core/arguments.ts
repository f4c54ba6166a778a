// Checks arguments by the schemas of the catalogue. Each schema becomes a function once, when it is first needed.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS, type LimitName } from "../contracts/limits.ts";
import type { Fields, Schema, ValueOf } from "../contracts/verbs/vocabulary.ts";
import { isBytes } from "./bytes.ts";
import {
  checkArray,
  checkBoolean,
  checkFields,
  checkId,
  checkInt,
  checkLimit,
  checkOneOf,
  checkPlain,
  checkRecord,
  checkRef,
  checkText,
  encodeJson,
  invalid,
  isList,
  limitExceeded,
  reading,
  readingError,
} from "./check.ts";
import { checkCursor } from "./cursor.ts";
import { suggestNames } from "./distance.ts";
import { checkHeadId } from "./locator.ts";
import { parseRowId } from "./row-id.ts";

/** `what` is the name of the value in errors. */
export type Check = (value: unknown, what: string) => unknown;

/**
 * Checks of arguments that are code, such as agents, by the kind of their schema. The module that knows the type of the
 * code passes the check to the binding.
 */
export interface CodeChecks {
  readonly agent?: Check;
}

const NO_CODE: CodeChecks = {};
const CHECKS = new WeakMap<Schema, Check>();

/** Returns what the implementation gets for a value. Throws an error that says what is wrong with the value. */
export function checkArgument<S extends Schema>(schema: S, value: unknown, what: string): ValueOf<S> {
  return checkFor(schema)(value, what) as ValueOf<S>;
}

export function checkFor(schema: Schema, code: CodeChecks = NO_CODE): Check {
  if (code !== NO_CODE) return withPresence(schema, checkOfKind(schema, code));
  const known = CHECKS.get(schema);
  if (known !== undefined) return known;
  const check = withPresence(schema, checkOfKind(schema, code));
  CHECKS.set(schema, check);
  return check;
}

function withPresence(schema: Schema, check: Check): Check {
  const { optional, nullable, fallback } = schema;
  const isOptional = optional === true;
  if (nullable === true) {
    return (value, what) => (value === null ? null : value === undefined && isOptional ? fallback : check(value, what));
  }
  return isOptional ? (value, what) => (value === undefined ? fallback : check(value, what)) : check;
}

function checkOfKind(schema: Schema, code: CodeChecks): Check {
  switch (schema.kind) {
    case "id":
      return schema.orEmpty === true ? checkIdOrEmpty : checkId;
    case "ref":
      return checkRef;
    case "head":
      return checkHeadId;
    case "digest":
      return checkDigest;
    case "rowId":
      return parseRowId;
    case "cursor":
      return checkCursor;
    case "boolean":
      return checkBoolean;
    case "text":
      return (value, what) => checkShownText(value, what, schema.limit, schema.isBlankRefused === true);
    case "whole": {
      const { min, max, orText } = schema;
      return (value, what) => (value === orText && orText !== undefined ? value : checkInt(value, what, min, max));
    }
    case "number":
      return (value, what) => checkNumber(value, what, schema.min, schema.max);
    case "limit":
      return (value, what) => checkLimit(value, schema.limit, what);
    case "choice":
      return (value, what) => checkOneOf(value, what, schema.of);
    case "list":
      return checkOfList(schema, code);
    case "record":
      return checkOfRecord(schema, code);
    default:
      return checkOfObject(schema, code);
  }
}

function checkOfObject(schema: Schema, code: CodeChecks): Check {
  switch (schema.kind) {
    case "agent":
      if (code.agent === undefined) throw new Error("bug: nothing checks the agents of this noun");
      return code.agent;
    case "object":
      return checkObject;
    case "entries":
      return (value, what) => encodeEntries(value, what, schema.keys, schema.values);
    case "signal":
      return checkSignal;
    case "bytes":
      return checkBytes;
    case "function":
      return checkFunction;
    case "checked":
      return (value, what) => checkGiven(value, what, schema.as);
    case "session":
      // The session lookup checks objects.
      return schema.use === "id" ? checkIdOrObject : (value) => value;
    default:
      return (value) => value;
  }
}

function checkNumber(value: unknown, what: string, min: number, max = Number.POSITIVE_INFINITY): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= min && value <= max) return value;
  throw invalid(what, Number.isFinite(max) ? `a number from ${min} to ${max}` : `a number from ${min} on`, value);
}

function checkDigest(value: unknown, what: string): string {
  if (typeof value !== "string" || !/^[0-9a-f]{64}$/.test(value)) throw invalid(what, "64 hex digits", value);
  return value;
}

function checkIdOrObject(value: unknown, what: string): unknown {
  return typeof value === "object" && value !== null ? value : checkId(value, what);
}

function checkIdOrEmpty(value: unknown, what: string): string {
  return value === "" ? "" : checkId(value, what);
}

function checkShownText(value: unknown, what: string, limit: LimitName, isBlankRefused: boolean): string {
  const text = checkText(value, what, limit);
  if (isBlankRefused && text.trim() === "") throw invalid(what, "a text that is not blank", value);
  return text;
}

function checkObject(value: unknown, what: string): object {
  if (value === undefined) throw invalid(what, "an object", value);
  return checkRecord(value, what);
}

/** Checks only that a value was given; the implementation checks the rest. */
function checkGiven(value: unknown, what: string, wanted: string): unknown {
  if (value === undefined) throw invalid(what, wanted, value);
  return value;
}

function checkFunction(value: unknown, what: string): unknown {
  if (typeof value !== "function") throw invalid(what, "a function", value);
  return value;
}

function checkSignal(value: unknown, what: string): AbortSignal {
  if (reading(what, () => value instanceof AbortSignal)) return value as AbortSignal;
  throw invalid(what, "an AbortSignal", value);
}

function checkBytes(value: unknown, what: string): Uint8Array {
  if (isBytes(value)) return value;
  throw invalid(what, "bytes", value);
}

function checkOfList({ of, limit, isSet, usage }: Extract<Schema, { kind: "list" }>, code: CodeChecks): Check {
  // If the implementation checks the items, this only counts them: a list may have hundreds of thousands.
  if (of.kind === "checked") return (value, what) => checkArray(value, what, limit, usage);
  const check = checkFor(of, code);
  return (value, what) => {
    const items = checkArray(value, what, limit, usage).map((item, i) => check(item, `${what}[${i}]`));
    return isSet === true ? [...new Set(items)] : items;
  };
}

function checkOfRecord(schema: Extract<Schema, { kind: "record" }>, code: CodeChecks): Check {
  const { fields, prefix, isPlaced, isOpen, usage } = schema;
  const names = Object.keys(fields);
  const checks = fieldChecks(fields, prefix, code);
  // One pass and no copy before it, because every append runs this code twice.
  return (value, what) => {
    if (typeof value !== "object" || value === null || isList(value)) throw invalid(what, "an object", value, usage);
    const given = value as Readonly<Record<string, unknown>>;
    const checked: Record<string, unknown> = {};
    let missing: string | undefined;
    try {
      if (isOpen !== true) checkFields(given, what, names);
      for (let i = 0; i < checks.length; i++) {
        const { name, path, check } = checks[i] as FieldCheck;
        const input = given[name];
        missing = input === undefined ? name : undefined;
        const field = check(input, isPlaced === true ? `${what}.${name}` : path);
        if (field !== undefined) checked[name] = field;
      }
    } catch (cause) {
      const error = readingError(what, cause);
      throw isOpen === true && missing !== undefined ? missingField(error, missing, given, names) : error;
    }
    return checked;
  };
}

/** An open record takes stray fields. Where one of its own is missing, a stray one may be its misspelt name. */
function missingField(
  error: HoldfastError,
  name: string,
  given: Readonly<Record<string, unknown>>,
  names: readonly string[],
): HoldfastError {
  const meant = Object.keys(given).find((stray) => !names.includes(stray) && suggestNames(stray, [name]) !== "");
  if (meant === undefined) return error;
  const hint = `Did you mean "${name}" by "${meant}"?`;
  return new HoldfastError(error.code, error.message, { details: error.details, hint, cause: error });
}

interface FieldCheck {
  readonly name: string;
  /** The name of the field in errors. */
  readonly path: string;
  readonly check: Check;
}

function fieldChecks(fields: Fields, prefix: string | undefined, code: CodeChecks): readonly FieldCheck[] {
  return Object.entries(fields).map(([name, schema]) => ({
    name,
    path: prefix === undefined ? name : `${prefix}.${name}`,
    check: checkFor(schema, code),
  }));
}

/** One entry of an object whose entries are stored one by one. */
interface EncodedEntry {
  readonly key: string;
  /** Its JSON. */
  readonly bytes: Uint8Array;
}

function encodeEntries(value: unknown, what: string, keys: LimitName, values: LimitName): readonly EncodedEntry[] {
  const entries = Object.entries(checkPlain(value, what)).filter(([, item]) => item !== undefined);
  if (entries.length > LIMITS[keys]) throw limitExceeded(keys, `${what} in keys`, entries.length);
  return entries.map(([name, item]) => {
    const bytes = encodeJson(item, `${what}.${name.slice(0, 80)}`, values);
    return { key: checkId(name, `${what} key`), bytes };
  });
}
