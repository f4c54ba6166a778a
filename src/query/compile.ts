// Compiles a query to one SELECT with parameters. The set of rows comes first; it is made distinct only if it might not
// be, aggregated, ordered and limited, and only then are keys converted to readable ids.
import { LIMITS } from "../contracts/limits.ts";
import type { SqlFragments } from "../contracts/storage/storage.ts";
import type { AggregateName, Clause, FindElement, Order, PullPattern, Query } from "./ast.ts";
import { valueIn } from "./bindings.ts";
import { compileBody } from "./compile-clauses.ts";
import { elementVariable } from "./find.ts";
import { invalidQuery, overLimit } from "./form.ts";
import { KINDS, type KindName } from "./kinds.ts";
import { checkLength } from "./levels.ts";
import { type Build, bodyText, isDistinct, newScope, type Scope } from "./scope.ts";
import { isColumn, join, param, raw, type Sql, sql } from "./sql.ts";
import { only, textOf, typeName, type Value, valueFrom } from "./values.ts";

/** How columns of the answer become a value that the caller gets. */
export type Output =
  | { readonly kind: "value"; readonly boolean: boolean; readonly isUsd?: boolean }
  | { readonly kind: "pull"; readonly of: KindName; readonly width: number; readonly pattern: PullPattern };

export interface CompiledQuery {
  readonly sql: string;
  readonly params: Sql["params"];
  readonly outputs: readonly Output[];
}

function newBuild(query: Pick<Query, "rules">, fragments: SqlFragments): Build {
  const { rules, components } = query.rules;
  return {
    fragments: fragments,
    rules: new Map(rules.map((rule) => [rule.name, rule])),
    components: new Map(components.flatMap((one) => one.rules.map((name) => [name, one] as const))),
    compileBody,
    named: [],
    current: new Map(),
    tables: new Map(),
    aliases: 0,
    clauses: 0,
    cells: 0,
    chars: 0,
  };
}

/** The SELECT returns at most `most` rows, plus one if there are more. */
export function compileQuery(query: Query, fragments: SqlFragments, most: number): CompiledQuery {
  const build = newBuild(query, fragments);
  const scope = newScope(build);
  const inputs = query.inputs.map(
    (table): Clause => ({
      kind: "ground",
      table,
      needs: [],
      binds: table.columns.flatMap((name) => (name === null ? [] : [name])),
      at: table.at,
    }),
  );
  compileBody([...inputs, ...query.where], scope);
  const body = answer(query, scope);
  const isOne = query.find.shape === "tuple" || query.find.shape === "scalar";
  const limit = Math.min(isOne ? 1 : most + 1, query.limit ?? most + 1);
  const text = sql`${namedText(build)}${body.text} LIMIT ${param(limit)} OFFSET ${param(query.offset)}`;
  checkLength(text, undefined);
  const values = text.params.length;
  if (values > LIMITS.queryParams)
    throw overLimit(undefined, "queryParams", "the number of values in the query", values);
  return { sql: text.text, params: text.params, outputs: body.outputs };
}

function namedText({ named }: Build): Sql {
  if (named.length === 0) return raw("");
  return sql`WITH RECURSIVE ${join(
    named.map((one) => one.text),
    ", ",
  )} `;
}

function answer(query: Query, scope: Scope): { readonly text: Sql; readonly outputs: readonly Output[] } {
  const { elements } = query.find;
  const names = [...new Set([...elements.map(elementVariable), ...query.with])];
  const columns = names.flatMap((name) => valueIn(scope, name).columns);
  const grouped = elements.some((element) => element.kind === "aggregate");
  // Grouping by columns is reliable; engines may not recognise repeated expressions.
  const distinct = isDistinct(scope, columns);
  const isFlat = distinct && (!grouped || columns.every(isColumn));
  const set = isFlat ? flat(names, scope, grouped) : nested(names, scope, distinct);
  const cells = elements.map((element) => cellOf(element, set.values, scope.build));
  const shown = cells.flatMap(({ columns: own }) => own).map((column, i) => sql`${column} AS c${raw(String(i))}`);
  const keys = elements.flatMap((element) =>
    element.kind === "aggregate" ? [] : lookUp(set.values, elementVariable(element)).columns,
  );
  const group = !grouped
    ? raw("")
    : keys.length === 0
      ? raw(" HAVING count(*) > 0")
      : sql` GROUP BY ${join(keys, ", ")}`;
  const order = orderText(query.orderBy, elements, set.values, scope.build);
  return {
    text: sql`SELECT ${join(shown, ", ")}${set.from}${group}${order}`,
    outputs: cells.map(({ output }) => output),
  };
}

