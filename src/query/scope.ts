// The state of one SELECT during compilation: its FROM items, its conditions and the values of its variables. It
// remembers which row of which table represents an entity, so that ten facts of a call use one row and no self-join.
import type { SqlFragments } from "../contracts/storage/storage.ts";
import { parseInstant } from "../core/instant.ts";
import type { Clause, Component, Constant, Rule } from "./ast.ts";
import { invalidQuery, type SourcePosition, shorten } from "./form.ts";
import { and, FALSE, isColumn, join, raw, type Sql, sql, TRUE } from "./sql.ts";
import { equal, typeName, type Value } from "./values.ts";

/** The compilation state that a whole query shares. */
export interface Build {
  readonly fragments: SqlFragments;
  readonly rules: ReadonlyMap<string, Rule>;
  readonly components: ReadonlyMap<string, Component>;
  /** compileBody() of compile-clauses.ts: rules contain clauses, and clauses call rules. */
  readonly compileBody: (clauses: readonly Clause[], scope: Scope) => void;
  /** Named queries, each before those that use it. */
  readonly named: { readonly name: string; readonly text: Sql }[];
  /** The tables of rules that are being compiled, by the rule's name. */
  readonly current: Map<string, RuleTable>;
  readonly tables: Map<string, RuleTable>;
  aliases: number;
  clauses: number;
  /** The number of table cells that are separate parameters. */
  cells: number;
  /** The number of characters in named queries. */
  chars: number;
}

/** A rule as a table. */
export interface RuleTable {
  readonly name: string;
  /** Selects the rule's rows, if the table contains several rules. */
  readonly tag: number | null;
  readonly params: readonly { readonly type: Value["type"]; readonly columns: readonly string[] }[];
}

interface Item {
  readonly alias: string;
  readonly text: Sql;
  /** Columns that are unique among the rows; null if unknown. */
  readonly unique: readonly string[] | null;
  /** The item has few rows, which the engine cannot know: the join must start here. */
  readonly first: boolean;
}

/** A query with all values that some variables can have. */
export interface Domain {
  readonly text: Sql;
  readonly values: ReadonlyMap<string, { readonly type: Value["type"]; readonly columns: readonly string[] }>;
  readonly columns: readonly string[];
}

export interface Scope {
  readonly build: Build;
  readonly items: Item[];
  readonly where: Sql[];
  readonly vars: Map<string, Value>;
  /** Variables bound to columns of this SELECT, which a query inside FROM cannot see. */
  readonly local: Set<string>;
  /** Aliases of rows that represent an entity, in this SELECT and in the outer ones. */
  readonly rows: Map<string, string>;
  readonly outerRows: ReadonlyMap<string, string>;
  readonly equalities: (readonly [Sql, Sql])[];
  /** Clauses that this SELECT already contains. */
  readonly done: Clause[];
  /** The sources of variables that none of these clauses binds. */
  readonly domains: Domain[];
  /** Whether this is a term of a recursive query, which may read from the query itself. */
  readonly arm: boolean;
  /** The names of earlier levels: each reads from the level before it, and the SELECT reads from the last. */
  readonly levels: { readonly name: string; readonly text: Sql; readonly width: number }[];
}

export function newScope(build: Build, around: Partial<Pick<Scope, "vars" | "outerRows" | "arm">> = {}): Scope {
  return {
    build,
    items: [],
    where: [],
    vars: new Map(around.vars),
    local: new Set(),
    rows: new Map(),
    outerRows: around.outerRows ?? new Map(),
    equalities: [],
    done: [],
    domains: [],
    arm: around.arm ?? false,
    levels: [],
  };
}

/** Creates the scope of a query inside a condition: it sees its join variables and the rows of the outer SELECT. */
export function insideCondition(scope: Scope, names: readonly string[]): Scope {
  const vars = new Map(names.flatMap((name) => pair(name, scope.vars.get(name))));
  return newScope(scope.build, { vars, outerRows: new Map([...scope.outerRows, ...scope.rows]) });
}

/** Creates the scope of a query inside FROM: it sees only variables that are constant or come from further outside. */
export function insideFrom(scope: Scope, names: readonly string[]): Scope {
  const seen = names.filter((name) => !scope.local.has(name));
  const vars = new Map(seen.flatMap((name) => pair(name, scope.vars.get(name))));
  return newScope(scope.build, { vars, outerRows: scope.outerRows });
}

function pair<T>(name: string, value: T | undefined): [string, T][] {
  return value === undefined ? [] : [[name, value]];
}

export function newAlias(build: Build, letter: string): string {
  return `${letter}${build.aliases++}`;
}

export function addItem(scope: Scope, table: Sql, letter: string, unique: Item["unique"], first = false): string {
  const alias = newAlias(scope.build, letter);
  scope.items.push({ alias, text: sql`${table} AS ${raw(alias)}`, unique, first });
  return alias;
}

/** Binds the variable to the value, or adds the condition that its existing value equals it. */
export function bind(scope: Scope, name: string, value: Value, at: SourcePosition | undefined): void {
  const known = scope.vars.get(name);
  if (known !== undefined) equate(scope, known, value, at, name);
  else {
    scope.vars.set(name, value);
    if (value.constant === undefined) scope.local.add(name);
  }
}

