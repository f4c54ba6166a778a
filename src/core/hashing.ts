// What is hashed, and how. Canonical JSON (RFC 8785) writes each value as one byte sequence. The hash chain of a
// session's events (rule LG2) binds the session id with hash_0; hash_n = SHA-256(hash_{n-1} + canonical JSON of the
// envelope). The hashed bytes are the stored bytes: the event's row holds the envelope.
import { hash } from "node:crypto";
import type { JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import { EVENT_SCHEMA_VERSION } from "../contracts/log.ts";
import type { EventDraft } from "../contracts/storage/commit.ts";
import { encodeText, sha256 } from "./bytes.ts";

export function genesis(session: string): Uint8Array {
  return sha256(encodeText(`holdfast/1\n${session}`));
}

/** Buffer for envelopes of usual length. It can be shared because nextHash() is synchronous. */
const desk = new Uint8Array(4096);

export function nextHash(previous: Uint8Array, envelope: Uint8Array): Uint8Array {
  const length = previous.byteLength + envelope.byteLength;
  const joined = length <= desk.byteLength ? desk.subarray(0, length) : new Uint8Array(length);
  joined.set(previous, 0);
  joined.set(envelope, previous.byteLength);
  return sha256(joined);
}

const pair = new Uint8Array(48);

/** SHA-256(salt + payload's sha256), base64url. Without the salt, a guess at the payload cannot be confirmed. */
export function commitment(salt: Uint8Array, digest: Uint8Array): string {
  pair.set(salt, 0);
  pair.set(digest, 16);
  return hash("sha256", pair, "base64url");
}

/** Canonical JSON of the envelope. The code lists the keys in canonical order, so that the hot path does not sort. */
export function envelope({ agent, at, payloads, data, run, type }: EventDraft, seq: number): Uint8Array {
  const commitments = payloads === undefined ? undefined : commitmentsOf(payloads);
  return encodeText(canonicalJson({ agent, at, commitments, data, run, seq, type, v: EVENT_SCHEMA_VERSION }));
}

function commitmentsOf(payloads: NonNullable<EventDraft["payloads"]>): JsonObject {
  // A name may be "__proto__", so the property is defined and not assigned.
  const made = Object.entries(payloads).map(([name, { salt, sha256 }]) => [name, commitment(salt, sha256)] as const);
  return Object.fromEntries(made);
}

export class NotCanonical extends Error {}

/**
 * Keys are sorted by UTF-16 code units, numbers print as in ECMAScript, and only what must be escaped is escaped.
 * Throws NotCanonical for values that JSON cannot express: lone surrogates, NaN, infinities, undefined, functions,
 * cycles.
 */
export function canonicalJson(value: unknown): string {
  return ordered(value, 0, canonicalString);
}

/** The same for any value from JSON.parse. Such a value may contain lone surrogates, which are written as escapes. */
export function orderedJson(value: unknown): string {
  return ordered(value, 0, JSON.stringify);
}

/** The nesting that callers may use, plus the levels that Holdfast adds around it. */
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
    // JSON.stringify writes only lone surrogates as \ud…; a text may also contain these characters itself.
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

/**
 * Whether the keys are sorted and JSON.stringify writes every value in canonical form. This is so for most objects that
 * Holdfast makes.
 */
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

/** Cache of quoted field names: there are few names, and each is written often. */
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

/**
 * Strings compare by UTF-16 code units, as RFC 8785 requires. The keys of objects that Holdfast makes are usually
 * sorted already.
 */
function sorted(keys: string[]): readonly string[] {
  for (let i = 1; i < keys.length; i++) {
    if ((keys[i - 1] as string) > (keys[i] as string)) return keys.sort();
  }
  return keys;
}
