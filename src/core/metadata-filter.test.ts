// A filter means what its parts say, refuses what it does not know, and answers the same from the index of either engine.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../test/engines.ts";
import { isHoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { FieldCondition, MetadataFilter } from "../contracts/metadata-filter.ts";
import { SqlStorage } from "../storage/sql/store.ts";
import { realEnvironment } from "./environment.ts";
import { matchesFilter, parseFilter } from "./metadata-filter.ts";
import { addFieldWrites, findItems, removeFieldsWrite, removeScopeFieldsWrite } from "./metadata-index.ts";

const matches = (filter: MetadataFilter, metadata: JsonObject) => matchesFilter(parseFilter(filter), metadata);

const ADA = {
  name: "Ada",
  age: 36,
  admin: true,
  left: null,
  tags: ["math", "poetry", 7],
  home: { city: "London", floor: -2 },
  "home.city": "Paris",
  jobs: [{ at: "Analytical" }, { at: "Difference" }],
};

test.each<readonly [MetadataFilter, boolean]>([
  [{}, true],
  [{ name: "Ada" }, true],
  [{ name: "ada" }, false],
  [{ age: "36" }, false],
  [{ age: 36 }, true],
  [{ admin: 1 }, false],
  [{ left: null }, true],
  [{ gone: null }, false],
  [{ gone: { exists: false }, left: { exists: true }, home: { exists: true } }, true],
  [{ name: { ne: "Bob" } }, true],
  [{ gone: { ne: "Bob" } }, true],
  [{ name: { in: ["Bob", "Ada"] } }, true],
  [{ name: { in: [] } }, false],
  [{ name: { nin: [] } }, true],
  [{ name: { nin: ["Ada"] } }, false],
  [{ tags: "poetry" }, true],
  [{ tags: 7 }, true],
  [{ tags: { nin: ["poetry"] } }, false],
  [{ age: { gt: 36 } }, false],
  [{ age: { gte: 36, lt: 37 } }, true],
  [{ age: { lte: 35.9 } }, false],
  [{ "home.floor": { lt: -1.5 } }, true],
  [{ "home.floor": { gt: -3 } }, true],
  [{ name: { gt: "A", lt: "B" } }, true],
  [{ name: { gt: 0 } }, false],
  // A name with a dot in it and a field inside an object are named alike.
  [{ "home.city": "London" }, true],
  [{ "home.city": "Paris" }, true],
  [{ "jobs.at": "Difference" }, true],
  [{ and: [{ name: "Ada" }, { or: [{ age: 1 }, { admin: true }] }] }, true],
  [{ or: [] }, false],
  [{ and: [] }, true],
  [{ not: { name: "Ada" } }, false],
  [{ name: "Ada", age: 1 }, false],
])("ME9 %j is %s", (filter, is) => {
  expect(matches(filter, ADA)).toBe(is);
});

test("ME9 texts compare by their UTF-8 bytes, also long ones, and lone surrogates are data", () => {
  // In UTF-16, the order of JavaScript, the emoji comes before the full-width letter.
  expect(matches({ t: { gt: "\uff21" } }, { t: "\u{1f600}" })).toBe(true);
  const long = "x".repeat(LIMITS.filterTextBytes);
  expect(matches({ t: long }, { t: long })).toBe(true);
  expect(matches({ t: long }, { t: `${long}x` })).toBe(false);
  expect(matches({ t: { gt: long } }, { t: `${long}${long}` })).toBe(true);
  expect(matches({ t: "\ufffd" }, { t: "\ud800" })).toBe(true);
  expect(matches({ t: "a\0b" }, { t: "a\0b" })).toBe(true);
});

test("ME9 names that mean something to JavaScript are fields like any other", () => {
  const strange = JSON.parse('{"__proto__": 1, "constructor": 2, "toString": 3, "and": 4, "not": 5}');
  const filter = JSON.parse(
    '{"__proto__": 1, "constructor": {"gt": 1}, "toString": {"exists": true}, "and": 4, "not": 5}',
  );
  expect(matches(filter, strange)).toBe(true);
  expect(matches(filter, {})).toBe(false);
  expect(matches({ toString: { exists: true } as FieldCondition }, {})).toBe(false);
  expect(Object.prototype).not.toHaveProperty("gt");
});

const NESTED = Array.from({ length: 40 }).reduce<MetadataFilter>((inner) => ({ not: inner }), {});
const INJECTION = "'; DROP TABLE metadata_fields; --";

test.each<readonly [unknown, string, string]>([
  [null, "InvalidArgument", "filter must be"],
  ["name = 'Ada'", "InvalidArgument", "filter must be"],
  [[{ name: "Ada" }], "InvalidArgument", "filter must be"],
  [new Map([["name", "Ada"]]), "InvalidArgument", "filter must be"],
  // A variable that is not set must not widen the search.
  [{ user: undefined }, "InvalidArgument", "filter.user"],
  [{ user: { eq: undefined } }, "InvalidArgument", "filter.user.eq"],
  [{ age: Number.NaN }, "InvalidArgument", "filter.age"],
  [{ tags: ["a"] }, "InvalidArgument", "filter.tags"],
  [{ name: {} }, "InvalidArgument", "filter.name"],
  [{ name: { $eq: "Ada" } }, "InvalidArgument", "filter.name"],
  [{ name: { [INJECTION]: 1 } }, "InvalidArgument", "filter.name"],
  [{ age: { gt: true } }, "InvalidArgument", "filter.age.gt"],
  [{ age: { in: 1 } }, "InvalidArgument", "filter.age.in"],
  [{ age: { in: [[1]] } }, "InvalidArgument", "filter.age.in[0]"],
  [{ age: { exists: "yes" } }, "InvalidArgument", "filter.age.exists"],
  [{ or: [{ age: { like: "x" } }] }, "InvalidArgument", "filter.or[0].age"],
  [{ name: "\ud800" }, "InvalidText", "filter.name"],
  [{ name: "x".repeat(LIMITS.filterTextBytes + 1) }, "LimitExceeded", "filter.name"],
  [{ ["x".repeat(LIMITS.filterPathBytes + 1)]: 1 }, "LimitExceeded", "filterPathBytes"],
  [{ age: { in: Array.from({ length: LIMITS.filterConditions }, () => 1) } }, "LimitExceeded", "filterConditions"],
  [{ or: Array.from({ length: 300 }, () => ({ a: { gt: 1, lt: 2 }, b: 1 })) }, "LimitExceeded", "filterConditions"],
  [NESTED, "LimitExceeded", "filterDepth"],
])("ME9 %j is refused as %s, and the error names the place", (filter, code, place) => {
  const error = (() => {
    try {
      return parseFilter(filter);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(isHoldfastError(error) && error.code).toBe(code);
  expect(String(error)).toContain(place);
});

test("ME9 metadata with more fields than an index may have is refused", () => {
  const many = { list: Array.from({ length: LIMITS.metadataFields }, (_, i) => i) };
  expect(() => addFieldWrites({ kind: "documents", scope: 1 }, 1, many)).toThrow("metadataFields");
});

const NAMES = ["a", "b", "a.b", "ü", "__proto__", "drop table", "'"];
const scalar = fc.oneof(
  fc.constantFrom<string | number | boolean | null>(null, true, false, 0, -0, 1, -1, 2.5, 1e300, -1e-300, "", "a", "A"),
  fc.constantFrom("\u{1f600}", "\uff21", INJECTION, "a\0", "x".repeat(600)),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const metadata = fc.dictionary(
  fc.constantFrom(...NAMES),
  fc.oneof(
    scalar,
    fc.array(scalar, { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("b", "c"), scalar, { maxKeys: 2 }),
  ),
  { maxKeys: 4, noNullPrototype: true },
);
const short = scalar.filter((value) => typeof value !== "string" || value.length <= 512);
const ordered = short.filter((value) => typeof value === "string" || typeof value === "number");
const condition = fc.oneof(
  short,
  fc.record({ eq: short }),
  fc.record({ ne: short }),
  fc.record({ in: fc.array(short, { maxLength: 3 }) }),
  fc.record({ nin: fc.array(short, { maxLength: 3 }) }),
  fc.record({ gt: ordered }),
  fc.record({ gte: ordered, lt: ordered }),
  fc.record({ lte: ordered }),
  fc.record({ exists: fc.boolean() }),
);
const { filter } = fc.letrec<{ filter: MetadataFilter }>((tie) => ({
  filter: fc.oneof(
    { depthSize: "small" },
    fc.dictionary(fc.constantFrom(...NAMES, "a.c"), condition, {
      maxKeys: 2,
      noNullPrototype: true,
    }) as fc.Arbitrary<MetadataFilter>,
    fc.record({ and: fc.array(tie("filter"), { maxLength: 3 }) }),
    fc.record({ or: fc.array(tie("filter"), { maxLength: 3 }) }),
    fc.record({ not: tie("filter") }),
  ),
}));

describe.each(ENGINES)("the index of metadata on $name", (engine) => {
  let ground: EngineStore;
  let storage: SqlStorage;
  beforeAll(async () => {
    ground = await engine.fresh();
    storage = new SqlStorage(ground.driver, realEnvironment());
  });
  afterAll(() => ground.end());

  test("ME9 finds exactly the items whose metadata matches", async () => {
    let scope = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(metadata, { maxLength: 12 }),
        fc.array(filter, { maxLength: 8 }),
        async (items, filters) => {
          scope++;
          const writes = items.flatMap((one, i) => [
            ...addFieldWrites({ kind: "documents", scope }, i + 1, one),
            // Items of other scopes and kinds are never found.
            ...addFieldWrites({ kind: "memories", scope }, i + 1, { ...one, a: "other" }),
          ]);
          await storage.commit({ writes });
          for (const one of filters) {
            const parsed = parseFilter(one);
            if (parsed === null) continue;
            const all = async () => items.map((_, i) => i + 1);
            const found = await findItems(storage, { kind: "documents", scope }, parsed, all);
            expect(found).toEqual((await all()).filter((item) => matchesFilter(parsed, items[item - 1] ?? {})));
          }
        },
      ),
      { numRuns: engine.name === "sqlite" ? 150 : 40, seed: 7 },
    );
  });

  test("ME9 a removed item and a removed scope leave no row", async () => {
    const scope = { kind: "documents", scope: 1_000_000 };
    const find = () => findItems(storage, scope, parseFilter({ a: { exists: true } }) as never, async () => []);
    const writes = [1, 2, 3].flatMap((item) => addFieldWrites(scope, item, { a: [1, 2], secret: "plover" }));
    await storage.commit({ writes });
    expect(await find()).toEqual([1, 2, 3]);
    await storage.commit({ writes: [removeFieldsWrite(scope, 2)] });
    expect(await find()).toEqual([1, 3]);
    await storage.commit({ writes: [removeScopeFieldsWrite(scope)] });
    expect(await find()).toEqual([]);
    const rows = await ground.driver.read("SELECT 1 FROM metadata_fields WHERE scope = 1000000", []);
    expect(rows).toEqual([]);
  });

  test("ME9 a field with more items than a page of the index gives all of them", async () => {
    const scope = { kind: "documents", scope: 2_000_000 };
    const items = Array.from({ length: 12_000 }, (_, i) => i + 1);
    await storage.commit({ writes: items.flatMap((item) => addFieldWrites(scope, item, { n: item % 2 })) });
    const some = parseFilter({ n: { gte: 0 } }) as never;
    expect(await findItems(storage, scope, some, async () => [])).toEqual(items);
  });
});
