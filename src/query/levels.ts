// The result of a function is an expression, and every use of it repeats the text. Before an expression grows long, the
// SELECT so far becomes a level: a named query whose columns are the variables, so that the SQL grows with the
// number of clauses and not exponentially.
import { LIMITS } from "../contracts/limits.ts";
import { overLimit, type SourcePosition } from "./form.ts";
import { bodyText, isDistinct, newAlias, type Scope } from "./scope.ts";
import { isColumn, join, raw, type Sql, sql } from "./sql.ts";
import type { Value } from "./values.ts";

/** Longer expressions are not repeated in the SQL. */
const LONG = 400;

export function isLong({ columns, constant }: Value): boolean {
  return constant === undefined && columns.some((column) => column.text.length > LONG);
}

/** Turns everything that the SELECT has bound so far into a level, unless it reads from a recursive rule being compiled: engines
 * allow that in the SELECT itself only. */
export function level(scope: Scope, at: SourcePosition | undefined): void {
  if (isRecursive(scope)) return;
  const { build, vars, local, levels } = scope;
  const alias = newAlias(build, "l");
  const last = levels.at(-1);
  const width = last?.width ?? 0;
  const cells: Sql[] = [];
  const names = new Map<string, Sql>();
  const named = (column: Sql): Sql => {
    // Columns of the previous level are carried over unchanged.
    if (last !== undefined && isColumn(column) && column.text.startsWith(`${last.name}.`)) {
      return raw(`${alias}${column.text.slice(last.name.length)}`);
    }
    const key = JSON.stringify([column.text, ...column.params.map(String)]);
    const known = names.get(key) ?? raw(`${alias}.c${width + names.size}`);
    if (!names.has(key)) cells.push(sql`${column} AS ${raw(known.text.slice(alias.length + 1))}`);
    names.set(key, known);
    return known;
  };
  const before = [...vars].filter(([name]) => local.has(name));
  const after = before.map(([name, value]): [string, Value] => [name, asColumns(value, named)]);
  if (cells.length === 0) return;
  const columns = before.flatMap(([, value]) => value.columns);
  const unique = isDistinct(scope, columns) ? after.flatMap(([, value]) => value.columns.map(nameOf)) : null;
  const shown = last === undefined ? cells : [raw(`${last.name}.*`), ...cells];
  const text = sql`${raw(alias)} AS MATERIALIZED (SELECT ${join(shown, ", ")}${bodyText(scope, false)})`;
  levels.push({ name: alias, text, width: width + cells.length });
  build.chars += text.text.length;
  checkChars(build.chars, at);
  scope.items.splice(0, scope.items.length, { alias, text: sql`${raw(alias)} AS ${raw(alias)}`, unique, first: false });
  for (const part of [scope.where, scope.equalities]) part.length = 0;
  scope.rows.clear();
  for (const [name, value] of after) vars.set(name, value);
}

function nameOf({ text }: Sql): string {
  return text.slice(text.indexOf(".") + 1);
}

function isRecursive({ build, items }: Scope): boolean {
  return [...build.current.values()].some(({ name }) => items.some(({ text }) => text.text.startsWith(`${name} AS `)));
}

function asColumns(value: Value, named: (column: Sql) => Sql): Value {
  const { shown, blob } = value;
  return {
    ...value,
    columns: value.columns.map(named),
    ...(shown === undefined ? {} : { shown: named(shown) }),
    ...(blob === undefined ? {} : { blob: named(blob) }),
  };
}

/** Without levels, an expression can still double repeatedly, so its length is checked. */
export function checkLength({ text }: Sql, at: SourcePosition | undefined): void {
  checkChars(text.length, at);
}

function checkChars(chars: number, at: SourcePosition | undefined): void {
  if (chars > LIMITS.querySql) throw overLimit(at, "querySql", "the length of the query as SQL", chars);
}
