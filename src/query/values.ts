// Typed SQL values: the value of a variable while a query is compiled, comparison of two values, and conversion to
// readable text. Types are known during compilation, so comparing values that can never be equal is an error.
import type { Json } from "../contracts/json.ts";
import type { SqlFragments } from "../contracts/storage/storage.ts";
import type { Constant } from "./ast.ts";
import type { Attribute, ValueType } from "./facts.ts";
import { invalidQuery } from "./form.ts";
import { cast, KINDS, type KindName, refBytes, refText } from "./kinds.ts";
import { FALSE, isColumn, lift, param, raw, type Sql, sql } from "./sql.ts";

/** nothing: the type of an empty collection, whose item type is unknown. */
export type Type =
  | { readonly is: "text" | "int" | "boolean" | "ref" | "nothing" }
  | { readonly is: "real"; readonly isUsd?: boolean }
  | { readonly is: "entity"; readonly kind: KindName };

export interface Value {
  readonly type: Type;
  /** One column, or the key columns of an entity. */
  readonly columns: readonly Sql[];
  /** Whether the value is a keyword, one of a fixed set of words. */
  readonly keyword?: boolean;
  /** The readable id, if a row of the SELECT has it. */
  readonly shown?: Sql;
  /** The blob's number, if the row stores the ref that way. */
  readonly blob?: Sql;
  readonly constant?: Constant;
  /** The attribute of the value, for errors. */
  readonly attribute?: Pick<Attribute, "name" | "type">;
}

const NULL = raw("NULL");

export function only({ columns }: Value): Sql {
  return columns[0] ?? NULL;
}

export function attributeValue(attribute: Attribute, alias: string, fragments: SqlFragments): Value {
  const { type, shown, blob } = attribute;
  return {
    type: storedType(type),
    columns: attribute.value(alias, fragments).map(raw),
    attribute: { name: attribute.name, type },
    ...(type.is === "keyword" ? { keyword: true } : {}),
    ...(shown === undefined ? {} : { shown: raw(`${alias}.${shown}`) }),
    ...(blob === undefined ? {} : { blob: raw(`${alias}.${blob}`) }),
  };
}

function storedType(type: ValueType): Type {
  if (type.is === "entity" || type.is === "real") return type;
  if (type.is === "keyword") return { is: "text" };
  return type.is === "instant" ? { is: "int" } : { is: type.is };
}

export function constantType({ type, value }: Constant): Type {
  if (type === "boolean") return { is: "boolean" };
  if (type === "number" || type === "inst") return { is: Number.isInteger(value) ? "int" : "real" };
  return { is: "text" };
}

export function constantValue(constant: Constant, fragments: SqlFragments): Value {
  const type = constantType(constant);
  return { type, columns: [constantSql(constant, type, fragments)], constant };
}

export function constantParam({ value }: Constant): number | string {
  return typeof value === "boolean" ? Number(value) : value;
}

function constantSql(constant: Constant, type: Type, fragments: SqlFragments): Sql {
  const as = type.is === "boolean" ? "int" : type.is;
  if (as !== "int" && as !== "real" && as !== "text") throw new Error(`bug: a constant of type ${as}`);
  return cast(constantParam(constant), as, fragments);
}

export function typeName(type: Type): string {
  switch (type.is) {
    case "entity":
      return `a ${type.kind}`;
    case "int":
    case "real":
      return "a number";
    case "ref":
      return "a ref (sha256:…)";
    case "nothing":
      return "nothing";
    default:
      return `a ${type.is}`;
  }
}

const isNumber = (type: Type) => type.is === "int" || type.is === "real";

/** The common type of both; null if there is none. */
export function mergeTypes(a: Type, b: Type): Type | null {
  if (a.is === "nothing") return b;
  if (b.is === "nothing") return a;
  if (a.is === "entity" && b.is === "entity") return a.kind === b.kind ? a : null;
  if (a.is === b.is) return a;
  if (isNumber(a) && isNumber(b)) return { is: "real" };
  const isText = (type: Type) => type.is === "text" || type.is === "entity" || type.is === "ref";
  return isText(a) && isText(b) ? { is: "text" } : null;
}

/** The text of a text, an id or a ref. */
export function textOf(value: Value, fragments: SqlFragments): Sql {
  switch (value.type.is) {
    case "entity":
      return value.shown ?? KINDS[value.type.kind].id(value.columns, fragments);
    case "ref":
      return refText(only(value), fragments);
    case "int":
    case "real":
      return lift(fragments.numberText, only(value));
    case "boolean":
      return sql`CASE WHEN ${only(value)} = 1 THEN 'true' ELSE 'false' END${raw(fragments.collate)}`;
    default:
      return only(value);
  }
}

