// Checks of callers' arguments: hostile or mistaken input becomes a typed error before anything is written. Callers may
// be plain JavaScript, so types are not trusted.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import { LIMITS, type LimitName } from "../contracts/limits.ts";
import { encodeText, fromRef } from "./bytes.ts";
import { suggestNames } from "./distance.ts";

export function limitExceeded(limit: LimitName, what: string, actual: number): HoldfastError {
  return new HoldfastError("LimitExceeded", `${what} is ${actual}, more than ${LIMITS[limit]} (the limit ${limit})`, {
    details: { limit, max: LIMITS[limit], actual },
  });
}

export function invalid(what: string, wanted: string, got: unknown, hint?: string): HoldfastError {
  const message = `${what} must be ${wanted}, not ${describe(got)}`;
  return new HoldfastError("InvalidArgument", message, { details: { what }, ...(hint === undefined ? {} : { hint }) });
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (isList(value)) return "an array";
  if (value === undefined || typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "string") return value.length > 40 ? "that text" : JSON.stringify(value);
  if (isDate(value)) return "a Date: give its epoch milliseconds, date.getTime()";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** A revoked proxy refuses the question. */
function isDate(value: unknown): boolean {
  try {
    return value instanceof Date;
  } catch {
    return false;
  }
}

/** An id is any well-formed Unicode text without NUL, of 1 to idBytes bytes. */
export function checkId(value: unknown, what: string): string {
  if (typeof value !== "string") throw invalid(what, "a string", value);
  const fail = (why: string) => new HoldfastError("InvalidId", `${what} ${why}`, { details: { what } });
  if (value === "") throw fail("is empty");
  if (value.includes("\0")) throw fail("holds a NUL character");
  if (!value.isWellFormed()) throw fail("holds a lone surrogate, which is not Unicode");
  // A UTF-16 unit takes at most four bytes of UTF-8, so only ids near the limit are measured.
  if (value.length * 3 > LIMITS.idBytes && Buffer.byteLength(value) > LIMITS.idBytes) {
    throw fail(`has ${Buffer.byteLength(value)} bytes; the limit idBytes is ${LIMITS.idBytes}`);
  }
  return value;
}

export function checkOptionalId(value: unknown, what: string): string | undefined {
  return value === undefined ? undefined : checkId(value, what);
}

/** A text for people. It may contain NUL, but no lone surrogate. */
export function checkText(value: unknown, what: string, limit: LimitName): string {
  if (typeof value !== "string") throw invalid(what, "a string", value);
  // A UTF-16 unit takes at least a byte, so a huge text is refused before it is scanned.
  if (value.length > LIMITS[limit]) throw limitExceeded(limit, `${what} in bytes`, value.length);
  if (!value.isWellFormed()) {
    throw new HoldfastError("InvalidText", `${what} holds a lone surrogate, which is not Unicode`, {
      details: { what },
    });
  }
  const bytes = Buffer.byteLength(value);
  if (bytes > LIMITS[limit]) throw limitExceeded(limit, `${what} in bytes`, bytes);
  return value;
}

export function checkInt(value: unknown, what: string, min: number, max: number): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw invalid(what, "a whole number", value);
  if (value < min || value > max) throw invalid(what, `between ${min} and ${max}`, value);
  return value;
}

/**
 * How many rows a list or a read gives at most: at least 1. A page of no rows could not say whether there are more, and where
 * they start.
 */
export function checkLimit(value: unknown, limit: LimitName, what = "limit"): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw invalid(what, "a whole number", value);
  if (value < 1) throw invalid(what, `between 1 and ${LIMITS[limit]}`, value);
  if (value > LIMITS[limit]) throw limitExceeded(limit, what, value);
  return value;
}

export function checkBoolean(value: unknown, what: string): boolean {
  if (typeof value !== "boolean") throw invalid(what, "true or false", value);
  return value;
}

export function checkArray(value: unknown, what: string, limit: LimitName, usage?: string): readonly unknown[] {
  if (!isList(value)) throw invalid(what, "an array", value, usage);
  return reading(what, () => {
    if (value.length > LIMITS[limit]) throw limitExceeded(limit, `${what} in items`, value.length);
    return Array.from(value);
  });
}

/** A revoked proxy throws even when it is asked whether it is an array. */
export function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

