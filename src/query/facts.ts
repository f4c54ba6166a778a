// The building blocks of the catalogue: which table a kind's facts come from, and how a column becomes a value.
import type { SqlFragments } from "../contracts/storage/storage.ts";
import { KINDS, type KindName } from "./kinds.ts";

/** keyword: one of a few words; a query may write it as a keyword. instant: epoch milliseconds. ref: `sha256:…`. */
export type ValueType =
  | { readonly is: "text" | "keyword" | "int" | "boolean" | "instant" | "ref" }
  | { readonly is: "real"; readonly isUsd?: boolean }
  | { readonly is: "entity"; readonly kind: KindName };

/** The source of facts. A row is one entity, or (`many`) one value of an entity. */
export interface Source {
  /** A table, or a query in parentheses. `where` filters its rows. */
  readonly table: string;
  /** The columns that are the key of the entity. */
  readonly entity: readonly string[];
  /** Columns that are unique among the rows that `where` accepts; null if uncertain. */
  readonly unique: readonly string[] | null;
  where?(alias: string, fragments: SqlFragments): string;
}

export interface Attribute {
  readonly name: string;
  readonly kind: KindName;
  readonly source: Source;
  readonly type: ValueType;
  /** The columns or expressions of the value: one, or the key columns of an entity. */
  value(alias: string, fragments: SqlFragments): readonly string[];
  /** Expressions that are NULL if there is no fact. */
  absent(alias: string, fragments: SqlFragments): readonly string[];
  /** Whether an entity may have several values. */
  readonly many: boolean;
  /** Whether the value identifies one entity: `[:session/id "x"]`. */
  readonly identity: boolean;
  /** The column with the readable id, if the row has it. */
  readonly shown?: string;
  /** For a ref that a row stores as the number of a blob: that column. */
  readonly blob?: string;
}

type Spec = Omit<Attribute, "name" | "kind" | "source">;

const PLAIN = { absent: () => [], many: false, identity: false } as const;

function column(is: Exclude<ValueType["is"], "entity">, name: string): Spec {
  return { ...PLAIN, type: { is }, value: (a) => [`${a}.${name}`] };
}

export const text = (name: string) => column("text", name);
export const keyword = (name: string) => column("keyword", name);
export const int = (name: string) => column("int", name);
/** Dollars: sums and averages are rounded like all costs. */
export const usd = (name: string): Spec => ({ ...column("real", name), type: { is: "real", isUsd: true } });
export const flag = (name: string) => column("boolean", name);
export const instant = (name: string) => column("instant", name);

/** A text that the column stores as UTF-8 bytes. */
export function utf8Text(name: string): Spec {
  const value = (a: string, own: SqlFragments) => [own.utf8(`${a}.${name}`)];
  return { ...PLAIN, type: { is: "text" }, value, absent: value };
}

/** Adds columns whose NULL means that there is no fact. */
export function maybe(spec: Spec, ...columns: readonly string[]): Spec {
  return { ...spec, absent: (a) => columns.map((name) => `${a}.${name}`) };
}

/** A value computed by an expression; NULL means that there is no fact. */
export function derived(is: Exclude<ValueType["is"], "entity">, make: (a: string, own: SqlFragments) => string): Spec {
  const value = (a: string, own: SqlFragments) => [make(a, own)];
  return { ...PLAIN, type: { is }, value, absent: value };
}

export function to(kind: KindName, ...columns: readonly string[]): Spec {
  return { ...PLAIN, type: { is: "entity", kind }, value: (a) => columns.map((name) => `${a}.${name}`) };
}

/** A link whose last column may be NULL. */
export function maybeTo(kind: KindName, ...columns: readonly string[]): Spec {
  return maybe(to(kind, ...columns), columns.at(-1) ?? "");
}

/** A link whose last key column is computed by an expression; NULL means that there is no fact. */
export function found(kind: KindName, before: readonly string[], make: (a: string, own: SqlFragments) => string): Spec {
  const value = (a: string, own: SqlFragments) => [...before.map((name) => `${a}.${name}`), make(a, own)];
  return { ...PLAIN, type: { is: "entity", kind }, value, absent: (a, own) => [make(a, own)] };
}

/** The ref of a payload, which the row stores as the number of its blob. */
export function payload(name: string): Spec {
  const value = (a: string) => [`(SELECT sha256 FROM blobs WHERE no = ${a}.${name})`];
  return { ...PLAIN, type: { is: "ref" }, value, absent: (a) => [`${a}.${name}`], blob: name };
}

export function many(spec: Spec): Spec {
  return { ...spec, many: true };
}

/** The id of the entity itself, whose key is in these columns. */
export function identity(kind: KindName, columns: readonly string[], shown?: string): Spec {
  return { ...to(kind, ...columns), identity: true, ...(shown === undefined ? {} : { shown }) };
}

/** Creates the attributes of a kind; `specs` has names without the kind, such as `status` for `:call/status`. */
export function facts(kind: KindName, source: Source, specs: Readonly<Record<string, Spec>>): readonly Attribute[] {
  return Object.entries(specs).map(([name, spec]) => {
    const width = spec.type.is === "entity" ? KINDS[spec.type.kind].key.length : 1;
    if (spec.value("a0", NO_FRAGMENTS).length !== width) throw new Error(`bug: :${kind}/${name} has the wrong width`);
    return { ...spec, name: `:${kind}/${name}`, kind, source };
  });
}

/** Both names of a link to another entity: `x-id`, and `x`, which a pull can follow. */
export function link(name: string, spec: Spec): Readonly<Record<string, Spec>> {
  return { [`${name}-id`]: spec, [name]: spec };
}

/** Fragments for SQL texts that are only compared with each other. */
export const NO_FRAGMENTS = {
  int: "",
  real: "",
  text: "",
  bytes: "",
  offset: "",
  collate: "",
  explain: "",
  utf8: (own: string) => own,
  hex: (own: string) => own,
  numberText: (own: string) => own,
  position: (own: string) => own,
  recursive: (own: string) => own,
  jsonRows: () => "",
  jsonField: (own: string, ...path: readonly string[]) => `${own} ${path.join(".")}`,
} satisfies SqlFragments;
