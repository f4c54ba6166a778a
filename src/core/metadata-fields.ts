// The fields of metadata by which a filter finds an item. Each value becomes bytes whose order is the order of the values: one
// range of bytes then says any condition, in code and in an index of either engine alike.
import type { Json, JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import { compareBytes, encodeText, toHex } from "./bytes.ts";
import { limitExceeded } from "./check.ts";

/** The first byte of a value; kinds do not overlap. */
const VALUE_KINDS = { null: 1, boolean: 2, number: 3, text: 4, object: 5, list: 6 } as const;
type ValueKind = keyof typeof VALUE_KINDS;

export interface MetadataField {
  /** Names of fields joined by dots, as UTF-8. */
  readonly path: Uint8Array;
  readonly value: Uint8Array;
}

/**
 * Each field once for each of its values: a list has those of its items. A longer path than a filter may name is left out.
 * LimitExceeded: more fields than an item may have.
 */
export function fieldsOf(metadata: JsonObject): readonly MetadataField[] {
  const fields = new Map<string, MetadataField>();
  for (const [name, value] of Object.entries(metadata)) addField(fields, name, value);
  if (fields.size > LIMITS.metadataFields) throw limitExceeded("metadataFields", "metadata in fields", fields.size);
  return [...fields.values()];
}

function addField(fields: Map<string, MetadataField>, name: string, value: Json): void {
  // Each character is at least a byte.
  if (name.length > LIMITS.filterPathBytes) return;
  const path = encodeText(name);
  if (path.byteLength > LIMITS.filterPathBytes) return;
  const bytes = encodeValue(value);
  fields.set(`${toHex(path)}/${toHex(bytes)}`, { path, value: bytes });
  if (typeof value !== "object" || value === null) return;
  if (isList(value)) for (const item of value) addField(fields, name, item);
  else for (const [inner, item] of Object.entries(value)) addField(fields, `${name}.${inner}`, item);
}

/** Of an object or a list only that it is one: its fields and items have values of their own. */
export function encodeValue(value: Json): Uint8Array {
  if (value === null) return Uint8Array.of(VALUE_KINDS.null);
  if (typeof value === "boolean") return Uint8Array.of(VALUE_KINDS.boolean, value ? 1 : 0);
  if (typeof value === "number") return encodeNumber(value);
  if (typeof value === "string") return encodeString(value);
  return Uint8Array.of(isList(value) ? VALUE_KINDS.list : VALUE_KINDS.object);
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** The bits of the number, changed so that the bytes of a greater number are greater. */
function encodeNumber(value: number): Uint8Array {
  const bytes = new Uint8Array(9);
  bytes[0] = VALUE_KINDS.number;
  new DataView(bytes.buffer).setFloat64(1, value === 0 ? 0 : value);
  const isNegative = ((bytes[1] as number) & 0x80) !== 0;
  for (let i = 1; i < bytes.length; i++) bytes[i] = (bytes[i] as number) ^ (isNegative ? 0xff : i === 1 ? 0x80 : 0);
  return bytes;
}

/**
 * One byte more than a filter may compare with: that a longer text is cut there changes no comparison. A lone surrogate counts as U+FFFD.
 */
function encodeString(text: string): Uint8Array {
  const most = LIMITS.filterTextBytes + 1;
  const encoded = encodeText(text.length > most ? text.slice(0, most + 1) : text).subarray(0, most);
  const bytes = new Uint8Array(1 + encoded.byteLength);
  bytes[0] = VALUE_KINDS.text;
  bytes.set(encoded, 1);
  return bytes;
}

/** Values from `from` up to, and without, `to`. */
export interface ValueRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** Nothing is between a value and the same value with a zero byte. */
export function successorOf(value: Uint8Array): Uint8Array {
  const next = new Uint8Array(value.byteLength + 1);
  next.set(value);
  return next;
}

export function rangeOfKind(kind: ValueKind): ValueRange {
  return { from: Uint8Array.of(VALUE_KINDS[kind]), to: Uint8Array.of(VALUE_KINDS[kind] + 1) };
}

export function rangeOfAnyKind(): ValueRange {
  return { from: Uint8Array.of(0), to: Uint8Array.of(0xff) };
}

export function isInRange(value: Uint8Array, { from, to }: ValueRange): boolean {
  return compareBytes(value, from) >= 0 && compareBytes(value, to) < 0;
}