export function equate(scope: Scope, a: Value, b: Value, at: SourcePosition | undefined, what: string): void {
  const pairs = equal(a, b, scope.build.fragments);
  if (pairs === null) throw unlike(a, b, at, what);
  if ("text" in pairs) {
    scope.where.push(pairs);
    return;
  }
  for (const [left, right] of pairs) {
    if (left.text === right.text && left.params.length === 0) continue;
    scope.where.push(sql`${left} = ${right}`);
    scope.equalities.push([left, right]);
  }
}

export function unlike(a: Value, b: Value, at: SourcePosition | undefined, what: string): Error {
  if (a.constant?.type === "keyword" || b.constant?.type === "keyword") {
    const allowed = "keywords are for attributes with a few fixed words; write other texts as strings";
    return invalidQuery(at, `${what} is compared with a keyword`, allowed);
  }
  for (const [one, other] of [
    [a, b],
    [b, a],
  ] as const) {
    if (one.constant !== undefined && other.attribute !== undefined)
      return unlikeConstant(one.constant, typeName(one.type), other.attribute, typeName(other.type), at);
  }
  const problem = `${what} is ${typeName(a.type)} and ${typeName(b.type)}`;
  return invalidQuery(at, problem, "what can never be equal is not compared; use another variable");
}

function unlikeConstant(
  { value }: Constant,
  is: string,
  { name, type }: NonNullable<Value["attribute"]>,
  takes: string,
  at: SourcePosition | undefined,
): Error {
  const isTime = type.is === "instant";
  const written = typeof value === "string" ? JSON.stringify(shorten(value)) : String(value);
  const time = typeof value === "string" && parseInstant(value) !== null ? value : "2026-01-31T12:00:00Z";
  return invalidQuery(
    at,
    `${written} is ${is}, and ${name} is ${isTime ? "a time" : takes}`,
    isTime
      ? `a time is written #inst ${JSON.stringify(time)}`
      : "what can never be equal is not compared; a text is written in quotes, a number without",
  );
}

/** `named` is false if the earlier levels are already part of the SQL. */
export function bodyText(scope: Scope, named = true): Sql {
  const from = scope.items.length === 0 ? raw("") : sql` FROM ${fromText(named ? withLevels(scope) : scope)}`;
  return scope.where.length === 0 ? from : sql`${from} WHERE ${and(scope.where)}`;
}

function withLevels(scope: Scope): Scope {
  const { levels, items } = scope;
  const last = levels.at(-1);
  if (last === undefined) return scope;
  const all = join(
    levels.map(({ text }) => text),
    ", ",
  );
  const text = sql`(WITH ${all} SELECT * FROM ${raw(last.name)}) AS ${raw(last.name)}`;
  return { ...scope, items: items.map((item) => (item.alias === last.name ? { ...item, text } : item)) };
}

/** In SQLite CROSS JOIN fixes the join order; in PostgreSQL it equals a comma. */
function fromText({ items, equalities }: Scope): Sql {
  const first = items.filter((item) => item.first);
  const touches = ({ alias }: Item, one: Sql) => one.text.startsWith(`${alias}.`);
  const isNext = (item: Item) =>
    equalities.some(
      (pair) => pair.some((one) => touches(item, one)) && pair.some((one) => first.some((f) => touches(f, one))),
    );
  const rest = items.filter((item) => !item.first);
  const ordered = [...first, ...rest.filter(isNext)].map(({ text }) => text);
  const free = rest.filter((item) => !isNext(item)).map(({ text }) => text);
  return join([...(ordered.length === 0 ? [] : [join(ordered, " CROSS JOIN ")]), ...free], ", ");
}

/** The condition that a row exists; without FROM items, the plain conditions. */
export function exists(scope: Scope): Sql {
  if (scope.where.includes(FALSE)) return FALSE;
  if (scope.items.length === 0) {
    // A compared value may be NULL, and NOT (NULL) is not true.
    return scope.where.length === 0 ? TRUE : sql`(CASE WHEN ${and(scope.where)} THEN 1 ELSE 0 END) = 1`;
  }
  return sql`EXISTS (SELECT 1${bodyText(scope)})`;
}

/**
 * Whether these columns are unique among the rows of the SELECT, so that DISTINCT is not needed. A table's row is
 * determined when its unique columns are; then all of its columns are determined, and all values equal to them.
 */
export function isDistinct(scope: Scope, columns: readonly Sql[]): boolean {
  const known = new Set(columns.filter(isColumn).map(({ text }) => text));
  const settled = new Set<string>();
  const isKnown = (one: Sql) => known.has(one.text) || settled.has(owner(one)) || isGiven(scope, one);
  for (let grown = true; grown; ) {
    grown = false;
    for (const [left, right] of scope.equalities) {
      for (const [one, other] of [
        [left, right],
        [right, left],
      ] as const) {
        if (!isKnown(one) || !isColumn(other) || isKnown(other)) continue;
        known.add(other.text);
        grown = true;
      }
    }
    for (const { alias, unique } of scope.items) {
      if (unique === null || settled.has(alias)) continue;
      if (!unique.every((name) => known.has(`${alias}.${name}`))) continue;
      settled.add(alias);
      grown = true;
    }
  }
  return scope.items.every(({ alias }) => settled.has(alias));
}

function owner({ text }: Sql): string {
  return text.slice(0, text.indexOf("."));
}

/** Whether the value does not depend on rows of this SELECT: a constant, or a look-up by constants. */
function isGiven(scope: Scope, one: Sql): boolean {
  return !scope.items.some(({ alias }) => one.text.includes(`${alias}.`));
}
