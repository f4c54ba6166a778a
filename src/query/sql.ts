// Pieces of SQL text with their parameters. No text ever contains a caller's value: values are `?` parameters.

export type Param = null | number | string | Uint8Array;

export interface Sql {
  readonly text: string;
  /** The parameters in the order of the `?` in the text. */
  readonly params: readonly Param[];
}

/** A fixed SQL text; never a name or a value of the caller. */
export function raw(text: string): Sql {
  return { text, params: [] };
}

export function param(value: Param): Sql {
  return { text: "?", params: [value] };
}

export function sql(strings: TemplateStringsArray, ...parts: readonly Sql[]): Sql {
  let text = strings[0] ?? "";
  const params: Param[] = [];
  for (const [i, part] of parts.entries()) {
    text += part.text + (strings[i + 1] ?? "");
    for (const one of part.params) params.push(one);
  }
  return { text, params };
}

export function join(parts: readonly Sql[], separator: string): Sql {
  const params: Param[] = [];
  for (const part of parts) for (const one of part.params) params.push(one);
  return { text: parts.map((part) => part.text).join(separator), params };
}

export const TRUE = raw("1 = 1");
export const FALSE = raw("1 = 0");

/** Joins conditions as a balanced tree where needed: engines build a tree as deep as the list and refuse deep ones. */
const FLAT = 100;

export function and(conditions: readonly Sql[]): Sql {
  if (conditions.length === 0) return TRUE;
  return conditions.length === 1 && conditions[0] !== undefined ? conditions[0] : balanced(conditions, " AND ");
}

export function or(conditions: readonly Sql[]): Sql {
  return sql`(${balanced(conditions, " OR ")})`;
}

function balanced(conditions: readonly Sql[], separator: string): Sql {
  if (conditions.length <= FLAT) return join(conditions, separator);
  return join(
    chunks(conditions, FLAT).map((some) => sql`(${join(some, separator)})`),
    separator,
  );
}

function chunks<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

/** The most SELECTs of one UNION, which engines limit. */
const UNITED = 200;

export function unite(selects: readonly Sql[]): Sql {
  if (selects.length <= UNITED) return join(selects, " UNION ");
  return join(
    chunks(selects, UNITED).map((some, i) => sql`SELECT * FROM (${join(some, " UNION ")}) AS u${raw(String(i))}`),
    " UNION ",
  );
}

/** Calls a function of SQL texts with pieces; it may use each piece any number of times. */
export function lift(make: (...texts: string[]) => string, ...parts: readonly Sql[]): Sql {
  const pieces = make(...parts.map((_, i) => `\u0001${i}\u0001`)).split("\u0001");
  return join(
    pieces.map((piece, i) => (i % 2 === 0 ? raw(piece) : (parts[Number(piece)] ?? raw("")))),
    "",
  );
}

/** A column of a table by its alias, and nothing more. */
export function isColumn({ text }: Sql): boolean {
  return /^[a-z]+\d+\.[a-z_0-9]+$/.test(text);
}
