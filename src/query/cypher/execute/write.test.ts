// CREATE, MERGE, SET, REMOVE and DELETE: what they change, as one list of net changes, and what the clauses after them see.
import { describe, expect, test } from "vitest";
import { CypherGraph } from "../../../../test/query/cypher-graph.ts";
import type { GraphChanges } from "../plan/graph-changes.ts";

/** How many of each kind, without those that are none. */
function countChanges(changes: GraphChanges | undefined): object {
  const counts = Object.entries(changes ?? {}).map(([kind, list]: [string, readonly unknown[]]) => [kind, list.length]);
  return Object.fromEntries(counts.filter(([, count]) => count !== 0));
}

async function graphOf(...queries: readonly string[]): Promise<CypherGraph> {
  const graph = new CypherGraph();
  for (const query of queries) await graph.run(query);
  return graph;
}

describe("CREATE", () => {
  test("makes each variable once, however often the pattern names it", async () => {
    const graph = new CypherGraph();
    const { changes } = await graph.run("CREATE (a:A), (b:B {x: 1, y: null}), (a)-[:R {z: [1, 2]}]->(b)<-[:S]-(a)");
    expect(countChanges(changes)).toEqual({ createdNodes: 2, createdRelationships: 2 });
    expect(await graph.sorted("MATCH p = (:A)-->(:B) RETURN p")).toEqual([
      "<(:A)-[:R {z: [1, 2]}]->(:B {x: 1})>",
      "<(:A)-[:S]->(:B {x: 1})>",
    ]);
  });

  test("makes one pattern for each row, and later clauses see them", async () => {
    const graph = await graphOf("UNWIND [1, 2, 3] AS i CREATE (:N {i: i})");
    expect(
      await graph.rows("MATCH (n:N) CREATE (n)-[:NEXT]->(m:N {i: n.i * 10}) WITH m ORDER BY m.i RETURN collect(m.i)"),
    ).toEqual(["[10, 20, 30]"]);
    expect(await graph.rows("CREATE (n:N) WITH count(*) AS c MATCH (n:N) RETURN c, count(n)")).toEqual(["1 | 7"]);
  });

  test("takes all properties from a parameter, and gives the path", async () => {
    const graph = new CypherGraph();
    expect(await graph.rows("CREATE p = (:A $p)-[:R]->(b) RETURN p, length(p)", { p: { x: 1.5, n: null } })).toEqual([
      "<(:A {x: 1.5})-[:R]->()> | 1",
    ]);
  });

  test.each([
    ["CREATE (a {x: {y: 1}})", "TypeError runtime: InvalidPropertyType"],
    ["CREATE (a {x: [[1]]})", "TypeError runtime: InvalidPropertyType"],
    ["CREATE (a {x: [1, null]})", "TypeError runtime: InvalidPropertyType"],
    ["OPTIONAL MATCH (a) CREATE (a)-[:R]->(b)", "TypeError runtime: InvalidArgumentType"],
    ["CREATE (a $p)", "TypeError runtime: InvalidArgumentType"],
  ])("%s: %s", async (query, refusal) => {
    expect(await new CypherGraph().refusal(query, { p: 1 })).toBe(refusal);
  });
});