/** The types of the columns of a value of this type. */
export function columnTypes(type: Type): readonly ("int" | "real" | "text" | "bytes")[] {
  switch (type.is) {
    case "entity":
      return KINDS[type.kind].key;
    case "ref":
      return ["bytes"];
    case "boolean":
      return ["int"];
    case "nothing":
      return ["int"];
    default:
      return [type.is];
  }
}

/** Converts the columns of a value to those of a compatible type. */
export function columnsAs(value: Value, type: Type, fragments: SqlFragments): readonly Sql[] {
  const same = value.type.is === type.is;
  if (value.type.is === "nothing") return columnTypes(type).map((one) => sql`CAST(NULL AS ${raw(fragments[one])})`);
  if (same) return value.columns;
  if (type.is === "real") return [sql`CAST(${only(value)} AS ${raw(fragments.real)})`];
  if (type.is === "text") return [textOf(value, fragments)];
  throw new Error(`bug: ${typeName(value.type)} cannot be written as ${typeName(type)}`);
}

/** Creates a value from its columns. */
export function valueFrom(type: Type, columns: readonly string[]): Value {
  return { type, columns: columns.map(raw) };
}

/** Pairs of columns that must be equal, or null if the two values can never be compared. */
export function equal(a: Value, b: Value, fragments: SqlFragments): readonly (readonly [Sql, Sql])[] | Sql | null {
  if (a.type.is === "nothing" || b.type.is === "nothing") return FALSE;
  if (b.type.is === "entity" && a.type.is !== "entity") return equal(b, a, fragments);
  if (b.type.is === "ref" && a.type.is === "text") return equal(b, a, fragments);
  if (a.type.is === "entity") return equalEntity(a, a.type.kind, b, fragments);
  if (a.type.is === "ref") return equalRef(a, b, fragments);
  if (mergeTypes(a.type, b.type) === null) return null;
  return equalPlain(a, b, fragments);
}

function equalPlain(a: Value, b: Value, fragments: SqlFragments): readonly (readonly [Sql, Sql])[] | null {
  for (const [one, other] of [
    [a, b],
    [b, a],
  ] as const) {
    if (one.constant?.type !== "keyword" || other.constant !== undefined) continue;
    // A keyword only equals a word of an enumeration, never another text.
    return other.keyword ? [[only(other), cast(one.constant.value.slice(1), "text", fragments)]] : null;
  }
  return [[only(a), only(b)]];
}

function equalEntity(
  a: Value,
  kind: KindName,
  b: Value,
  fragments: SqlFragments,
): readonly (readonly [Sql, Sql])[] | Sql | null {
  if (b.type.is === "entity") {
    return b.type.kind === kind ? a.columns.map((column, i) => [column, b.columns[i] ?? NULL] as const) : null;
  }
  if (b.type.is !== "text" || b.constant?.type === "keyword") return null;
  if (b.constant === undefined) return [[textOf(a, fragments), only(b)]];
  const id = String(b.constant.value);
  if (a.shown !== undefined && isColumn(a.shown)) return [[a.shown, cast(id, "text", fragments)]];
  const key = KINDS[kind].find(id, fragments);
  if (key === undefined) return [[textOf(a, fragments), only(b)]];
  return key === null ? FALSE : a.columns.map((column, i) => [column, key[i] ?? NULL] as const);
}

function equalRef(a: Value, b: Value, fragments: SqlFragments): readonly (readonly [Sql, Sql])[] | Sql | null {
  if (b.type.is === "ref") {
    return a.blob !== undefined && b.blob !== undefined ? [[a.blob, b.blob]] : [[only(a), only(b)]];
  }
  if (b.type.is !== "text" || b.constant?.type === "keyword") return null;
  if (b.constant === undefined) return [[textOf(a, fragments), only(b)]];
  const bytes = refBytes(String(b.constant.value));
  if (bytes === null) return FALSE;
  const given = sql`CAST(${param(bytes)} AS ${raw(fragments.bytes)})`;
  if (a.blob === undefined || isColumn(only(a))) return [[only(a), given]];
  return [[a.blob, sql`(SELECT no FROM blobs WHERE sha256 = ${given})`]];
}

export function cell(value: unknown, boolean: boolean): Json {
  if (value === null || value === undefined) return null;
  if (boolean) return Number(value) === 1;
  // Where an engine does not say it by itself.
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) {
    throw invalidQuery(undefined, "a number became larger than a double can be");
  }
  return typeof value === "bigint" ? Number(value) : typeof value === "number" ? value : String(value);
}
