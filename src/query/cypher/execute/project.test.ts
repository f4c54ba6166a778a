// RETURN and WITH: columns, aggregates, DISTINCT, ORDER BY, SKIP, LIMIT, and UNION.
import { beforeAll, describe, expect, test } from "vitest";
import { CypherGraph } from "../../../../test/query/cypher-graph.ts";

const graph = new CypherGraph();

beforeAll(async () => {
  await graph.run(`UNWIND [['a', 1, 10], ['a', 2, 20.5], ['b', 3, null], ['b', 1, 5]] AS row
    CREATE (:Item {kind: row[0], rank: row[1], price: row[2]})`);
});

describe("aggregates", () => {
  test.each<[string, readonly string[]]>([
    ["MATCH (n) RETURN count(*), count(n.price), count(DISTINCT n.kind)", ["4 | 3 | 2"]],
    ["MATCH (n) RETURN n.kind AS k, sum(n.price) ORDER BY k", ["'a' | 30.5", "'b' | 5"]],
    ["MATCH (n) RETURN min(n.price), max(n.price), avg(n.rank)", ["5 | 20.5 | 1.75"]],
    ["MATCH (n:None) RETURN count(n), sum(n.x), avg(n.x), min(n.x), collect(n.x)", ["0 | 0 | null | null | []"]],
    ["MATCH (n:None) RETURN n.kind, count(n)", []],
    [
      "MATCH (n) WITH n ORDER BY n.rank, n.kind RETURN collect(n.rank), collect(DISTINCT n.rank)",
      ["[1, 1, 2, 3] | [1, 2, 3]"],
    ],
    ["UNWIND [1, '1', 2.5, null] AS x RETURN max(x), min(x)", ["2.5 | '1'"]],
    ["UNWIND [1, 2, 3, 4] AS x RETURN percentileDisc(x, 0.5), percentileCont(x, 0.5)", ["2 | 2.5"]],
    ["UNWIND [2, 4] AS x RETURN stDevP(x), round(stDev(x), 3)", ["1.0 | 1.414"]],
    ["MATCH (n) RETURN n.kind AS k, count(*) * 10 + 1 AS c ORDER BY k", ["'a' | 21", "'b' | 21"]],
    ["MATCH (n) WITH n.kind AS k, count(*) AS c WHERE c > 5 RETURN k", []],
    ["MATCH (n) RETURN n.rank AS r, count(*) AS c ORDER BY count(*) DESC, r LIMIT 2", ["1 | 2", "2 | 1"]],
    ["MATCH (n) RETURN {kind: n.kind, count: count(*)} AS m ORDER BY n.kind", []],
    ["UNWIND [null, null, 0.0 / 0.0, 0.0 / 0.0, 1, 1.0] AS x RETURN x, count(*)", ["null | 2", "NaN | 2", "1 | 2"]],
  ])("%s", async (query, rows) => {
    if (query.includes("{kind: n.kind")) expect(await graph.refusal(query)).toContain("AmbiguousAggregationExpression");
    else expect(await graph.rows(query)).toEqual(rows);
  });

  test("a sum that leaves 64 bits is an error", async () => {
    expect(await graph.refusal("UNWIND [9223372036854775807, 1] AS x RETURN sum(x)")).toBe(
      "ArithmeticError runtime: IntegerOverflow",
    );
  });

  test("percentiles need a share from 0 to 1", async () => {
    expect(await graph.refusal("UNWIND [1] AS x RETURN percentileCont(x, 2)")).toBe(
      "ArgumentError runtime: NumberOutOfRange",
    );
  });
});

describe("ORDER BY, SKIP, LIMIT, DISTINCT", () => {
  test.each<[string, readonly string[]]>([
    ["MATCH (n) RETURN n.rank ORDER BY n.kind DESC, n.rank", ["1", "3", "1", "2"]],
    ["MATCH (n) RETURN n.rank AS r ORDER BY n.price", ["1", "1", "2", "3"]],
    ["MATCH (n) RETURN n.rank AS r ORDER BY n.price DESC", ["3", "2", "1", "1"]],
    ["MATCH (n) RETURN DISTINCT n.kind ORDER BY n.kind", ["'a'", "'b'"]],
    ["MATCH (n) RETURN n.rank AS r ORDER BY r SKIP 1 LIMIT 2", ["1", "2"]],
    ["MATCH (n) RETURN n.rank AS r ORDER BY r SKIP $s LIMIT toInteger('1') + 1", ["2", "3"]],
    ["MATCH (n) RETURN n LIMIT 0", []],
    ["UNWIND [3, 1, 2] AS x WITH x ORDER BY x LIMIT 2 RETURN collect(x)", ["[1, 2]"]],
    ["UNWIND [1, 2, 3] AS x WITH x AS y, -x AS x ORDER BY x RETURN y", ["3", "2", "1"]],
    ["UNWIND [1, 2] AS x WITH x + 1 AS y WHERE x = 2 RETURN y", ["3"]],
    ["UNWIND [1, 2, 3] AS x WITH x LIMIT 2 WHERE x > 1 RETURN x", ["2"]],
    ["UNWIND range(1, 5000) AS x RETURN x ORDER BY -x LIMIT 2", ["5000", "4999"]],
    ["UNWIND range(1, 5000) AS x WITH x ORDER BY x % 7, x RETURN x SKIP 4998", ["4990", "4997"]],
    ["MATCH (n) WITH *, n.rank AS r ORDER BY r LIMIT 1 RETURN r", ["1"]],
  ])("%s", async (query, rows) => {
    expect(await graph.rows(query, { s: 2 })).toEqual(rows);
  });

  test("rows that ORDER BY does not tell apart stay in their order", async () => {
    const rows = await graph.rows("UNWIND range(1, 9000) AS x RETURN x ORDER BY x % 2");
    const numbers = Array.from({ length: 9000 }, (_, index) => index + 1);
    const sorted = [...numbers.filter((x) => x % 2 === 0), ...numbers.filter((x) => x % 2 === 1)];
    expect(rows).toEqual(sorted.map(String));
  });

  test.each<[string, object, string]>([
    ["RETURN 1 LIMIT $n", { n: -1 }, "SyntaxError runtime: NegativeIntegerArgument"],
    ["RETURN 1 SKIP $n", { n: 1.5 }, "SyntaxError runtime: InvalidArgumentType"],
    ["RETURN 1 LIMIT $n", { n: null }, "SyntaxError runtime: InvalidArgumentType"],
  ])("%s with %j", async (query, parameters, refusal) => {
    expect(await graph.refusal(query, parameters)).toBe(refusal);
  });

  test("LIMIT does not stop the writes before it", async () => {
    const own = new CypherGraph();
    await own.run("UNWIND range(1, 3) AS x CREATE (n:N) RETURN n LIMIT 0");
    await own.run("UNWIND range(1, 1000) AS x CREATE (n:N) WITH n LIMIT 1 SET n.first = true");
    expect(await own.rows("MATCH (n:N) RETURN count(n), count(n.first)")).toEqual(["1003 | 1"]);
  });
});

describe("UNION", () => {
  test.each<[string, readonly string[]]>([
    ["RETURN 1 AS x UNION RETURN 1.0 AS x UNION RETURN 2 AS x", ["1", "2"]],
    ["RETURN 1 AS x UNION ALL RETURN 1 AS x", ["1", "1"]],
    ["UNWIND [1, 1] AS x RETURN x UNION UNWIND [null, null] AS x RETURN x", ["1", "null"]],
  ])("%s", async (query, rows) => {
    expect(await graph.rows(query)).toEqual(rows);
  });
});
