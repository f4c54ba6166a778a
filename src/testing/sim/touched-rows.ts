// Finds the rows that a statement locks or changes before it runs, because PostgreSQL would lock them. Our statements
// have few forms, so counting parentheses finds their outermost clauses.
import type { Param } from "../../storage/sql/driver.ts";

export interface RowQuery {
  /** One column r0, r1 … for each of the tables: the number of its row. */
  readonly sql: string;
  readonly params: readonly Param[];
  readonly tables: readonly string[];
}

interface Clause {
  readonly text: string;
  readonly params: readonly Param[];
}

/** The table that a statement changes; null for one that only reads. */
export function writtenTable(sql: string): string | null {
  return /^\s*(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)/.exec(sql)?.[1] ?? null;
}

/** Of an UPDATE, a DELETE or a SELECT whose rows are locked; null for an INSERT. */
export function touchedRows(sql: string, params: readonly Param[]): RowQuery | null {
  const clauses = split(sql, params);
  if (clauses.has("INSERT")) return null;
  const where = clauses.get("WHERE");
  const from = clauses.get("FROM");
  const updated = clauses.get("UPDATE");
  if (updated !== undefined) return rowQuery([updated.text], updated, from, where);
  if (from === undefined) return null;
  const tables = clauses.has("DELETE") ? [from.text] : from.text.split(" JOIN ");
  return rowQuery(tables, from, undefined, where);
}

function rowQuery(
  tables: readonly string[],
  first: Clause,
  second: Clause | undefined,
  where: Clause | undefined,
): RowQuery {
  const named = tables.map((one) => /^(\w+)(?: (?:AS )?(?!ON\b)(\w+))?/.exec(one.trim()) ?? [one, one]);
  const rows = named.map(([, table, alias], i) => `${alias ?? table}.rowid AS r${i}`);
  const sources = second === undefined ? first.text : `${first.text}, ${second.text}`;
  const condition = where === undefined ? "" : ` WHERE ${where.text}`;
  return {
    sql: `SELECT ${rows.join(", ")} FROM ${sources}${condition}`,
    params: [...first.params, ...(second?.params ?? []), ...(where?.params ?? [])],
    tables: named.map(([, table]) => String(table)),
  };
}

const KEYWORD = /[()?]|\b(?:SELECT|UPDATE|DELETE|SET|FROM|WHERE|INSERT)\b/g;

/** The outermost clauses by their keywords, each with its own parameters. */
function split(sql: string, params: readonly Param[]): ReadonlyMap<string, Clause> {
  const clauses = new Map<string, Clause>();
  let depth = 0;
  let used = 0;
  let open = { keyword: "", start: 0, used: 0 };
  const close = (end: number) => {
    clauses.set(open.keyword, { text: sql.slice(open.start, end).trim(), params: params.slice(open.used, used) });
  };
  for (const { 0: found, index } of sql.matchAll(KEYWORD)) {
    if (found === "(") depth++;
    else if (found === ")") depth--;
    else if (found === "?") used++;
    else if (depth === 0) {
      close(index);
      open = { keyword: found, start: index + found.length, used };
    }
  }
  close(sql.length);
  return clauses;
}
