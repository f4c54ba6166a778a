// Pieces of SQL text that carry their parameters. Nothing of the caller's ever gets into a text: a value is a `?`.

export type Param = null | number | string | Uint8Array;

export interface Sql {
  readonly text: string;
  /** In the order of the `?` in the text. */
  readonly params: readonly Param[];
}

/** Text of our own; never a name or a value of the caller's. */
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

export function and(conditions: readonly Sql[]): Sql {
  if (conditions.length === 0) return TRUE;
  return conditions.length === 1 && conditions[0] !== undefined ? conditions[0] : join(conditions, " AND ");
}

/** Hands pieces to a function of texts, which may use each of them any number of times. */
export function lift(make: (...texts: string[]) => string, ...parts: readonly Sql[]): Sql {
  const pieces = make(...parts.map((_, i) => `\u0001${i}\u0001`)).split("\u0001");
  return join(
    pieces.map((piece, i) => (i % 2 === 0 ? raw(piece) : (parts[Number(piece)] ?? raw("")))),
    "",
  );
}

export function same(a: Sql, b: Sql): boolean {
  return a.text === b.text && a.params.length === b.params.length && a.params.every((one, i) => one === b.params[i]);
}

/** A column of a table by its alias, and nothing more. */
export function isColumn({ text }: Sql): boolean {
  return /^[a-z]+\d+\.[a-z_0-9]+$/.test(text);
}
