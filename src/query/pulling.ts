// Executes pulls in batches: one query for all facts of a table's rows, and one for each
// followed reference, whatever the number of entities.
import type { Json } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { InspectLimits, InspectRow, SqlFragments, Storage } from "../contracts/storage/storage.ts";
import type { PullItem, PullPattern } from "./ast.ts";
import { attributeOf, attributesOf } from "./catalogue.ts";
import { shownAs } from "./compile.ts";
import { type Attribute, NO_FRAGMENTS } from "./facts.ts";
import { invalidQuery, overLimit } from "./form.ts";
import { cast, KINDS, type KindName } from "./kinds.ts";
import { and, join, raw, type Sql, sql } from "./sql.ts";
import { attributeValue, cell, equal, type Value, valueFrom } from "./values.ts";

export interface Pulling {
  readonly storage: Storage;
  limits(): InspectLimits;
  /** How many values were found so far. */
  values: number;
}

type Key = readonly (number | string)[];

interface Entity {
  readonly key: Key;
  /** The entities on the recursive path to this one; an entity that repeats is only named by its id. */
  readonly above: ReadonlySet<string>;
}

interface PullColumn extends PullItem {
  readonly found: Attribute;
}

/** The number of keys in one statement. */
const BATCH = 400;

export async function pullAll(
  pulling: Pulling,
  kind: KindName,
  keys: readonly Key[],
  pattern: PullPattern,
): Promise<readonly Json[]> {
  const entities = keys.map((key): Entity => ({ key, above: new Set() }));
  return pullPattern(pulling, kind, entities, pattern, new Map());
}

/** `left` says how often an item of the pattern may still repeat it. */
async function pullPattern(
  pulling: Pulling,
  kind: KindName,
  entities: readonly Entity[],
  pattern: PullPattern,
  left: ReadonlyMap<PullItem, number>,
): Promise<readonly Json[]> {
  // The object has no prototype, so that the key __proto__ is an ordinary key.
  const results = entities.map((): Record<string, Json> => Object.create(null));
  const columns = pullColumnsOf(kind, pattern);
  for (let start = 0; start < entities.length; start += BATCH) {
    const batch = entities.slice(start, start + BATCH);
    const into = results.slice(start, start + BATCH);
    const isPlain = (column: PullColumn) => !column.reverse && !column.found.many && column.nested.kind === "none";
    for (const group of Map.groupBy(columns.filter(isPlain), ({ found }) => sourceKey(found)).values()) {
      await pullPlain(pulling, kind, batch, group, into);
    }
    for (const column of columns.filter((one) => !isPlain(one))) {
      await pullMany(pulling, kind, batch, { want: column, pattern, left }, into);
    }
    for (const result of into) fillDefaults(result, columns);
  }
  return results.map((result) => inOrder(result, columns));
}

/** Checks the pattern also if no entity is found to pull from. */
export function checkPattern(kind: KindName, pattern: PullPattern): void {
  for (const { found, reverse, nested } of pullColumnsOf(kind, pattern)) {
    const target = reverse ? found.kind : found.type.is === "entity" ? found.type.kind : null;
    if (target !== null && nested.kind === "pattern") checkPattern(target, nested.pattern);
  }
}

function pullColumnsOf(kind: KindName, { wildcard, items }: PullPattern): readonly PullColumn[] {
  const columns = items.map((item): PullColumn => {
    const found = attributeOf(item.attribute);
    const of = item.reverse ? (found.type.is === "entity" ? found.type.kind : null) : found.kind;
    if (of === null) throw invalidQuery(item.at, `${found.name} is no reference, so that nothing leads back from it`);
    if (of !== kind) throw invalidQuery(item.at, `${item.key} is of a ${of}, and is asked of a ${kind}`);
    if (item.nested.kind !== "none" && found.type.is !== "entity") {
      throw invalidQuery(item.at, `${found.name} is no reference, so that it cannot be followed`);
    }
    return { ...item, found };
  });
  if (!wildcard) return columns;
  const named = new Set(columns.filter(({ reverse }) => !reverse).map(({ found }) => found.name));
  const all = attributesOf(kind).filter(({ name }) => !named.has(name));
  return [...all.map(wholeColumn), ...columns];
}