/**
 * Reading an argument may run the caller's code, a getter or a proxy. If that code throws, the error says it is the
 * caller's mistake.
 */
export function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw readingError(what, cause);
  }
}

/**
 * What to throw after reading a caller's value threw: the error of a check unchanged, and a typed error for that of a
 * getter or a proxy.
 */
export function readingError(what: string, cause: unknown): HoldfastError {
  if (cause instanceof HoldfastError) return cause;
  return new HoldfastError("InvalidArgument", `${what} cannot be read`, {
    hint: "Give plain data: a getter or a proxy in it threw the error that is the cause of this one.",
    details: { what },
    cause,
  });
}

/**
 * An options object or input record. If `known` lists its fields, any other field is refused. undefined gives {}. The
 * result is a copy: each property is read once, so it cannot change between two reads.
 */
export function checkRecord(
  value: unknown,
  what: string,
  known?: readonly string[],
): Readonly<Record<string, unknown>> {
  if (value === undefined) return {};
  if (typeof value !== "object" || value === null || isList(value)) throw invalid(what, "an object", value);
  return reading(what, () => {
    const record = value as Readonly<Record<string, unknown>>;
    if (known === undefined) return isPlain(record) ? { ...record } : record;
    checkFields(record, what, known);
    return fieldsOf(record, known);
  });
}

/** The same for an object that may have other fields, which are ignored. */
export function checkSome(value: unknown, what: string, names: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || isList(value)) throw invalid(what, "an object", value);
  return reading(what, () => fieldsOf(value as Readonly<Record<string, unknown>>, names));
}

function fieldsOf(record: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const name of names) {
    const field = record[name];
    if (field !== undefined) copy[name] = field;
  }
  return copy;
}

/** Refuses unknown fields: ignoring them would hide the caller's mistake. */
export function checkFields(value: Readonly<Record<string, unknown>>, what: string, known: readonly string[]): void {
  const stray = Object.keys(value).find((name) => !known.includes(name) && value[name] !== undefined);
  if (stray === undefined) return;
  const names = suggestNames(stray, known);
  throw invalid(what, `made of ${known.join(", ")}`, stray, names === "" ? undefined : `Did you mean ${names}?`);
}

