// Canonical JSON (RFC 8785): one byte sequence per value, so that it can be hashed. Keys are sorted by UTF-16 code
// units, numbers print as ECMAScript prints them, nothing is escaped that need not be.

export class NotCanonical extends Error {}

/** Throws NotCanonical for what JSON cannot say: lone surrogates, NaN, infinities, undefined, functions, cycles. */
export function canonicalJson(value: unknown, depth = 0): string {
  if (depth > 512) throw new NotCanonical("nested deeper than 512 levels");
  switch (typeof value) {
    case "string":
      return canonicalString(value);
    case "number":
      if (!Number.isFinite(value)) throw new NotCanonical(`${value} is not a JSON number`);
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? canonicalArray(value, depth) : canonicalObject(value, depth);
    default:
      throw new NotCanonical(`${typeof value} is not JSON`);
  }
}

function canonicalString(text: string): string {
  if (!text.isWellFormed()) throw new NotCanonical("a lone surrogate is not Unicode");
  return JSON.stringify(text);
}

function canonicalArray(items: readonly unknown[], depth: number): string {
  let text = "[";
  for (let i = 0; i < items.length; i++) text += (i === 0 ? "" : ",") + canonicalJson(items[i], depth + 1);
  return `${text}]`;
}

function canonicalObject(object: object, depth: number): string {
  // Strings compare by UTF-16 code units, which is the order asked for.
  const keys = Object.keys(object).sort();
  const values = object as Readonly<Record<string, unknown>>;
  let text = "";
  for (const key of keys) {
    const value = values[key];
    if (value === undefined) continue;
    text += `${text === "" ? "{" : ","}${canonicalString(key)}:${canonicalJson(value, depth + 1)}`;
  }
  return text === "" ? "{}" : `${text}}`;
}
