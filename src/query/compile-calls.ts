// Compiles predicates, functions and tables of constants to SQL. Arithmetic uses doubles, as in JSON; a call without a
// result (a division by zero, a range outside of a text) yields no row.
import type { Argument, Constant, FunctionCall, FunctionName, Predicate, Rows } from "./ast.ts";
import { invalidQuery, type SourcePosition } from "./form.ts";
import { checkLength, isLong, level } from "./levels.ts";
import { addItem, type Build, bind, type Scope, unlike } from "./scope.ts";
import { and, FALSE, join, lift, param, raw, type Sql, sql } from "./sql.ts";
import {
  constantParam,
  constantType,
  constantValue,
  equal,
  mergeTypes,
  only,
  type Type,
  textOf,
  typeName,
  type Value,
  valueFrom,
} from "./values.ts";

/**
 * A table with more cells, or one beyond the total, becomes a single parameter, because engines limit the number of
 * parameters.
 */
const MANY_CELLS = 2000;
const ALL_CELLS = 10_000;

function argument(arg: Argument, scope: Scope): Value {
  if (arg.kind === "constant") return constantValue(arg.value, scope.build.fragments);
  const value = scope.vars.get(arg.name);
  if (value === undefined) throw new Error(`bug: ${arg.name} is not bound`);
  return value;
}

const describe = (arg: Argument) => (arg.kind === "variable" ? arg.name : "a constant");

/** The arguments, each short enough to be repeated in the SQL. */
function argumentsOf({ args, at }: Predicate | FunctionCall, scope: Scope): readonly Value[] {
  if (args.some((arg) => isLong(argument(arg, scope)))) level(scope, at);
  return args.map((arg) => argument(arg, scope));
}

export function compilePredicate(clause: Predicate, scope: Scope): void {
  const values = argumentsOf(clause, scope);
  if (values.some((value) => value.type.is === "nothing")) {
    scope.where.push(FALSE);
    return;
  }
  const pairs = values.slice(1).map((value, i) => [values[i], value, clause.args[i]] as const);
  const conditions = pairs.flatMap(([a, b, arg]) =>
    a === undefined || arg === undefined ? [] : [compare(clause, a, b, describe(arg), scope.build)],
  );
  scope.where.push(clause.name === "not=" ? sql`NOT (${and(conditions)})` : and(conditions));
}

function compare({ name, at }: Predicate, a: Value, b: Value, what: string, { fragments }: Build): Sql {
  switch (name) {
    case "=":
    case "not=": {
      const pairs = equal(a, b, fragments);
      if (pairs === null) throw unlike(a, b, at, what);
      if ("text" in pairs) return pairs;
      return sql`(${and(pairs.map(([left, right]) => sql`${left} = ${right}`))})`;
    }
    case "starts-with?":
    case "ends-with?":
    case "includes?":
      return compareText(name, text(a, name, at, fragments), text(b, name, at, fragments), fragments);
    default: {
      const type = mergeTypes(a.type, b.type);
      if (type === null || type.is === "boolean") throw unlike(a, b, at, what);
      const isNumber = type.is === "int" || type.is === "real";
      const [left, right] = isNumber ? [only(a), only(b)] : [textOf(a, fragments), textOf(b, fragments)];
      return sql`${left} ${raw(name)} ${right}`;
    }
  }
}

function compareText(name: string, whole: Sql, part: Sql, fragments: Build["fragments"]): Sql {
  if (name === "includes?") return sql`${lift(fragments.position, whole, part)} > 0`;
  if (name === "starts-with?") return sql`substr(${whole}, 1, length(${part})) = ${part}`;
  const start = sql`length(${whole}) - length(${part}) + 1`;
  return sql`(length(${whole}) >= length(${part}) AND substr(${whole}, ${start}) = ${part})`;
}

function text(value: Value, name: string, at: SourcePosition | undefined, fragments: Build["fragments"]): Sql {
  if (value.type.is === "text" || value.type.is === "entity" || value.type.is === "ref")
    return textOf(value, fragments);
  throw invalidQuery(at, `${name} takes texts, not ${typeName(value.type)}`);
}

function number(value: Value, name: string, at: SourcePosition | undefined, fragments: Build["fragments"]): Sql {
  if (value.type.is === "int" || value.type.is === "real") return sql`CAST(${only(value)} AS ${raw(fragments.real)})`;
  throw invalidQuery(at, `${name} takes numbers, not ${typeName(value.type)}`);
}

export function compileFunction(clause: FunctionCall, scope: Scope): void {
  const values = argumentsOf(clause, scope);
  if (values.some((value) => value.type.is === "nothing")) {
    scope.where.push(FALSE);
    bind(scope, clause.to, { type: { is: "nothing" }, columns: [raw("NULL")] }, clause.at);
    return;
  }
  const { result, type, partial } = call(clause.name, values, clause.at, scope.build);
  checkLength(result, clause.at);
  if (partial) scope.where.push(sql`${result} IS NOT NULL`);
  bind(scope, clause.to, { type, columns: [result] }, clause.at);
}

interface Result {
  readonly result: Sql;
  readonly type: Type;
  /** Whether the call may have no result. */
  readonly partial?: boolean;
}