/** An object that JSON can hold: no Date, no Map, no instance of a class. */
export function checkPlain(value: unknown, what: string): Readonly<Record<string, unknown>> {
  const record = checkRecord(value, what);
  if (value === undefined || !reading(what, () => isPlain(value as object)))
    throw invalid(what, "a plain object", value);
  return record;
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

export function checkOneOf<T extends string>(value: unknown, what: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw invalid(what, `one of ${allowed.join(", ")}`, value);
  return found;
}

export function checkRef(value: unknown, what = "ref"): Uint8Array {
  const digest = typeof value === "string" ? fromRef(value) : null;
  if (digest === null) throw invalid(what, "a blob ref like sha256:<64 hex digits>", value);
  return digest;
}

/**
 * The bytes of a caller's JSON exactly as it serialises. Refuses values that would be read back as something else:
 * undefined in a list, functions, symbols, BigInt, NaN, infinities, cycles, objects such as Date or Map, and nesting
 * deeper than jsonDepth. Only -0 is read back as 0, as always in JSON.
 */
export function encodeJson(value: unknown, what: string, limit: LimitName): Uint8Array {
  return encodeCopy(copyJson(value, what, limit), what, limit);
}

/** The bytes of a copy from copyJson(). */
export function encodeCopy(copy: Json, what: string, limit: LimitName): Uint8Array {
  const text = JSON.stringify(copy);
  // A UTF-16 unit takes at least a byte, so a huge text is refused before it is encoded.
  if (text.length > LIMITS[limit]) throw limitExceeded(limit, `${what} in bytes`, text.length);
  const bytes = encodeText(text);
  if (bytes.byteLength > LIMITS[limit]) throw limitExceeded(limit, `${what} in bytes`, bytes.byteLength);
  return bytes;
}

/**
 * A deep copy of a caller's JSON. Every property is read once, so the checked value is the value that is kept. JSON
 * with more text than `limit` allows is refused while it is copied: serialising it would take seconds, or more than a
 * string can hold.
 */
export function copyJson(value: unknown, what: string, limit?: LimitName): Json {
  const path: (string | number)[] = [];
  const walk: Walk = { path, chars: 0, most: limit === undefined ? Number.POSITIVE_INFINITY : LIMITS[limit] };
  try {
    return copyOf(value, 0, walk);
  } catch (cause) {
    if (cause === TOO_LONG && limit !== undefined) throw limitExceeded(limit, `${what} in bytes`, walk.chars);
    if (cause instanceof HoldfastError) throw cause;
    const fault = cause instanceof Fault ? cause : undefined;
    // The path to a value that is too deep would be hundreds of keys long.
    const where = what + (fault?.why === TOO_DEEP ? "" : path.map(step).join(""));
    if (fault === undefined) {
      throw new HoldfastError("InvalidArgument", `${where} cannot be read`, { details: { what: where }, cause });
    }
    throw new HoldfastError("InvalidJson", `${where} is not JSON: ${fault.why}`, { details: { what: where } });
  }
}

/** Why a value is not JSON. The path is collected while the recursion returns. */
class Fault {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

const TOO_LONG = new Fault("it has more text than is allowed");
const TOO_DEEP = `it is nested deeper than jsonDepth (${LIMITS.jsonDepth}) levels, or is a cycle`;

function step(key: string | number): string {
  if (typeof key === "number") return `[${key}]`;
  if (/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) && key.length <= 80) return `.${key}`;
  return `[${JSON.stringify(key.length > 80 ? `${key.slice(0, 80)}…` : key)}]`;
}

interface Walk {
  /**
   * The path of the fault, innermost key first. Filled only when there is a fault, so valid JSON costs nothing extra.
   */
  readonly path: (string | number)[];
  /** A lower bound of the JSON text so far: UTF-16 units of texts and names, each at least a byte, and punctuation. */
  chars: number;
  readonly most: number;
}

function copyOf(value: unknown, depth: number, walk: Walk): Json {
  if (depth > LIMITS.jsonDepth) throw new Fault(TOO_DEEP);
  if (typeof value === "string") return textIn(walk, value);
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new Fault(`${value} is not a JSON number`);
    return value === 0 ? 0 : value;
  }
  if (typeof value !== "object") throw new Fault(`it is ${describe(value)}`);
  if (isList(value)) return copyOfArray(value, depth, walk);
  if (!isPlain(value)) throw new Fault(`it is a ${value.constructor?.name ?? "strange"} object; give plain objects`);
  return copyOfObject(value as Readonly<Record<string, unknown>>, depth, walk);
}

function textIn(walk: Walk, text: string): string {
  walk.chars += text.length;
  if (walk.chars > walk.most) throw TOO_LONG;
  return text;
}

/**
 * An object that is referenced many times is written as often. Forty objects, each referenced twice by the one before,
 * would fill any memory.
 */
function signsIn(walk: Walk, count: number): void {
  walk.chars += count;
  if (walk.chars > walk.most) throw TOO_LONG;
}

function copyOfArray(value: readonly unknown[], depth: number, walk: Walk): Json {
  const copy: Json[] = [];
  signsIn(walk, Math.max(2, value.length + 1));
  let i = 0;
  try {
    for (; i < value.length; i++) copy.push(copyOf(value[i], depth + 1, walk));
  } catch (error) {
    walk.path.unshift(i);
    throw error;
  }
  return copy;
}

function copyOfObject(value: Readonly<Record<string, unknown>>, depth: number, walk: Walk): Json {
  const copy: Record<string, Json> = {};
  let at: string | undefined;
  try {
    for (const key of Object.keys(value)) {
      at = key;
      const item = value[key];
      // A property that is undefined is left out, as always in JSON.
      if (item === undefined) continue;
      signsIn(walk, key.length + 4);
      const copied = typeof item === "string" ? textIn(walk, item) : copyOf(item, depth + 1, walk);
      if (key !== "__proto__") copy[key] = copied;
      else Object.defineProperty(copy, key, { value: copied, configurable: true, enumerable: true, writable: true });
    }
  } catch (error) {
    if (at !== undefined) walk.path.unshift(at);
    throw error;
  }
  return copy;
}

/** An object in the sense of JSON: neither null nor a list. */
export function isObject(value: Json | undefined): value is JsonObject;
export function isObject(value: unknown): value is Readonly<Record<string, unknown>>;
export function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
