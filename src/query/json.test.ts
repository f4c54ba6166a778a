// The JSON form: docs/datalog.md is true of it, it cannot be confused, and hostile values are refused with their path.
import { readFileSync } from "node:fs";
import * as path from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withoutPlaces } from "../../test/query/refusal.ts";
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import { readQuery } from "./query.ts";

const PAGE = readFileSync(path.resolve(import.meta.dirname, "../../docs/datalog.md"), "utf8");
const WHERE = [["?e", ":a/x", "?x"]];

function refusal(query: unknown, inputs: unknown[] = []): HoldfastError {
  try {
    readQuery(query, inputs);
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("docs/datalog.md", () => {
  const pairs = [
    ...PAGE.matchAll(/(?:Given `(?<given>.*)`:\n\n)?```edn\n(?<edn>[^`]*)```\n(?:```json\n(?<json>[^`]*)```)?/g),
  ];

  test("QU2 shows every query in both forms, and both give the same tree", () => {
    const both = pairs.filter((pair) => pair.groups?.json !== undefined);
    expect(both.length).toBeGreaterThanOrEqual(4);
    for (const { groups } of both) {
      const inputs = JSON.parse(groups?.given ?? "[]");
      expect(withoutPlaces(readQuery(JSON.parse(groups?.json ?? ""), inputs))).toEqual(
        withoutPlaces(readQuery(groups?.edn, inputs)),
      );
    }
  });

  test("QU2 says of one that it is refused, and it is", () => {
    const [alone] = pairs.filter((pair) => pair.groups?.json === undefined);
    expect(refusal(alone?.groups?.edn).message).toContain("of or does not use");
  });
});

describe("JSON", () => {
  test.each<[string, unknown, string]>([
    ["a string", "plain", '"plain"'],
    ["a string like a variable", { string: "?x" }, '"?x"'],
    ["a string like a keyword", { string: ":x" }, '":x"'],
    ["a string like a symbol", { string: "_" }, '"_"'],
    ["a string that names a function", "count", '"count"'],
    ["a keyword", ":k/v", ":k/v"],
    ["a keyword by name", { keyword: ":k/v" }, ":k/v"],
    ["a time", { inst: "2026-01-31" }, '#inst "2026-01-31"'],
    ["a UUID", { uuid: "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6" }, '#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"'],
    ["a whole number", 5, "5"],
    ["a whole number as a decimal", 5, "5.0"],
    ["minus nothing", -0, "0"],
    ["a boolean", true, "true"],
    ["anything", "_", "_"],
    ["a lookup ref", [":a/id", "x"], '[:a/id "x"]'],
  ])("QU2 says %s as a value", (_, json, edn) => {
    const query = readQuery({ find: ["?e"], where: [["?e", ":a/x", json]] });
    expect(withoutPlaces(query)).toEqual(withoutPlaces(readQuery(`[:find ?e :where [?e :a/x ${edn}]]`)));
  });

  test("QU2 reads what ground is given as data", () => {
    const query = readQuery({
      find: ["?x"],
      where: [
        [
          ["ground", ["count", "or", ":k"]],
          ["?x", "..."],
        ],
      ],
    });
    expect(withoutPlaces(query)).toEqual(
      withoutPlaces(readQuery('[:find ?x :where [(ground ["count" "or" :k]) [?x ...]]]')),
    );
  });

  test("QU2 reads inputs as plain data, and rules as rules", () => {
    const inputs = ["?x", [":k", { keyword: ":k" }], [["_", { string: "..." }]]];
    const query = readQuery("[:find ?a :in $ ?a [?b ...] [[?c ?d]]]", inputs);
    expect(query.inputs.map((input) => input.rows)).toEqual([
      [[{ type: "string", value: "?x" }]],
      [[{ type: "string", value: ":k" }], [{ type: "keyword", value: ":k" }]],
      [
        [
          { type: "string", value: "_" },
          { type: "string", value: "..." },
        ],
      ],
    ]);
    const rules = [
      [
        ["r", "?x"],
        ["?x", ":a/x", "?x"],
      ],
    ];
    const find = { find: ["?e"], in: ["%", "?y"], where: [["r", "?e"]] };
    const inside = { find: ["?e"], in: ["?y"], where: [["r", "?e"]], rules };
    expect(withoutPlaces(readQuery(find, [rules, 1]))).toEqual(withoutPlaces(readQuery(inside, [1])));
    expect(withoutPlaces(readQuery(find, ["[[(r ?x) [?x :a/x ?x]]]", 1]))).toEqual(
      withoutPlaces(readQuery(inside, [1])),
    );
  });

  test("QU2 takes a direction as a word too, and ignores parts that are undefined", () => {
    const query = readQuery({ find: ["?x"], where: WHERE, orderBy: [["?x", "desc"]], limit: undefined });
    expect(query).toMatchObject({ orderBy: [{ direction: "desc" }], limit: null });
  });

  test.each<[string, unknown, string]>([
    ["null", null, "the query is neither EDN text nor such an object"],
    ["an array", [], "the query is neither EDN text nor such an object"],
    ["a number", 5, "the query is neither EDN text nor such an object"],
    ["a Map", new Map(), "the query is neither EDN text nor such an object"],
    ["no find", {}, "the query has no :find"],
    ["an unknown part", { find: ["?x"], order: [] }, "a query has no such part (at order)"],
    ["a part of Object", JSON.parse('{"find":["?x"],"__proto__":[]}'), "a query has no such part (at __proto__)"],
    ["a part that is inherited", { find: ["?x"], constructor: [] }, "a query has no such part (at constructor)"],
    ["find without an array", { find: "?x", where: WHERE }, ":find must be a vector, not ?x (at find)"],
    ["an aggregate not in an array", { find: ["count", "?x"], where: WHERE }, ':find cannot hold "count" (at find[0])'],
    ["a bad variable", { find: ["? x"], where: WHERE }, '"? x" is no variable (at find[0])'],
    ["a bad keyword", { find: ["?x"], where: [["?x", ": a"]] }, '": a" is no keyword (at where[0][1])'],
    ["a name that cannot be called", { find: ["?x"], where: [["a b"]] }, '"a b" is no name to call (at where[0])'],
    ["a string as an entity", { find: ["?x"], where: [["s1", ":a/x", "?x"]] }, "there is no rule s1 (at where[0])"],
    ["an empty object", { find: ["?x"], where: [["?x", ":a/x", {}]] }, "such an object has no meaning here"],
    [
      "a strange object",
      { find: ["?x"], where: [["?x", ":a/x", { a: 1 }]] },
      'the object with "a" has no meaning here',
    ],
    ["two tags", { find: ["?x"], where: [["?x", ":a/x", { string: "a", inst: "b" }]] }, "has no meaning here"],
    ["a tag of a number", { find: ["?x"], where: [["?x", ":a/x", { string: 5 }]] }, '{"string": …} holds a string'],
    ["a time that is none", { find: ["?x"], where: [["?x", ":a/x", { inst: "2026-02-30" }]] }, "is not a time"],
    ["a time with a quote", { find: ["?x"], where: [["?x", ":a/x", { inst: '" 5' }]] }, "is no #inst"],
    ["a keyword that is none", { find: ["?x"], where: [["?x", ":a/x", { keyword: "k" }]] }, '"k" is no keyword'],
    ["null as a value", { find: ["?x"], where: [["?x", ":a/x", null]] }, "is nil, which no fact is (at where[0][2])"],
    ["NaN", { find: ["?x"], where: [["?x", ":a/x", Number.NaN]] }, "NaN is too large a number to be exact, or none"],
    ["2^53", { find: ["?x"], where: [["?x", ":a/x", 2 ** 53]] }, "too large a number"],
    ["a bigint", { find: ["?x"], where: [["?x", ":a/x", 1n]] }, "bigint is not JSON (at where[0][2])"],
    ["undefined", { find: ["?x"], where: [["?x", ":a/x", undefined]] }, "undefined is not JSON"],
    ["a hole in an array", { find: ["?x"], where: [["?x", ":a/x", new Array(1)]] }, "undefined is not JSON"],
    ["a function", { find: ["?x"], where: [() => 1] }, "function is not JSON (at where[0])"],
    ["a Date", { find: ["?x"], where: [["?x", ":a/x", new Date(0)]] }, "such an object has no meaning here"],
    ["a lone surrogate", { find: ["?x"], where: [["?x", ":a/x", "\ud800"]] }, "lone surrogate"],
    ["NUL", { find: ["?x"], where: [["?x", ":a/x", "\0"]] }, "NUL character"],
    ["a pull of a map with a bad key", { find: [["pull", "?x", [{ a: ["*"] }]]], where: WHERE }, '"a" is no attribute'],
    ["a pull with half a key", { find: [["pull", "?x", [{ of: [":a"] }]]], where: WHERE }, '"of" stands beside "pull"'],
    ["a map outside a pull", { find: ["?x"], where: [{ ":a": ["*"] }] }, "has no meaning here"],
    ["a limit of text", { find: ["?x"], where: WHERE, limit: "10" }, ":limit must be a whole number from 0, not"],
  ])("QU2 that is wrong is refused with its path: %s", (_, query, message) => {
    const error = refusal(query);
    expect([error.code, error.message]).toEqual(["InvalidQuery", expect.stringContaining(message)]);
  });

  test("ST8 bombs are LimitExceeded", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    const cycle: unknown[] = ["?x"];
    cycle.push(cycle);
    const circle: Record<string, unknown> = {};
    circle[":a"] = circle;
    const limitOf = (where: unknown, inputs?: unknown[]) => refusal({ find: ["?x"], where }, inputs).details.limit;
    expect(limitOf([deep])).toBe("queryDepth");
    expect(limitOf([cycle])).toBe("queryDepth");
    expect(refusal({ find: [["pull", "?x", [circle]]] }).details.limit).toBe("queryDepth");
    expect(limitOf(new Array(LIMITS.queryForms + 1).fill(1))).toBe("queryForms");
    expect(limitOf([["?x", ":a", "x".repeat(10_000_000)]])).toBe("queryBytes");
    expect(limitOf(WHERE, [deep])).toBe("queryDepth");
    expect(refusal({ find: ["?x"], in: ["%"] }, [[deep]]).details.limit).toBe("queryDepth");
    expect(refusal({ find: ["?x"], in: ["%"] }, ["[".repeat(100_000)]).details.limit).toBe("queryDepth");
  });

  test("ST7 whatever the value is, it is read or refused with a typed error", () => {
    const word = fc.constantFrom(
      "?x",
      ":a/x",
      "_",
      "$",
      "...",
      ".",
      "not",
      "or-join",
      "pull",
      "ground",
      "count",
      "*",
      "a b",
      "",
    );
    const value = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4, depthSize: "medium" },
        word,
        fc.anything({ withDate: true, withMap: true, withBigInt: true, withSparseArray: true, maxDepth: 2 }),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(fc.oneof(word, fc.constantFrom("string", "inst", "of", "pull")), tie("value"), { maxKeys: 2 }),
      ),
    })).value;
    const parts = fc.constantFrom("find", "with", "in", "where", "rules", "orderBy", "limit", "offset");
    const queries = fc.oneof(value, fc.dictionary(parts, fc.oneof(value, fc.array(value, { maxLength: 3 }))));
    fc.assert(
      fc.property(queries, fc.array(value, { maxLength: 2 }), (query, inputs) => {
        try {
          readQuery(query, inputs);
        } catch (error) {
          if (!(error instanceof HoldfastError)) throw error;
          expect(["InvalidQuery", "LimitExceeded"]).toContain(error.code);
        }
      }),
      { numRuns: 3000 },
    );
  });
});
