// Canonical JSON (RFC 8785): one byte sequence per value, so that it can be hashed. Keys are sorted by UTF-16 code
// units, numbers print as ECMAScript prints them, nothing is escaped that need not be.

import { LIMITS } from "../contracts/limits.ts";

export class NotCanonical extends Error {}

/** Throws NotCanonical for what JSON cannot say: lone surrogates, NaN, infinities, undefined, functions, cycles. */
export function canonicalJson(value: unknown): string {
  return ordered(value, 0, canonicalString);
}

/** The same for any value that JSON.parse gives: it has lone surrogates as well, which stand in the text as escapes. */
export function orderedJson(value: unknown): string {
  return ordered(value, 0, JSON.stringify);
}

/** What callers may give, and what we put around it. */
const DEEPEST = LIMITS.jsonDepth + 16;

type Quote = (text: string) => string;

function ordered(value: unknown, depth: number, quote: Quote): string {
  if (depth > DEEPEST) throw new NotCanonical(`nested deeper than ${DEEPEST} levels`);
  switch (typeof value) {
    case "string":
      return quote(value);
    case "number":
      if (!Number.isFinite(value)) throw new NotCanonical(`${value} is not a JSON number`);
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? orderedArray(value, depth, quote) : orderedObject(value, depth, quote);
    default:
      throw new NotCanonical(`${typeof value} is not JSON`);
  }
}

function canonicalString(text: string): string {
  if (!text.isWellFormed()) throw new NotCanonical("a lone surrogate is not Unicode");
  return JSON.stringify(text);
}

function orderedArray(items: readonly unknown[], depth: number, quote: Quote): string {
  let text = "[";
  for (let i = 0; i < items.length; i++) text += (i === 0 ? "" : ",") + ordered(items[i], depth + 1, quote);
  return `${text}]`;
}

function orderedObject(object: object, depth: number, quote: Quote): string {
  if (isInOrder(object, depth)) {
    const text = JSON.stringify(object);
    // A lone surrogate is the only thing it writes as \ud…; a text may say that itself.
    if (quote === JSON.stringify || !text.includes("\\ud")) return text;
  }
  const keys = sorted(Object.keys(object));
  const values = object as Readonly<Record<string, unknown>>;
  let text = "";
  for (const key of keys) {
    const value = values[key];
    if (value === undefined) continue;
    text += `${text === "" ? "{" : ","}${named(key, quote)}${ordered(value, depth + 1, quote)}`;
  }
  return text === "" ? "{}" : `${text}}`;
}

/** Names in order, and behind each something that JSON.stringify writes as it is to be: what we make ourselves, as a rule. */
function isInOrder(object: object, depth: number): boolean {
  const values = object as Readonly<Record<string, unknown>>;
  if (depth > DEEPEST || Object.getPrototypeOf(object) !== Object.prototype || values.toJSON !== undefined)
    return false;
  let before = "";
  for (const key in object) {
    if (key < before) return false;
    before = key;
    const value = values[key];
    if (value !== undefined && !isAsWritten(value, depth)) return false;
  }
  return true;
}

function isAsWritten(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      return value === null || (!Array.isArray(value) && isInOrder(value, depth + 1));
    default:
      return false;
  }
}

/** Names of fields, quoted: there are few of them, and each is written often. */
const names = new Map<string, string>();
const MOST_NAMES = 256;
const LONGEST_NAME = 32;

function named(key: string, quote: Quote): string {
  const known = names.get(key);
  if (known !== undefined) return known;
  const text = `${quote(key)}:`;
  if (names.size < MOST_NAMES && key.length <= LONGEST_NAME && key.isWellFormed()) names.set(key, text);
  return text;
}

/** Strings compare by UTF-16 code units, which is the order asked for. What we make ourselves is in order as a rule. */
function sorted(keys: string[]): readonly string[] {
  for (let i = 1; i < keys.length; i++) {
    if ((keys[i - 1] as string) > (keys[i] as string)) return keys.sort();
  }
  return keys;
}
