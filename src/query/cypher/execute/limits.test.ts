// Queries that would take everything: each ends with a typed error within its limit, and the event loop runs meanwhile.
import { beforeAll, describe, expect, test } from "vitest";
import { CypherGraph } from "../../../../test/query/cypher-graph.ts";
import type { Environment } from "../../../contracts/environment.ts";
import { platformEnvironment } from "../../../core/platform-environment.ts";

const graph = new CypherGraph();

beforeAll(async () => {
  await graph.run("UNWIND range(1, 60) AS i CREATE (:P {i: i})");
  await graph.run("MATCH (a:P), (b:P) WHERE a.i < b.i AND b.i < 15 CREATE (a)-[:K]->(b)");
});

/** A clock that goes on by itself: every look at it costs a tenth of a millisecond. */
function countingEnvironment(): { environment: Environment; turns: () => number } {
  const platform = platformEnvironment();
  let ms = 0;
  let turns = 0;
  const environment: Environment = {
    ...platform,
    monotonic: () => {
      ms += 0.1;
      return ms;
    },
    defer: (run) => {
      turns++;
      platform.defer(run);
    },
  };
  return { environment, turns: () => turns };
}

const ENDLESS = [
  ["a product", "MATCH (a), (b), (c), (d), (e) RETURN count(*)"],
  ["unbounded paths", "MATCH p = (a)-[*]-(b) RETURN count(p)"],
  ["rows of rows", "UNWIND range(1, 1000000) AS x UNWIND range(1, 1000000) AS y RETURN count(*)"],
  ["lists in lists", "RETURN size([x IN range(1, 100000) | size([y IN range(1, 100000) WHERE y < 0])])"],
  ["a long reduce", "RETURN reduce(s = 0, x IN range(1, 1000000) | s + size([y IN range(1, 1000) WHERE y < 0]))"],
  ["a quantifier", "RETURN any(x IN range(1, 1000000) WHERE none(y IN range(1, 1000) WHERE y = x))"],
  [
    "a subquery for each row",
    "MATCH (a), (b), (c) WHERE EXISTS { MATCH (a)-[*]-(x) WITH count(x) AS n RETURN n } RETURN 1",
  ],
] as const;

describe("time", () => {
  test.each(ENDLESS)("ends %s, and the event loop runs", async (_, query) => {
    const { environment, turns } = countingEnvironment();
    expect(await graph.refusal(query, {}, { environment, limits: { timeoutMs: 400 } })).toBe("QueryTimeout");
    // 400 ms in slices of 10 ms.
    expect(turns()).toBeGreaterThan(20);
  });
});

describe("rows and values", () => {
  test.each([
    ["UNWIND range(1, 11) AS x RETURN x", { maxRows: 10 }, "LimitExceeded cypherRows"],
    ["MATCH (a), (b) RETURN count(*)", { maxIntermediateRows: 1000 }, "LimitExceeded cypherIntermediateRows"],
    ["MATCH (a)-[*]->(b) RETURN count(*)", { maxIntermediateRows: 1000 }, "LimitExceeded cypherIntermediateRows"],
    [
      "UNWIND range(1, 5000) AS x UNWIND [1, 2] AS y RETURN count(*)",
      { maxIntermediateRows: 9000 },
      "LimitExceeded cypherIntermediateRows",
    ],
    ["UNWIND range(1, 2000) AS x RETURN collect(x)", { maxHeldValues: 1000 }, "LimitExceeded cypherHeldValues"],
    ["UNWIND range(1, 2000) AS x RETURN DISTINCT x", { maxHeldValues: 1000 }, "LimitExceeded cypherHeldValues"],
    [
      "UNWIND range(1, 2000) AS x WITH x ORDER BY x RETURN 1",
      { maxHeldValues: 1000 },
      "LimitExceeded cypherHeldValues",
    ],
    ["UNWIND range(1, 2000) AS x CREATE (:N)", { maxHeldValues: 1000 }, "LimitExceeded cypherHeldValues"],
    ["RETURN [x IN range(1, 2000) | x]", { maxHeldValues: 1000 }, "LimitExceeded cypherHeldValues"],
    // Rows of one batch must not hold more than all rows may.
    [
      "UNWIND range(1, 1000) AS x WITH range(1, 1000) AS l RETURN count(l)",
      { maxHeldValues: 9000 },
      "LimitExceeded cypherHeldValues",
    ],
    [
      "UNWIND range(1, 200) AS x RETURN collect(range(1, 100))",
      { maxHeldValues: 9000 },
      "LimitExceeded cypherHeldValues",
    ],
    [
      "UNWIND range(1, 200) AS x WITH range(1, 100) AS l ORDER BY x RETURN 1",
      { maxHeldValues: 9000 },
      "LimitExceeded cypherHeldValues",
    ],
    [
      "UNWIND range(1, 200) AS x RETURN collect(reduce(t = 'a', i IN range(1, 12) | t + t) + x)",
      { maxHeldValues: 9000 },
      "LimitExceeded cypherHeldValues",
    ],
  ])("%s within %j", async (query, limits, refusal) => {
    expect(await graph.refusal(query, {}, { limits })).toBe(refusal);
  });

  test.each([
    ["RETURN size(range(1, 9000000000))", "LimitExceeded cypherListItems"],
    ["RETURN reduce(l = [1], x IN range(1, 40) | l + l)", "LimitExceeded cypherListItems"],
    ["RETURN reduce(t = 'abcd', x IN range(1, 40) | t + t)", "LimitExceeded cypherTextChars"],
    ["RETURN reduce(t = 'aa', x IN range(1, 40) | replace(t, 'a', 'aa'))", "LimitExceeded cypherTextChars"],
    ["RETURN reduce(l = [], x IN range(1, 600) | [l])", "LimitExceeded cypherValueDepth"],
    ["RETURN DISTINCT reduce(l = [], x IN range(1, 100000) | [l])", "LimitExceeded cypherValueDepth"],
    ["WITH reduce(l = {}, x IN range(1, 100000) | {a: l}) AS m RETURN m = m", "LimitExceeded cypherValueDepth"],
  ])("%s: %s", async (query, refusal) => {
    expect(await graph.refusal(query)).toBe(refusal);
  });

  test("ORDER BY with LIMIT holds only what can be in the result", async () => {
    const query = "UNWIND range(1, 50000) AS x RETURN x ORDER BY -x";
    const limits = { maxHeldValues: 80_000 };
    expect(await graph.rows(`${query} LIMIT 2`, {}, { limits })).toEqual(["50000", "49999"]);
    expect(await graph.refusal(query, {}, { limits })).toBe("LimitExceeded cypherHeldValues");
  });

  test("LIMIT ends reading early", async () => {
    const limits = { maxIntermediateRows: 5000 };
    expect(await graph.rows("MATCH (a), (b), (c), (d) RETURN 1 LIMIT 2", {}, { limits })).toEqual(["1", "1"]);
    expect(await graph.rows("MATCH (a:P {i: 1})-[*]-(b) RETURN 1 LIMIT 1", {}, { limits })).toEqual(["1"]);
  });
});

describe("a query that is only allowed to read", () => {
  test("is refused if it has a clause that writes, before it runs", async () => {
    const query = "MATCH (n) RETURN n UNION MATCH (n) SET n.x = 1 RETURN n";
    expect(await graph.refusal(query, {}, { isReadOnly: true })).toBe("SemanticError compile time: ReadOnlyQuery");
    expect(await graph.rows("MATCH (n) RETURN count(n)", {}, { isReadOnly: true })).toEqual(["60"]);
  });
});