interface RowSet {
  readonly from: Sql;
  readonly values: ReadonlyMap<string, Value>;
}

function flat(names: readonly string[], scope: Scope, grouped: boolean): RowSet {
  const values = names.map((name): [string, Value] => {
    const { shown, ...value } = valueIn(scope, name);
    return [name, grouped || shown === undefined ? value : { ...value, shown }];
  });
  return { from: bodyText(scope), values: new Map(values) };
}

function nested(names: readonly string[], scope: Scope, distinct: boolean): RowSet {
  const values = new Map<string, Value>();
  const cells: Sql[] = [];
  for (const name of names) {
    const { type, columns } = valueIn(scope, name);
    const own = columns.map((column) => {
      cells.push(sql`${column} AS i${raw(String(cells.length))}`);
      return `d.i${cells.length - 1}`;
    });
    values.set(name, valueFrom(type, own));
  }
  return {
    from: sql` FROM (SELECT ${raw(distinct ? "" : "DISTINCT ")}${join(cells, ", ")}${bodyText(scope)}) AS d`,
    values,
  };
}

function lookUp(values: ReadonlyMap<string, Value>, name: string): Value {
  const value = values.get(name);
  if (value === undefined) throw new Error(`bug: ${name} is not in the set of rows`);
  return value;
}

interface Cell {
  readonly columns: readonly Sql[];
  readonly output: Output;
}

function cellOf(element: FindElement, values: ReadonlyMap<string, Value>, { fragments }: Build): Cell {
  const value = lookUp(values, elementVariable(element));
  switch (element.kind) {
    case "variable":
      return { columns: [shownAs(value, fragments)], output: { kind: "value", boolean: value.type.is === "boolean" } };
    case "aggregate": {
      const { type } = value;
      const isUsd = type.is === "real" && type.isUsd === true && isSum(element.name);
      const output = { kind: "value", boolean: keepsType(element.name) && type.is === "boolean", isUsd } as const;
      return { columns: [aggregate(element, value, fragments)], output };
    }
    case "pull": {
      const { type } = value;
      if (type.is !== "entity") {
        throw invalidQuery(element.at, `${element.of} is ${typeName(type)}, and pull takes an entity`);
      }
      const { pattern } = element;
      return { columns: value.columns, output: { kind: "pull", of: type.kind, width: value.columns.length, pattern } };
    }
  }
}

export function shownAs(value: Value, fragments: SqlFragments): Sql {
  return value.type.is === "entity" || value.type.is === "ref" ? textOf(value, fragments) : only(value);
}

const isSum = (name: AggregateName) => name === "sum" || name === "avg";
const keepsType = (name: AggregateName) => name === "min" || name === "max";

function aggregate({ name, of, at }: FindElement & { kind: "aggregate" }, value: Value, fragments: SqlFragments): Sql {
  const { type } = value;
  switch (name) {
    case "count":
      return raw("count(*)");
    case "count-distinct":
      return sql`count(DISTINCT ${value.columns.length === 1 ? only(value) : textOf(value, fragments)})`;
    case "min":
    case "max":
      return sql`${raw(name)}(${shownAs(value, fragments)})`;
    case "sum":
    case "avg":
      if (type.is === "nothing") return raw("NULL");
      if (type.is !== "int" && type.is !== "real") {
        throw invalidQuery(at, `${name} takes numbers, and ${of} is ${typeName(type)}`);
      }
      return sql`${raw(name)}(CAST(${only(value)} AS ${raw(fragments.real)}))`;
  }
}

function orderText(
  orders: readonly Order[],
  elements: readonly FindElement[],
  values: ReadonlyMap<string, Value>,
  build: Build,
): Sql {
  const keys = orders.flatMap(({ by, direction }) => {
    const element = "find" in by ? elements[by.find] : undefined;
    const own =
      element?.kind === "aggregate"
        ? [aggregate(element, lookUp(values, element.of), build.fragments)]
        : sortKeys(
            lookUp(values, "with" in by ? by.with : element === undefined ? "" : elementVariable(element)),
            build,
          );
    return own.map((key) => sql`${key}${raw(direction === "desc" ? " DESC" : "")}`);
  });
  return keys.length === 0 ? raw("") : sql` ORDER BY ${join(keys, ", ")}`;
}

function sortKeys(value: Value, { fragments }: Build): readonly Sql[] {
  if (value.constant !== undefined) return [];
  if (value.type.is !== "entity") return [shownAs(value, fragments)];
  return value.shown === undefined ? KINDS[value.type.kind].order(value.columns, fragments) : [value.shown];
}
