// Checks of what callers hand in, at the door: hostile or mistaken input becomes a typed error before anything is
// written. Callers may be plain JavaScript, so types are not believed.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import { LIMITS, type LimitName } from "../contracts/limits.ts";
import { encodeText, fromRef } from "./bytes.ts";
import { suggestNames } from "./distance.ts";

export function limitExceeded(limit: LimitName, what: string, actual: number): HoldfastError {
  return new HoldfastError("LimitExceeded", `${what} is ${actual}; the limit ${limit} is ${LIMITS[limit]}`, {
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
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Well-formed Unicode without NUL, 1 to idBytes bytes: any such text is a fine id, whatever it looks like. */
export function checkId(value: unknown, what: string): string {
  if (typeof value !== "string") throw invalid(what, "a string", value);
  const fail = (why: string) => new HoldfastError("InvalidId", `${what} ${why}`, { details: { what } });
  if (value === "") throw fail("is empty");
  if (value.includes("\0")) throw fail("holds a NUL character");
  if (!value.isWellFormed()) throw fail("holds a lone surrogate, which is not Unicode");
  // Four bytes a UTF-16 unit is the most UTF-8 can take: only ids near the limit are measured.
  if (value.length * 3 > LIMITS.idBytes && Buffer.byteLength(value) > LIMITS.idBytes) {
    throw fail(`has ${Buffer.byteLength(value)} bytes; the limit idBytes is ${LIMITS.idBytes}`);
  }
  return value;
}

export function checkOptionalId(value: unknown, what: string): string | undefined {
  return value === undefined ? undefined : checkId(value, what);
}

/** Text people read; NUL is fine, a lone surrogate is not. */
export function checkText(value: unknown, what: string, limit: LimitName): string {
  if (typeof value !== "string") throw invalid(what, "a string", value);
  // UTF-8 takes at least a byte a unit: refuse the enormous before looking at it.
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

export function checkArray(value: unknown, what: string, limit: LimitName): readonly unknown[] {
  if (!isList(value)) throw invalid(what, "an array", value);
  return reading(what, () => {
    if (value.length > LIMITS[limit]) throw limitExceeded(limit, `${what} in items`, value.length);
    return Array.from(value);
  });
}

/** A proxy whose handler was taken away says nothing about itself, and throws when it is asked. */
export function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

/** What callers hand in may be read by their own code, a getter or a proxy: when that throws, it is their mistake. */
export function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw readingError(what, cause);
  }
}

/** What to throw when reading a caller's value threw: the error of a check as it is, and a typed one for that of a getter or a proxy. */
export function readingError(what: string, cause: unknown): HoldfastError {
  if (cause instanceof HoldfastError) return cause;
  return new HoldfastError("InvalidArgument", `${what} cannot be read`, {
    hint: "Give plain data: a getter or a proxy in it threw the error that is the cause of this one.",
    details: { what },
    cause,
  });
}

/**
 * An options bag or input record; when `known` says of which fields, with no other. undefined gives {}. It is a copy, so
 * that a property is read once and cannot be something else the next time.
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

/** An unknown field is a mistake that would otherwise go unnoticed. */
export function checkFields(value: Readonly<Record<string, unknown>>, what: string, known: readonly string[]): void {
  const stray = Object.keys(value).find((name) => !known.includes(name) && value[name] !== undefined);
  if (stray === undefined) return;
  const names = suggestNames(stray, known);
  throw invalid(what, `made of ${known.join(", ")}`, stray, names === "" ? undefined : `Did you mean ${names}?`);
}

/** What JSON can hold as an object: no Date, no Map, no instance of a class. */
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
 * The bytes of caller JSON exactly as it serialises. Refuses what would not come back: undefined in a list, functions, symbols,
 * BigInt, NaN, infinities, cycles, toJSON surprises such as Date or Map, and nesting deeper than jsonDepth. Only -0 comes
 * back as 0, as everywhere in JSON.
 */
export function encodeJson(value: unknown, what: string, limit: LimitName): Uint8Array {
  return encodeCopy(copyJson(value, what, limit), what, limit);
}

/** The bytes of what copyJson gave. */
export function encodeCopy(copy: Json, what: string, limit: LimitName): Uint8Array {
  const text = JSON.stringify(copy);
  // UTF-8 takes at least a byte a unit: refuse the enormous before encoding it.
  if (text.length > LIMITS[limit]) throw limitExceeded(limit, `${what} in bytes`, text.length);
  const bytes = encodeText(text);
  if (bytes.byteLength > LIMITS[limit]) throw limitExceeded(limit, `${what} in bytes`, bytes.byteLength);
  return bytes;
}

/**
 * A copy of caller JSON that shares nothing with it: every property is read once, so what is checked is what is kept. What
 * has more text than `limit` allows is refused on the way: writing it out would take seconds, or more than a string holds.
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
    // The way to what is too deep would be hundreds of keys long.
    const where = what + (fault?.why === TOO_DEEP ? "" : path.map(step).join(""));
    if (fault === undefined) {
      throw new HoldfastError("InvalidArgument", `${where} cannot be read`, { details: { what: where }, cause });
    }
    throw new HoldfastError("InvalidJson", `${where} is not JSON: ${fault.why}`, { details: { what: where } });
  }
}

/** Why a value is no JSON; the path that is gathered on the way out says where. */
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
  /** Filled, from the inside out, only when something is wrong: good JSON pays nothing for it. */
  readonly path: (string | number)[];
  /** What all of it so far takes as JSON, at least: UTF-16 units of texts and names, each at least a byte, and signs. */
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

/** Objects that are named many times are written as often: forty of them, each twice in the one before, would fill any memory. */
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
      // A property that is undefined is a property that is not there, as everywhere in JSON.
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
