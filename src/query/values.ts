// Values in SQL with their types: what a variable stands for while a query is compiled, how two of them are compared, and
// how one becomes the text people see. Types are known beforehand, so that what can never be equal is a mistake.
import type { Json } from "../contracts/json.ts";
import type { SqlFragments } from "../contracts/storage/storage.ts";
import type { Constant } from "./ast.ts";
import type { Attribute, ValueType } from "./facts.ts";
import { invalidQuery } from "./form.ts";
import { cast, KINDS, type KindName, refBytes, refText } from "./kinds.ts";
import { FALSE, isColumn, lift, param, raw, type Sql, sql } from "./sql.ts";

/** nothing: a collection without items, of which it is not known what it would hold. */
export type Type =
  | { readonly is: "text" | "int" | "boolean" | "ref" | "nothing" }
  | { readonly is: "real"; readonly isUsd?: boolean }
  | { readonly is: "entity"; readonly kind: KindName };

export interface Value {
  readonly type: Type;
  /** One column; of an entity those of its key. */
  readonly columns: readonly Sql[];
  /** One of a few words. */
  readonly keyword?: boolean;
  /** The id people see, where a row at hand holds it. */
  readonly shown?: Sql;
  /** The number of the blob, of a ref that a row keeps so. */
  readonly blob?: Sql;
  readonly constant?: Constant;
  /** Whose value it is, for errors. */
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

/** What both can be written as; null when there is no such thing. */
export function mergeTypes(a: Type, b: Type): Type | null {
  if (a.is === "nothing") return b;
  if (b.is === "nothing") return a;
  if (a.is === "entity" && b.is === "entity") return a.kind === b.kind ? a : null;
  if (a.is === b.is) return a;
  if (isNumber(a) && isNumber(b)) return { is: "real" };
  const isText = (type: Type) => type.is === "text" || type.is === "entity" || type.is === "ref";
  return isText(a) && isText(b) ? { is: "text" } : null;
}

/** The text of what has one: a text, an id, a ref. */
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

/** How many columns a value of this type takes, and of which types. */
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

/** The columns of a value, as those of another type it can be written as. */
export function columnsAs(value: Value, type: Type, fragments: SqlFragments): readonly Sql[] {
  const same = value.type.is === type.is;
  if (value.type.is === "nothing") return columnTypes(type).map((one) => sql`CAST(NULL AS ${raw(fragments[one])})`);
  if (same) return value.columns;
  if (type.is === "real") return [sql`CAST(${only(value)} AS ${raw(fragments.real)})`];
  if (type.is === "text") return [textOf(value, fragments)];
  throw new Error(`bug: ${typeName(value.type)} cannot be written as ${typeName(type)}`);
}

/** The value that such columns hold. */
export function valueFrom(type: Type, columns: readonly string[]): Value {
  return { type, columns: columns.map(raw) };
}

/** Pairs that must be equal, or null when the two can never be compared. */
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
    // A keyword is the word that an enumeration holds; of any other text it is never a part.
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
