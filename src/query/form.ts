// EDN values as plain data. Text and JSON are both read into forms, so that queries need only one parser, and each
// form has its position, which errors show.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS, type LimitName } from "../contracts/limits.ts";

/** Line and column from 1 in a text (columns in UTF-16 units), or the path in a JSON value: `where[0][1]`. */
export type SourcePosition = { readonly line: number; readonly column: number } | { readonly path: string };

interface PlacedForm {
  readonly at?: SourcePosition | undefined;
}

export type Form =
  | (PlacedForm & { readonly kind: "nil" })
  | (PlacedForm & { readonly kind: "boolean"; readonly value: boolean })
  | (PlacedForm & { readonly kind: "int" | "float"; readonly value: number })
  | (PlacedForm & { readonly kind: "string" | "char" | "uuid"; readonly value: string })
  /** Epoch milliseconds. */
  | (PlacedForm & { readonly kind: "inst"; readonly value: number })
  /** A keyword's name begins with its colon. */
  | (PlacedForm & { readonly kind: "keyword" | "symbol"; readonly name: string })
  | (PlacedForm & { readonly kind: "list" | "vector" | "set"; readonly items: readonly Form[] })
  | (PlacedForm & { readonly kind: "map"; readonly entries: readonly (readonly [Form, Form])[] });

export type Sequence = Extract<Form, { kind: "list" | "vector" | "set" }>;

export function symbol(name: string, at?: SourcePosition): Form {
  return { kind: "symbol", name, at };
}

export function keyword(name: string, at?: SourcePosition): Form {
  return { kind: "keyword", name, at };
}

export function list(items: readonly Form[], at?: SourcePosition): Form {
  return { kind: "list", items, at };
}

export function vector(items: readonly Form[], at?: SourcePosition): Form {
  return { kind: "vector", items, at };
}

export function isSymbol(form: Form | undefined, name: string): boolean {
  return form?.kind === "symbol" && form.name === name;
}

const NAME_START = "(?:[A-Za-z*!_?$%&=<>]|[-+.](?![0-9]))";
const NAME_REST = "[-A-Za-z0-9.*+!_?$%&=<>]{0,254}";
const KEYWORD_PART = "[-A-Za-z0-9.*+!_?$%&=<>]{1,255}";

/** Names are ASCII, at most 255 characters on either side of the one "/" they may hold; "/" alone is division. */
export const SYMBOL = new RegExp(`^(?:/|${NAME_START}${NAME_REST}(?:/${NAME_START}${NAME_REST})?)$`);
export const KEYWORD = new RegExp(`^:${KEYWORD_PART}(?:/${KEYWORD_PART})?$`);

/** Matches the name of a variable: `?x`. */
export const VARIABLE = /^\?[-A-Za-z0-9.*+!_?$%&=<>]{1,254}$/;

/** Doubles beyond this cannot be distinguished from their neighbours, so answers about them would be wrong. */
export function isExact(value: number): boolean {
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
}

export function describePosition(at: SourcePosition): string {
  return "path" in at ? at.path : `${at.line}:${at.column}`;
}

/** The error for a mistake in a query: the problem, its position, and as a hint what is allowed there. */
export function invalidQuery(at: SourcePosition | undefined, problem: string, allowed?: string): HoldfastError {
  return new HoldfastError("InvalidQuery", at === undefined ? problem : `${problem} (at ${describePosition(at)})`, {
    details: { ...at },
    ...(allowed === undefined ? {} : { hint: allowed }),
  });
}

export function overLimit(
  at: SourcePosition | undefined,
  limit: LimitName,
  what: string,
  actual: number,
): HoldfastError {
  const place = at === undefined ? "" : ` (at ${describePosition(at)})`;
  return new HoldfastError("LimitExceeded", `${what} is ${actual}; the limit ${limit} is ${LIMITS[limit]}${place}`, {
    details: { limit, max: LIMITS[limit], actual, ...at },
  });
}

/** Shortens a text for an error. */
export function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 57).toWellFormed()}...`;
}