function wholeColumn(found: Attribute): PullColumn {
  const attribute = { name: found.name, at: undefined };
  const none = { otherwise: undefined, nested: { kind: "none" }, at: undefined } as const;
  return { attribute, reverse: false, key: found.name, limit: LIMITS.page, found, ...none };
}

function sourceKey({ source }: Attribute): string {
  return `${source.table} ${source.where?.("a", NO_FRAGMENTS) ?? ""} ${source.entity.join()}`;
}

/** The batch as a table of index and key columns. */
function keyTable(kind: KindName, batch: readonly Entity[], { fragments }: Storage): { table: Sql; value: Value } {
  const { key: types } = KINDS[kind];
  const tuples = batch.map(({ key }, i) => {
    const cells = types.map((type, k) => cast(key[k] ?? null, type, fragments));
    return sql`(${join([cast(i, "int", fragments), ...cells], ", ")})`;
  });
  const value = valueFrom(
    { is: "entity", kind },
    types.map((_, k) => `k0.column${k + 2}`),
  );
  return { table: sql`(VALUES ${join(tuples, ", ")}) AS k0`, value };
}

function pairsOf(a: Value, b: Value, { fragments }: Storage): Sql {
  const pairs = equal(a, b, fragments);
  if (pairs === null || "text" in pairs) throw new Error("bug: keys of one kind are compared");
  return and(pairs.map(([left, right]) => sql`${left} = ${right}`));
}

async function ask(pulling: Pulling, text: Sql): Promise<readonly InspectRow[]> {
  const rows = await pulling.storage.inspect(text.text, text.params, pulling.limits());
  pulling.values += rows.length;
  if (pulling.values > LIMITS.queryRows) {
    throw overLimit(undefined, "queryRows", "the number of values a pull found", pulling.values);
  }
  return rows;
}

async function pullPlain(
  pulling: Pulling,
  kind: KindName,
  batch: readonly Entity[],
  group: readonly PullColumn[],
  into: readonly Record<string, Json>[],
): Promise<void> {
  const { storage } = pulling;
  const source = group[0]?.found.source;
  if (source === undefined) return;
  const { table, value } = keyTable(kind, batch, storage);
  const entity = entityOf(kind, source);
  const cells = group.map(({ found }, i) => {
    const own = shownAs(attributeValue(found, "t0", storage.fragments), storage.fragments);
    const absent = found.absent("t0", storage.fragments).map((column) => raw(`${column} IS NOT NULL`));
    return sql`CASE WHEN ${and(absent)} THEN ${own} END AS c${raw(String(i))}`;
  });
  const conditions = [pairsOf(entity, value, storage), ...whereOf(source, storage.fragments)];
  const from = sql`${table}, ${raw(source.table)} AS t0 WHERE ${and(conditions)}`;
  for (const row of await ask(pulling, sql`SELECT k0.column1 AS n, ${join(cells, ", ")} FROM ${from}`)) {
    const result = into[Number(row.n)];
    for (const [i, { key, found }] of group.entries()) {
      const one = cell(row[`c${i}`], found.type.is === "boolean");
      if (one !== null && result !== undefined) result[key] = one;
    }
  }
}

function entityOf(kind: KindName, source: Attribute["source"]): Value {
  return valueFrom(
    { is: "entity", kind },
    source.entity.map((name) => `t0.${name}`),
  );
}

function whereOf(source: Attribute["source"], fragments: SqlFragments): readonly Sql[] {
  return source.where === undefined ? [] : [raw(source.where("t0", fragments))];
}

interface Following {
  readonly want: PullColumn;
  readonly pattern: PullPattern;
  readonly left: ReadonlyMap<PullItem, number>;
}

