// One SELECT while it is put together: what it reads from, its conditions, what its variables stand for. It remembers
// which row of which table stands for an entity already, so that ten facts of a call are one row and no self-join.
import type { SqlFragments } from "../contracts/storage/storage.ts";
import { parseInstant } from "../core/instant.ts";
import type { Clause, Component, Constant, Rule } from "./ast.ts";
import { invalidQuery, type SourcePosition, shorten } from "./form.ts";
import { and, FALSE, isColumn, join, raw, type Sql, sql, TRUE } from "./sql.ts";
import { equal, typeName, type Value } from "./values.ts";

/** What a whole query shares while it is compiled. */
export interface Build {
  readonly fragments: SqlFragments;
  readonly rules: ReadonlyMap<string, Rule>;
  readonly components: ReadonlyMap<string, Component>;
  /** compileBody() of compile-clauses.ts: rules contain clauses, and clauses call rules. */
  readonly compileBody: (clauses: readonly Clause[], scope: Scope) => void;
  /** Queries with names, those that others use first. */
  readonly named: { readonly name: string; readonly text: Sql }[];
  /** What a call of a rule that is just being compiled refers to. */
  readonly current: Map<string, RuleTable>;
  readonly tables: Map<string, RuleTable>;
  aliases: number;
  clauses: number;
  /** Cells of tables that are given one by one. */
  cells: number;
  /** Characters of what was given a name. */
  chars: number;
}

/** A rule as something to read from. */
export interface RuleTable {
  readonly name: string;
  /** Which rows of it are the rule's, when it holds several rules. */
  readonly tag: number | null;
  readonly params: readonly { readonly type: Value["type"]; readonly columns: readonly string[] }[];
}

interface Item {
  readonly alias: string;
  readonly text: Sql;
  /** No two of its rows are alike in these columns; null when that is not known. */
  readonly unique: readonly string[] | null;
  /** It holds few rows, and the engine cannot know: it is to begin here. */
  readonly first: boolean;
}

/** All values that variables can have, as a query. */
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
  /** Variables that stand for columns of this SELECT; a query inside FROM cannot see those. */
  readonly local: Set<string>;
  /** Rows that stand for an entity, of this SELECT and of those around it. */
  readonly rows: Map<string, string>;
  readonly outerRows: ReadonlyMap<string, string>;
  readonly equalities: (readonly [Sql, Sql])[];
  /** Clauses this SELECT has taken in. */
  readonly done: Clause[];
  /** Where variables come from that none of those clauses binds. */
  readonly domains: Domain[];
  /** It is a term of a recursive query, and may read from what is being made. */
  readonly arm: boolean;
  /** What was found before, by name: each reads from the one before it, and the SELECT from the last. */
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

/** A query inside a condition: it sees the variables it joins on, and the rows of the SELECT it stands in. */
export function insideCondition(scope: Scope, names: readonly string[]): Scope {
  const vars = new Map(names.flatMap((name) => pair(name, scope.vars.get(name))));
  return newScope(scope.build, { vars, outerRows: new Map([...scope.outerRows, ...scope.rows]) });
}

/** A query inside FROM: of the variables it sees those that are constant or come from further out. */
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

/** The variable stands for this value, or what it stands for already is equal to it. */
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

/** `named` is false where the levels before it have been written already. */
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

/** To SQLite a CROSS JOIN says which comes first; to PostgreSQL it is a comma. */
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

/** Whether there is a row; a condition by itself when nothing is read for it. */
export function exists(scope: Scope): Sql {
  if (scope.where.includes(FALSE)) return FALSE;
  if (scope.items.length === 0) {
    // What is compared may be NULL, and NOT NULL would be neither.
    return scope.where.length === 0 ? TRUE : sql`(CASE WHEN ${and(scope.where)} THEN 1 ELSE 0 END) = 1`;
  }
  return sql`EXISTS (SELECT 1${bodyText(scope)})`;
}

/**
 * Whether no two rows of the SELECT are alike in these columns: then there is nothing to make distinct. A table's row is
 * settled when what makes it unique is; with it all of its columns are, and whatever equals them.
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

/** It does not depend on the rows of this SELECT: a constant, or a look-up by constants. */
function isGiven(scope: Scope, one: Sql): boolean {
  return !scope.items.some(({ alias }) => one.text.includes(`${alias}.`));
}
