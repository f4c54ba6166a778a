// Generated queries, asked of the compiler on both engines and of DataScript loaded with the same facts. A failure names
// the seed and the query; HOLDFAST_QUERY_SEED runs that one alone,
// HOLDFAST_QUERY_COUNT as many as it says.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { attributes } from "../../src/query/catalogue.ts";
import { scaled } from "../../src/testing/scale.ts";
import { ENGINES, type EngineStore } from "../engines.ts";
import { attributesAsText, type Fact, factsOf, type Oracle, oracle } from "./facts.ts";
import { type GeneratedQuery, generate, type Pool, poolOf } from "./generate.ts";
import { random } from "./random.ts";
import { fillStore } from "./store.ts";

const STORE_SEED = 20260131;
const QUERIES = Number(process.env.HOLDFAST_QUERY_COUNT ?? scaled({ short: 80, long: 2000 }));
const only = process.env.HOLDFAST_QUERY_SEED;
/** Seeds that found something: a recursive pull that ends at its depth. */
const KEPT_SEEDS = [604, 1752];
const FIRST_SEEDS = Array.from({ length: QUERIES }, (_, i) => i + 1);
const SEEDS = only === undefined ? [...new Set([...FIRST_SEEDS, ...KEPT_SEEDS])] : [Number(only)];

interface Side {
  readonly name: string;
  readonly ground: EngineStore;
  readonly store: Holdfast;
  readonly facts: readonly Fact[];
}

const sides: Side[] = [];
let expected: Oracle;
let pool: Pool;

beforeAll(async () => {
  for (const engine of ENGINES) {
    const ground = await engine.fresh();
    await fillStore(ground, STORE_SEED, { sessions: 6, events: 11 });
    sides.push({ name: engine.name, ground, store: await open(ground.url), facts: await factsOf(ground.driver) });
  }
  const facts = sides[0]?.facts ?? [];
  expected = oracle(facts);
  pool = poolOf(facts);
});

afterAll(async () => {
  for (const { store, ground } of sides) {
    await store.close();
    await ground.end();
  }
});

const key = (fact: Fact) => JSON.stringify([fact.entity, fact.attribute.name, fact.value]);

test("QU1 both engines hold the same facts", () => {
  const [first, ...others] = sides.map(({ facts }) => facts.map(key).sort());
  for (const other of others) expect(other).toEqual(first);
  expect(first?.length).toBeGreaterThan(800);
});

function ownText({ find, where, rules }: GeneratedQuery): string {
  return `[:find ${find} :where ${where}${rules === null ? "" : ` :rules ${rules}`}]`;
}

function theirText({ find, ordered, rules }: GeneratedQuery): string {
  return `[:find ${find}${rules === null ? "" : " :in $ %"} :where ${ordered}]`;
}

/** Doubles are added in another order on each side. */
function rounded(value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(12)) : value;
}

const ID_LINKS = new Set(
  attributes().flatMap(({ name }) => (attributes().some((other) => `${other.name}-id` === name) ? [name] : [])),
);

const plainId = (entity: string) => entity.slice(entity.indexOf(":") + 1);

/** A tree of DataScript's as ours is: references are ids, sets are ordered, what has nothing is nothing. */
function theirTree(value: unknown, isTop: boolean): unknown {
  if (Array.isArray(value)) return sorted(value.map((one) => theirTree(one, false)).filter((one) => one !== null));
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return rounded(value);
  // The number of an entity has two names, one per engine under test.
  const { ":db/id": own, id = own, ...rest } = value as Record<string, unknown>;
  const entries = Object.entries(rest).filter(([name, one]) => one !== null && !(isTop && ID_LINKS.has(name)));
  if (entries.length === 0) return id === undefined || isTop ? null : plainId(expected.entity(id));
  return Object.fromEntries(entries.map(([name, one]): [string, unknown] => [name, theirTree(one, false)]).sort());
}

function ownTree(value: unknown): unknown {
  if (Array.isArray(value)) return sorted(value.map(ownTree));
  if (value === null || typeof value !== "object") return rounded(value);
  const entries = Object.entries(value).filter(([name]) => !ID_LINKS.has(name));
  return Object.fromEntries(entries.map(([name, one]): [string, unknown] => [name, ownTree(one)]).sort());
}

function sorted(items: readonly unknown[]): readonly unknown[] {
  return [...items].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function rowSet(answer: unknown, row: (cells: readonly unknown[]) => unknown): readonly string[] {
  return (answer as readonly unknown[][]).map((cells) => JSON.stringify(row(cells))).sort();
}

describe.each(SEEDS)("query of seed %i", (seed) => {
  test("QU1 gives what DataScript gives, on both engines", async () => {
    const query = generate(random(seed), pool);
    const text = ownText(query);
    const rules = query.simpleRules === null ? [] : [attributesAsText(query.simpleRules)];
    const theirs = rowSet(expected.ask(theirText(query), ...rules), (cells) =>
      cells.map((cell, i) => {
        const kind = query.columns[i];
        if (kind === "pull") return theirTree(cell, true);
        return kind === "entity" ? plainId(expected.entity(cell)) : rounded(cell);
      }),
    );
    for (const { name, store } of sides) {
      const answer = await store.query(text, [], { timeoutMs: 60_000 }).catch((error) => {
        throw new Error(`seed ${seed} on ${name}: ${error.code} ${error.message}\n${text}`, { cause: error });
      });
      const own = rowSet(answer, (cells) =>
        cells.map((cell, i) => (query.columns[i] === "pull" ? ownTree(cell) : rounded(cell))),
      );
      expect(own, `seed ${seed} on ${name}: ${text}`).toEqual(theirs);
    }
  });
});

test("QU1 the generated queries are not all empty", async () => {
  if (only !== undefined) return;
  let filled = 0;
  for (const seed of SEEDS) {
    const answer = await sides[0]?.store.query(ownText(generate(random(seed), pool)));
    if (Array.isArray(answer) && answer.length > 0) filled++;
  }
  expect(filled).toBeGreaterThan(SEEDS.length / 2);
});