/** Reads attributes with several values, reverse references and followed references. */
async function pullMany(
  pulling: Pulling,
  kind: KindName,
  batch: readonly Entity[],
  following: Following,
  into: readonly Record<string, Json>[],
): Promise<void> {
  const { want: column } = following;
  const { found, reverse } = column;
  const { storage } = pulling;
  const { fragments } = storage;
  const { table, value: keys } = keyTable(kind, batch, storage);
  const own = attributeValue(found, "t0", fragments);
  const entity = entityOf(found.kind, found.source);
  const [here, there] = reverse ? [own, entity] : [entity, own];
  const absent = found.absent("t0", fragments).map((column) => raw(`${column} IS NOT NULL`));
  const conditions = [pairsOf(here, keys, storage), ...whereOf(found.source, fragments), ...absent];
  const order = raw((found.source.unique ?? found.source.entity).map((name) => `t0.${name}`).join(", "));
  const place = sql`row_number() OVER (PARTITION BY k0.column1 ORDER BY ${order}) AS place`;
  const cells = there.columns.map((column, i) => sql`${column} AS x${raw(String(i))}`);
  const shown = sql`${shownAs(there, fragments)} AS shown`;
  const from = sql`${table}, ${raw(found.source.table)} AS t0 WHERE ${and(conditions)}`;
  const inner = sql`SELECT k0.column1 AS n, ${join([place, shown, ...cells], ", ")} FROM ${from}`;
  const limit = cast(column.limit, "int", fragments);
  const given = await ask(pulling, sql`SELECT * FROM (${inner}) AS p WHERE p.place <= ${limit} ORDER BY p.n, p.place`);
  // Several rows may have the same value.
  const rows = [...new Map(given.map((row) => [`${row.n} ${row.shown}`, row])).values()];
  const target = there.type.is === "entity" ? there.type.kind : null;
  const values =
    target === null || column.nested.kind === "none"
      ? rows.map((row) => cell(row.shown, found.type.is === "boolean"))
      : await follow(pulling, target, rows, batch, { ...following, width: cells.length });
  const single = !reverse && !found.many;
  for (const [i, row] of rows.entries()) {
    const result = into[Number(row.n)];
    const one = values[i] ?? null;
    if (result === undefined || one === null) continue;
    const list = result[column.key];
    if (single) result[column.key] = one;
    else result[column.key] = Array.isArray(list) ? [...list, one] : [one];
  }
}

async function follow(
  pulling: Pulling,
  target: KindName,
  rows: readonly InspectRow[],
  batch: readonly Entity[],
  { want: column, pattern, left, width }: Following & { readonly width: number },
): Promise<readonly Json[]> {
  const { nested } = column;
  const item = pattern.items.find((one) => one.key === column.key) ?? column;
  const again = nested.kind === "again";
  const remaining = nested.kind === "again" ? (left.get(item) ?? nested.depth) : 0;
  const next = nested.kind === "pattern" ? nested.pattern : pattern;
  const name = (row: InspectRow) => cell(row.shown, false);
  // A repeated pattern does not apply to an entity of another kind.
  if (again && patternKind(pattern) !== target) return rows.map(name);
  // The recursion ends here: as in Datomic, deeper entities are left out.
  if (again && remaining === 0) return rows.map(() => null);
  const entities = rows.map((row): Entity => {
    const parent = batch[Number(row.n)];
    const above = again ? new Set([...(parent?.above ?? []), JSON.stringify(parent?.key)]) : new Set<string>();
    const key = Array.from({ length: width }, (_, i) => row[`x${i}`]);
    return { key: key.map((one) => (typeof one === "number" ? one : String(one))), above };
  });
  const isSeen = ({ key, above }: Entity) => above.has(JSON.stringify(key));
  const fresh = entities.filter((entity) => !isSeen(entity));
  const found = await pullPattern(
    pulling,
    target,
    fresh,
    next,
    again ? new Map([...left, [item, remaining - 1]]) : new Map(),
  );
  return entities.map((entity, i) => {
    const row = rows[i];
    return isSeen(entity) && row !== undefined ? name(row) : (found[fresh.indexOf(entity)] ?? null);
  });
}

function patternKind({ items }: PullPattern): KindName | null {
  const [first] = items;
  if (first === undefined) return null;
  const found = attributeOf(first.attribute);
  return first.reverse ? (found.type.is === "entity" ? found.type.kind : null) : found.kind;
}

function fillDefaults(result: Record<string, Json>, columns: readonly PullColumn[]): void {
  for (const { key, otherwise } of columns) {
    if (result[key] === undefined && otherwise !== undefined) result[key] = otherwise?.value ?? null;
  }
}

/** In the order of the pattern; null when the entity has none of it. */
function inOrder(result: Record<string, Json>, columns: readonly PullColumn[]): Json {
  const entries = columns.flatMap(({ key }): [string, Json][] => {
    const value = result[key];
    return value === undefined ? [] : [[key, value]];
  });
  return entries.length === 0 ? null : Object.fromEntries(entries);
}