function call(
  name: FunctionName,
  values: readonly Value[],
  at: SourcePosition | undefined,
  { fragments }: Build,
): Result {
  const texts = () => values.map((value) => text(value, name, at, fragments));
  const numbers = () => values.map((value) => number(value, name, at, fragments));
  const isText = { is: "text" } as const;
  switch (name) {
    case "+":
    case "*":
      return { result: sql`(${join(numbers(), ` ${name} `)})`, type: { is: "real" } };
    case "-": {
      const [first = raw("0"), ...rest] = numbers();
      return {
        result: rest.length === 0 ? sql`(-${first})` : sql`(${join([first, ...rest], " - ")})`,
        type: { is: "real" },
      };
    }
    case "/": {
      const [first = raw("0"), ...rest] = numbers();
      const divided = join([first, ...rest.map((one) => sql`NULLIF(${one}, 0)`)], " / ");
      return { result: sql`(${divided})`, type: { is: "real" }, partial: true };
    }
    case "mod": {
      const [a = raw("0"), b = raw("0")] = numbers();
      return { result: sql`(${a} - ${b} * floor(${a} / NULLIF(${b}, 0)))`, type: { is: "real" }, partial: true };
    }
    case "str":
      return {
        result: sql`(${join(
          values.map((value) => textOf(value, fragments)),
          " || ",
        )})`,
        type: isText,
      };
    case "count":
      return { result: sql`CAST(length(${texts()[0] ?? raw("''")}) AS ${raw(fragments.int)})`, type: { is: "int" } };
    case "lower-case":
    case "upper-case": {
      const [one = raw("''")] = texts();
      return { result: sql`${raw(name === "lower-case" ? "lower" : "upper")}(${one})`, type: isText };
    }
    case "subs":
      return { result: part(values, at, fragments), type: isText, partial: true };
  }
}

function part(values: readonly Value[], at: SourcePosition | undefined, fragments: Build["fragments"]): Sql {
  const [whole, from, until] = values;
  if (whole === undefined || from === undefined) throw new Error("bug: subs has two arguments");
  const own = text(whole, "subs", at, fragments);
  const offset = (value: Value) => sql`CAST(${number(value, "subs", at, fragments)} AS ${raw(fragments.offset)})`;
  const start = offset(from);
  const end = until === undefined ? sql`length(${own})` : offset(until);
  const inside = sql`${start} >= 0 AND ${end} >= ${start} AND ${end} <= length(${own})`;
  return sql`CASE WHEN ${inside} THEN substr(${own}, ${start} + 1, ${end} - ${start}) END`;
}

/** Binds a single row as constants; more rows become a table to read from. */
export function compileGround(table: Rows, scope: Scope): void {
  const { columns, at } = table;
  const { fragments } = scope.build;
  const rows = distinct(table.rows);
  const [first] = rows;
  if (first === undefined) scope.where.push(FALSE);
  if (first === undefined || rows.length === 1) {
    for (const [i, name] of columns.entries()) {
      const constant = first?.[i];
      const nothing: Value = { type: { is: "nothing" }, columns: [raw("NULL")] };
      if (name !== null) bind(scope, name, constant === undefined ? nothing : constantValue(constant, fragments), at);
    }
    return;
  }
  const types = columns.map((name, i) => columnType(rows, i, name ?? "_", at));
  const alias = addItem(
    scope,
    sql`(${tableText(rows, types, scope.build)})`,
    "v",
    types.map((_, i) => `column${i + 1}`),
  );
  for (const [i, name] of columns.entries()) {
    const type = types[i];
    if (name === null || type === undefined) continue;
    const keyword = rows.every((row) => row[i]?.type === "keyword");
    bind(scope, name, { ...valueFrom(type, [`${alias}.column${i + 1}`]), ...(keyword ? { keyword } : {}) }, at);
  }
}

function distinct(rows: Rows["rows"]): Rows["rows"] {
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()];
}

function columnType(rows: Rows["rows"], i: number, name: string, at: SourcePosition | undefined): Type {
  return rows.reduce<Type>(
    (type, row) => {
      const constant = row[i];
      if (constant === undefined) return type;
      const merged = mergeTypes(type, constantType(constant));
      if (merged !== null) return merged;
      throw invalidQuery(at, `${name} is given ${typeName(type)} and ${typeName(constantType(constant))}`);
    },
    { is: "nothing" },
  );
}

function plainType(type: Type): "int" | "real" | "text" {
  return type.is === "int" || type.is === "real" ? type.is : type.is === "boolean" ? "int" : "text";
}

/** A keyword of a table is stored as the enumeration's word, without the colon. */
function cell(constant: Constant | undefined): number | string {
  if (constant === undefined) return 0;
  return constant.type === "keyword" ? constant.value.slice(1) : constantParam(constant);
}

function tableText(rows: Rows["rows"], types: readonly Type[], build: Build): Sql {
  const plain = types.map(plainType);
  const { fragments } = build;
  const cells = rows.length * types.length;
  build.cells += cells;
  if (cells > MANY_CELLS || build.cells > ALL_CELLS) {
    const data = JSON.stringify(rows.map((row) => row.map(cell)));
    const named = plain.map((_, i) => `c${i} AS column${i + 1}`).join(", ");
    return sql`SELECT ${raw(named)} FROM (${{ text: fragments.jsonRows(plain), params: [data] }}) AS j`;
  }
  const tuples = rows.map((row) => {
    const cells = plain.map((type, i) => {
      const collate = type === "text" ? fragments.collate : "";
      return sql`CAST(${param(cell(row[i]))} AS ${raw(fragments[type])})${raw(collate)}`;
    });
    return sql`(${join(cells, ", ")})`;
  });
  return sql`VALUES ${join(tuples, ", ")}`;
}