describe("SET and REMOVE", () => {
  const before = "CREATE (:N {a: 1, b: 'x'})-[:R {c: 1}]->(:M)";

  test.each<[string, string]>([
    ["MATCH (n:N) SET n.a = 2, n.d = n.a + 1", "(:N {a: 2, b: 'x', d: 3})"],
    ["MATCH (n:N) SET n.a = null", "(:N {b: 'x'})"],
    ["MATCH (n:N) SET n['a'] = true", "(:N {a: true, b: 'x'})"],
    ["MATCH (n:N) SET n = {z: 1}", "(:N {z: 1})"],
    ["MATCH (n:N) SET n += {z: 1, a: null}", "(:N {b: 'x', z: 1})"],
    ["MATCH (n:N)-[r]->() SET n = r", "(:N {c: 1})"],
    ["MATCH (n:N) SET n:O:P", "(:N:O:P {a: 1, b: 'x'})"],
    ["MATCH (n:N) REMOVE n.a, n.nothing", "(:N {b: 'x'})"],
    ["MATCH (n:N) SET n:O REMOVE n.b, n:O:Q", "(:N {a: 1})"],
    ["MATCH (n:N) UNWIND [1, 2, 3] AS x SET n.a = n.a + x", "(:N {a: 7, b: 'x'})"],
    ["MATCH (n:N) OPTIONAL MATCH (n)-->(m:Nothing) SET m.x = 1, m:L REMOVE m.x", "(:N {a: 1, b: 'x'})"],
  ])("%s", async (query, node) => {
    const graph = await graphOf(before);
    await graph.run(query);
    expect(await graph.rows("MATCH (n:N) RETURN n")).toEqual([node]);
  });

  test("only what is different afterwards is a change", async () => {
    const graph = await graphOf(before);
    const { changes } = await graph.run(
      "MATCH (n:N)-[r]->() SET n.a = 5, n:L, r.c = 2 SET n.a = 1 REMOVE n:L, n:N SET n:N, r.c = 1.0",
    );
    expect(countChanges(changes)).toEqual({ updatedRelationships: 1 });
    expect(changes?.updatedRelationships).toEqual([{ id: "n3", set: new Map([["c", 1]]), removed: [] }]);
    const { changes: labels } = await graph.run("MATCH (n:N) SET n:L, n.z = 1 REMOVE n:N, n.a");
    expect(labels?.updatedNodes).toEqual([
      { id: "n1", addedLabels: ["L"], removedLabels: ["N"], set: new Map([["z", 1n]]), removed: ["a"] },
    ]);
  });

  test("what was written is matched by its new state", async () => {
    const graph = await graphOf(before);
    const query =
      "MATCH (n:N) SET n.a = 9, n:New REMOVE n:N WITH n MATCH (x:New {a: 9}) OPTIONAL MATCH (y:N) RETURN x = n, y";
    expect(await graph.rows(query)).toEqual(["true | null"]);
  });

  test.each([
    ["MATCH (n:N) SET n.x = {a: 1}", "TypeError runtime: InvalidPropertyType"],
    ["MATCH (n:N) SET n = 1", "TypeError runtime: InvalidArgumentType"],
    ["WITH $p AS p SET p.x = 1", "TypeError runtime: InvalidArgumentType"],
    ["MATCH (n:N)-[r]->() DELETE r SET r.x = 1", "EntityNotFound runtime: DeletedEntityAccess"],
  ])("%s: %s", async (query, refusal) => {
    expect(await (await graphOf(before)).refusal(query, { p: { x: 2 } })).toBe(refusal);
  });
});

describe("DELETE", () => {
  const before = "CREATE (a:A {x: 1})-[:R]->(b:B)-[:R]->(c:C), (a)-[:L]->(a)";

  test("removes nodes with their relationships only when it says so", async () => {
    const graph = await graphOf(before);
    expect(await graph.refusal("MATCH (a:A) DELETE a")).toBe(
      "ConstraintVerificationFailed runtime: DeleteConnectedNode",
    );
    const { changes } = await graph.run("MATCH (b:B) DETACH DELETE b");
    expect(countChanges(changes)).toEqual({ deletedNodes: 1, deletedRelationships: 2 });
    expect(await graph.rows("MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN count(n), count(r)")).toEqual(["2 | 1"]);
  });

  test("finds all targets first, and takes nulls, paths and lists' items", async () => {
    const graph = await graphOf(before);
    await graph.run(
      "MATCH p = (a:A)-[:R]->()-[:R]->() MATCH (a)-[l:L]->() OPTIONAL MATCH (a)-->(n:Nothing) DELETE n, [l][0], p",
    );
    expect(await graph.rows("MATCH (n) RETURN n")).toEqual([]);
  });

  test("what is deleted is not matched, and cannot be read; what was made in the same query leaves no change", async () => {
    const graph = await graphOf(before);
    expect(await graph.rows("MATCH (c:C) DETACH DELETE c WITH 1 AS x OPTIONAL MATCH (c:C) RETURN c")).toEqual(["null"]);
    expect(await graph.refusal("MATCH (b:B) DETACH DELETE b RETURN b.x")).toBe(
      "EntityNotFound runtime: DeletedEntityAccess",
    );
    expect(await graph.rows("MATCH ()-[l:L]->() DELETE l RETURN type(l)")).toEqual(["'L'"]);
    const { changes } = await graph.run("CREATE (t:T)-[:R]->(u:T) WITH t, u DETACH DELETE t, u");
    expect(countChanges(changes)).toEqual({});
  });
});

