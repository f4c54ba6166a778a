// All facts of a store, as the catalogue defines them, and DataScript loaded with them: the oracle of the query tests.
import { createRequire } from "node:module";
import { attributes } from "../../src/query/catalogue.ts";
import type { Attribute } from "../../src/query/facts.ts";
import { KINDS } from "../../src/query/kinds.ts";
import { raw } from "../../src/query/sql.ts";
import { attributeValue, only, textOf } from "../../src/query/values.ts";
import type { Driver } from "../../src/storage/sql/driver.ts";

export interface Fact {
  /** `kind:id`. */
  readonly entity: string;
  readonly attribute: Attribute;
  readonly value: string | number | boolean;
}

/** The identity of an entity is a text to DataScript; every other entity is a reference. */
export function isReference({ type, identity }: Attribute): boolean {
  return type.is === "entity" && !identity;
}

export async function factsOf(driver: Driver): Promise<readonly Fact[]> {
  const { fragments: words } = driver.dialect;
  const facts: Fact[] = [];
  for (const attribute of attributes()) {
    const { source, kind, type } = attribute;
    const key = source.entity.map((name) => raw(`t0.${name}`));
    const value = attributeValue(attribute, "t0", words);
    const shown = value.type.is === "entity" || value.type.is === "ref" ? textOf(value, words) : only(value);
    const tests = attribute.absent("t0", words).map((column) => `${column} IS NOT NULL`);
    const where = [...(source.where === undefined ? [] : [source.where("t0", words)]), ...tests, "1 = 1"].join(" AND ");
    const sql = `SELECT DISTINCT ${KINDS[kind].id(key, words).text} AS e, ${shown.text} AS v FROM ${source.table} AS t0 WHERE ${where}`;
    for (const { e, v } of await driver.inspect(sql, [], { timeoutMs: 60_000, maxRows: 1e7 })) {
      const plain = type.is === "boolean" ? Number(v) === 1 : typeof v === "number" ? v : String(v);
      const target = type.is === "entity" && !attribute.identity ? `${type.kind}:${plain}` : plain;
      facts.push({ entity: `${kind}:${e}`, attribute, value: target });
    }
  }
  return facts;
}

interface DataScript {
  init_db(datoms: readonly object[], schema: object): unknown;
  q(query: string, ...inputs: unknown[]): unknown;
}

const datascript: DataScript = createRequire(import.meta.url)("datascript");

export interface Oracle {
  ask(query: string, ...inputs: unknown[]): unknown;
  /** `kind:id` of a number of DataScript's. */
  entity(number: unknown): string;
}

export function oracle(facts: readonly Fact[]): Oracle {
  const numbers = new Map<string, number>();
  const names: string[] = [""];
  const number = (name: string) => {
    const known = numbers.get(name) ?? names.length;
    if (known === names.length) names.push(name);
    numbers.set(name, known);
    return known;
  };
  const schema = Object.fromEntries(
    attributes().flatMap((attribute): [string, Record<string, string>][] => {
      const many = attribute.many ? { ":db/cardinality": ":db.cardinality/many" } : {};
      const ref: Record<string, string> = isReference(attribute) ? { ":db/valueType": ":db.type/ref" } : {};
      const unique: Record<string, string> = attribute.identity ? { ":db/unique": ":db.unique/identity" } : {};
      return [[attribute.name, { ...many, ...ref, ...unique }]];
    }),
  );
  const datoms = facts.map(({ entity, attribute, value }) => ({
    e: number(entity),
    a: attribute.name,
    v: isReference(attribute) ? number(String(value)) : value,
  }));
  const db = datascript.init_db(datoms, schema);
  return {
    ask: (query, ...inputs) => datascript.q(attributesAsText(query), db, ...inputs),
    entity: (one) => names[Number(one)] ?? `nobody:${one}`,
  };
}

/** In DataScript's JavaScript attributes are texts. */
export function attributesAsText(query: string): string {
  return query.replace(/:[a-z]+\/[-_a-z0-9]+/g, '"$&"');
}
