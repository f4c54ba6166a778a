// Checks of what callers hand in, at the door: hostile or mistaken input becomes a typed error before anything is
// written. Callers may be plain JavaScript, so types are not believed.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS, type LimitName } from "../contracts/limits.ts";
import { encodeText, fromRef } from "./bytes.ts";

export function limitExceeded(limit: LimitName, what: string, actual: number): HoldfastError {
  return new HoldfastError("LimitExceeded", `${what} is ${actual}; the limit ${limit} is ${LIMITS[limit]}`, {
    details: { limit, max: LIMITS[limit], actual },
  });
}

export function invalid(what: string, wanted: string, got: unknown): HoldfastError {
  return new HoldfastError("InvalidArgument", `${what} must be ${wanted}, not ${describe(got)}`, { details: { what } });
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return value.length > 40 ? "that text" : JSON.stringify(value);
  return typeof value === "object" ? "an object" : typeof value;
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

/** A page size: the limit's value is the default and the most. */
export function checkLimit(value: unknown, limit: LimitName, fallback?: number, what = "limit"): number {
  if (value === undefined) return fallback ?? LIMITS[limit];
  const n = checkInt(value, what, 0, Number.MAX_SAFE_INTEGER);
  if (n > LIMITS[limit]) throw limitExceeded(limit, what, n);
  return n;
}

export function checkBoolean(value: unknown, what: string): boolean {
  if (typeof value !== "boolean") throw invalid(what, "true or false", value);
  return value;
}

export function checkArray(value: unknown, what: string, limit: LimitName): readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(what, "an array", value);
  if (value.length > LIMITS[limit]) throw limitExceeded(limit, `${what} in items`, value.length);
  return value;
}

/** An options bag or input record; when `known` says of which fields, with no other. undefined gives {}. */
export function checkRecord(
  value: unknown,
  what: string,
  known?: readonly string[],
): Readonly<Record<string, unknown>> {
  if (value === undefined) return {};
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(what, "an object", value);
  const record = value as Readonly<Record<string, unknown>>;
  if (known !== undefined) checkFields(record, what, known);
  return record;
}

/** A field nobody reads is a mistake that would otherwise be kept silent. */
export function checkFields(value: Readonly<Record<string, unknown>>, what: string, known: readonly string[]): void {
  const stray = Object.keys(value).find((name) => !known.includes(name) && value[name] !== undefined);
  if (stray !== undefined) throw invalid(what, `made of ${known.join(", ")}`, stray);
}

/** What JSON can hold as an object: no Date, no Map, no instance of a class. */
export function checkPlain(value: unknown, what: string): Readonly<Record<string, unknown>> {
  const record = checkRecord(value, what);
  if (value === undefined || !isPlain(record)) throw invalid(what, "a plain object", value);
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

/** Distinct ids, in the order given. */
export function checkTags(value: unknown, what: string, limit: LimitName = "tags"): readonly string[] {
  return [...new Set(checkArray(value, what, limit).map((tag, i) => checkId(tag, `${what}[${i}]`)))];
}

export function checkRef(value: unknown, what = "ref"): Uint8Array {
  const digest = typeof value === "string" ? fromRef(value) : null;
  if (digest === null) throw invalid(what, "a blob ref like sha256:<64 hex digits>", value);
  return digest;
}

/**
 * The bytes of caller JSON exactly as it serialises. Refuses what would not come back: undefined in a list, functions, symbols,
 * BigInt, NaN, infinities, cycles, toJSON surprises such as Date or Map, and nesting deeper than jsonDepth.
 */
export function encodeJson(value: unknown, what: string, limit: LimitName): Uint8Array {
  checkJson(value, what, 0);
  const text = JSON.stringify(value);
  // UTF-8 takes at least a byte a unit: refuse the enormous before encoding it.
  if (text.length > LIMITS[limit]) throw limitExceeded(limit, `${what} in bytes`, text.length);
  const bytes = encodeText(text);
  if (bytes.byteLength > LIMITS[limit]) throw limitExceeded(limit, `${what} in bytes`, bytes.byteLength);
  return bytes;
}

function notJson(what: string, why: string): HoldfastError {
  return new HoldfastError("InvalidJson", `${what} is not JSON: ${why}`, { details: { what } });
}

function checkJson(value: unknown, what: string, depth: number): void {
  if (depth > LIMITS.jsonDepth) {
    throw notJson(what, `it is nested deeper than jsonDepth (${LIMITS.jsonDepth}) levels, or is a cycle`);
  }
  if (value === null || typeof value === "boolean" || typeof value === "string") return;
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw notJson(what, `${value} is not a JSON number`);
    return;
  }
  if (typeof value !== "object") throw notJson(what, `it holds a ${typeof value}`);
  if (Array.isArray(value)) {
    for (const item of value) checkJson(item, what, depth + 1);
    return;
  }
  if (!isPlain(value)) {
    throw notJson(what, `it holds a ${value.constructor?.name ?? "strange"} object; give plain objects`);
  }
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key];
    // A property that is undefined is a property that is not there, as everywhere in JSON.
    if (item !== undefined) checkJson(item, what, depth + 1);
  }
}