describe("MERGE", () => {
  test("creates what is missing once, also for rows of one query", async () => {
    const graph = new CypherGraph();
    const query =
      "UNWIND [1, 2, 1, 2, 3] AS i MERGE (n:N {i: i}) ON CREATE SET n.made = true ON MATCH SET n.seen = coalesce(n.seen, 0) + 1";
    expect(countChanges((await graph.run(query)).changes)).toEqual({ createdNodes: 3 });
    expect(await graph.rows("MATCH (n:N) RETURN n.i, n.made, n.seen ORDER BY n.i")).toEqual([
      "1 | true | 1",
      "2 | true | 1",
      "3 | true | null",
    ]);
    expect(countChanges((await graph.run(query)).changes)).toEqual({ updatedNodes: 3 });
  });

  test("matches all that fit, and 1 as well as 1.0", async () => {
    const graph = await graphOf("CREATE (:N {i: 1}), (:N {i: 1.0})");
    expect(await graph.rows("MERGE (n:N {i: 1}) RETURN count(n)")).toEqual(["2"]);
    expect(await graph.rows("UNWIND [1, 5.0, 5] AS i MERGE (n:N {i: i}) RETURN count(n), count(DISTINCT n)")).toEqual([
      "4 | 3",
    ]);
  });

  test("makes one relationship between bound nodes, in the direction of the pattern, or from left to right", async () => {
    const graph = await graphOf("CREATE (:A), (:B)");
    for (const pattern of ["(a)-[r:T]->(b)", "(a)<-[r:U]-(b)", "(b)-[r:V]-(a)", "(a)-[r:V]-(b)"]) {
      await graph.run(`MATCH (a:A), (b:B) UNWIND [1, 2] AS i MERGE ${pattern}`);
    }
    expect(await graph.sorted("MATCH (a)-[r]->(b) RETURN labels(a), type(r), labels(b)")).toEqual([
      "['A'] | 'T' | ['B']",
      "['B'] | 'U' | ['A']",
      "['B'] | 'V' | ['A']",
    ]);
  });

  test("creates a whole pattern if a part is missing", async () => {
    const graph = await graphOf("CREATE (:A {i: 1})");
    await graph.run("UNWIND [1, 1] AS i MERGE p = (a:A {i: i})-[:R]->(b:B)-[:S]->(:C)");
    expect(await graph.rows("MATCH (a:A) OPTIONAL MATCH (a)-->(b) RETURN count(a), count(b)")).toEqual(["2 | 1"]);
  });

  test("sees what ON CREATE changed of the pattern itself", async () => {
    const graph = new CypherGraph();
    await graph.run("UNWIND [1, 1, 2] AS i MERGE (n:N {i: i}) ON CREATE SET n.i = i + 1");
    expect(await graph.rows("MATCH (n:N) RETURN n.i ORDER BY n.i")).toEqual(["2", "2"]);
  });

  test("matches a pattern whose parts different rows created", async () => {
    const graph = await graphOf("CREATE (:B)");
    await graph.run(
      "MATCH (b:B) UNWIND [[1, 1], [2, 2], [1, 2]] AS p MERGE (:X {i: p[0]})<-[:T]-(b)-[:S]->(:Y {i: p[1]})",
    );
    expect(await graph.rows("MATCH (x:X) RETURN count(x)")).toEqual(["2"]);
  });

  test("without a direction finds what an earlier row created the other way round", async () => {
    const graph = await graphOf("CREATE (:A), (:B)");
    const query =
      "MATCH (a:A), (b:B) UNWIND [[a, b], [b, a]] AS p WITH p[0] AS x, p[1] AS y MERGE (x)-[r:T]-(y) RETURN count(DISTINCT r)";
    expect(await graph.rows(query)).toEqual(["1"]);
  });

  test("says what was missing, so that a commit can look again", async () => {
    const graph = await graphOf("CREATE (:N {i: 1})");
    const query =
      "MATCH (n:N {i: 1}) UNWIND [1, 2, 2, 3] AS i MERGE (m:N {i: i}) MERGE (n)-[r:R]->(m) MERGE (n)-[:S]->(n)";
    const { missingMatches } = await graph.run(query);
    const shown = missingMatches.map(({ plan, input }) => [plan.relationships[0]?.types[0], input.nodes, input.values]);
    // Relationships to what the query itself made cannot be there before it.
    expect(shown).toEqual([
      [undefined, [undefined], [2n]],
      [undefined, [undefined], [3n]],
      ["R", ["n1", "n1"], []],
      ["S", ["n1"], []],
    ]);
    expect((await graph.run(query)).missingMatches).toEqual([]);
    expect((await graph.run("MATCH (n) RETURN n")).missingMatches).toEqual([]);
  });

  test("does not find NaN again, and refuses null", async () => {
    const graph = new CypherGraph();
    await graph.run("UNWIND [1, 2] AS i MERGE (:N {x: 0.0 / 0.0})");
    expect(await graph.rows("MATCH (n:N) RETURN count(n)")).toEqual(["2"]);
    expect(await graph.refusal("UNWIND [1, null] AS i MERGE (:N {x: i})")).toBe(
      "SemanticError runtime: MergeReadOwnWrites",
    );
  });

  test("of many rows is the same as of one row after the other", async () => {
    const rows = Array.from({ length: 540 }, (_, index) => ({ from: index % 7, to: (index * 5) % 11 }));
    const setup = "UNWIND range(0, 3) AS i CREATE (:X {k: i})";
    const query =
      "MERGE (a:X {k: row.from}) MERGE (b:Y {k: row.to}) MERGE (a)-[r:R]->(b) ON CREATE SET r.n = 1 ON MATCH SET r.n = r.n + 1";
    const together = await graphOf(setup);
    await together.run(`UNWIND $rows AS row ${query}`, { rows });
    const oneByOne = await graphOf(setup);
    for (const row of rows) await oneByOne.run(`WITH $row AS row ${query}`, { row });
    const content = "MATCH (a:X)-[r:R]->(b:Y) RETURN a.k, b.k, r.n";
    const result = await together.sorted(content);
    expect(result).toHaveLength(77);
    expect(result).toEqual(await oneByOne.sorted(content));
    const count = "MATCH (n) RETURN count(n)";
    expect(await together.rows(count)).toEqual(await oneByOne.rows(count));
  });
});

test("a failed query changes nothing", async () => {
  const graph = await graphOf("CREATE (:N {x: 1})");
  expect(await graph.refusal("MATCH (n:N) SET n.x = 2 CREATE (:M) WITH n RETURN 1 / 0")).toBe(
    "ArithmeticError runtime: DivideByZero",
  );
  expect(await graph.rows("MATCH (n) RETURN n")).toEqual(["(:N {x: 1})"]);
});
