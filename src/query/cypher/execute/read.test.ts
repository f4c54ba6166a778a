// MATCH in all its forms, on small graphs: which matches there are, each once.
import { beforeAll, describe, expect, test } from "vitest";
import { CypherGraph } from "../../../../test/query/cypher-graph.ts";

const graph = new CypherGraph();

// ann → bob → cid → ann is a circle of KNOWS; ann LIKES cid; dan stands alone and KNOWS himself.
beforeAll(async () => {
  await graph.run(`
    CREATE (ann:Person:Admin {name: 'ann', age: 30}), (bob:Person {name: 'bob', age: 40}),
           (cid:Person {name: 'cid'}), (dan:Robot {name: 'dan', age: 40.0}),
           (ann)-[:KNOWS {since: 1}]->(bob)-[:KNOWS {since: 2}]->(cid)-[:KNOWS {since: 3}]->(ann),
           (ann)-[:LIKES]->(cid), (dan)-[:KNOWS]->(dan)`);
});

describe("nodes", () => {
  test.each<[string, readonly string[]]>([
    ["(n:Person)", ["'ann'", "'bob'", "'cid'"]],
    ["(n:Person:Admin)", ["'ann'"]],
    ["(n:Nothing)", []],
    ["(n {age: 40})", ["'bob'", "'dan'"]],
    ["(n {age: null})", []],
    ["(n) WHERE n.age > 30", ["'bob'", "'dan'"]],
    ["(n) WHERE n.age IS NULL", ["'cid'"]],
    ["(n) WHERE n:Admin OR n.age = 40", ["'ann'", "'bob'", "'dan'"]],
    ["(n) WHERE n.name IN ['ann', 'cid', 1]", ["'ann'", "'cid'"]],
    ["(n) WHERE 35 < n.age", ["'bob'", "'dan'"]],
    ["(n) WHERE NOT n.age = 40", ["'ann'"]],
    ["(n) WHERE n['name'] = 'a' + 'nn'", ["'ann'"]],
  ])("%s", async (pattern, names) => {
    expect(await graph.sorted(`MATCH ${pattern} RETURN n.name`)).toEqual(names);
  });
});

describe("relationships", () => {
  test.each<[string, readonly string[]]>([
    ["(a {name: 'ann'})-->(b)", ["'ann' | 'bob'", "'ann' | 'cid'"]],
    ["(a {name: 'ann'})<--(b)", ["'ann' | 'cid'"]],
    ["(a {name: 'ann'})--(b)", ["'ann' | 'bob'", "'ann' | 'cid'", "'ann' | 'cid'"]],
    ["(a {name: 'ann'})-[:LIKES]-(b)", ["'ann' | 'cid'"]],
    ["(a {name: 'ann'})-[:LIKES|KNOWS]->(b)", ["'ann' | 'bob'", "'ann' | 'cid'"]],
    ["(a)-[{since: 2}]->(b)", ["'bob' | 'cid'"]],
    ["(a)-[r]->(b) WHERE r.since >= 2", ["'bob' | 'cid'", "'cid' | 'ann'"]],
    // A loop is there once, in any direction.
    ["(a:Robot)--(b)", ["'dan' | 'dan'"]],
    ["(a:Robot)<--(b)", ["'dan' | 'dan'"]],
    // The same variable is the same node.
    ["(a)-->(a), (b {name: 'ann'})", ["'dan' | 'ann'"]],
    ["(a {name: 'ann'})-->()-->(b)", ["'ann' | 'ann'", "'ann' | 'cid'"]],
    // No relationship is in a match twice, so dan's loop cannot be walked twice.
    ["(a:Robot)-->()-->(b)", []],
    ["(a {name: 'ann'})-[:KNOWS]->(b), (a)-[:KNOWS]->(c)", []],
    ["(a {name: 'ann'})-->(b), (a)-->(c)", ["'ann' | 'bob'", "'ann' | 'cid'"]],
    ["(a)-->(b {name: a.name})", ["'dan' | 'dan'"]],
    ["(a {name: 'ann'})-->(b {since: 1})", []],
  ])("%s", async (pattern, pairs) => {
    expect(await graph.sorted(`MATCH ${pattern} RETURN a.name, b.name`)).toEqual(pairs);
  });

  test("two MATCH clauses may use a relationship twice", async () => {
    expect(await graph.rows("MATCH (:Robot)-[r]->() MATCH (a)-[s]->(:Robot) RETURN r = s")).toEqual(["true"]);
  });

  test("a bound relationship gives its nodes, in both directions if the pattern has none", async () => {
    const query = "MATCH ()-[r:LIKES]->() MATCH (a)PATTERN(b) RETURN a.name, b.name";
    expect(await graph.rows(query.replace("PATTERN", "-[r]->"))).toEqual(["'ann' | 'cid'"]);
    expect(await graph.rows(query.replace("PATTERN", "<-[r]-"))).toEqual(["'cid' | 'ann'"]);
    expect(await graph.sorted(query.replace("PATTERN", "-[r]-"))).toEqual(["'ann' | 'cid'", "'cid' | 'ann'"]);
    expect(await graph.rows(query.replace("PATTERN", "-[r:KNOWS]-"))).toEqual([]);
  });
});

describe("paths of a variable length", () => {
  test.each<[string, readonly string[]]>([
    ["-[:KNOWS*]->", ["'ann' | 3", "'bob' | 1", "'cid' | 2"]],
    ["-[:KNOWS*2]->", ["'cid' | 2"]],
    ["-[:KNOWS*0..1]->", ["'ann' | 0", "'bob' | 1"]],
    ["-[:KNOWS*2..3]->", ["'ann' | 3", "'cid' | 2"]],
    ["-[:KNOWS*..2]-", ["'bob' | 1", "'bob' | 2", "'cid' | 1", "'cid' | 2"]],
    ["<-[:KNOWS*2]-", ["'bob' | 2"]],
    ["-[:KNOWS* {since: 1}]->", ["'bob' | 1"]],
    ["-[:KNOWS*0]->", ["'ann' | 0"]],
    ["-[:KNOWS*2..1]->", []],
  ])("%s", async (pattern, ends) => {
    expect(
      await graph.sorted(
        `MATCH (a {name: 'ann'})${pattern}(b) MATCH p = (a)${pattern}(b) RETURN DISTINCT b.name, length(p)`,
      ),
    ).toEqual(ends);
  });

  test("the variable is the list of relationships in the order of the pattern, from either side", async () => {
    const names = "[r IN rs | r.since]";
    expect(await graph.rows(`MATCH ({name: 'ann'})-[rs:KNOWS*2]->() RETURN ${names}`)).toEqual(["[1, 2]"]);
    expect(await graph.rows(`MATCH (x)-[rs:KNOWS*2]->({name: 'cid'}) WHERE x.name = 'ann' RETURN ${names}`)).toEqual([
      "[1, 2]",
    ]);
    expect(await graph.rows(`MATCH ({name: 'ann'})<-[rs:KNOWS*2]-() RETURN ${names}`)).toEqual(["[3, 2]"]);
  });

  test("a bound list of relationships is followed", async () => {
    const query =
      "MATCH ()-[r:KNOWS {since: 1}]->()-[s]->() WITH [r, s] AS rs MATCH (a)-[rs*]->(b) RETURN a.name, b.name";
    expect(await graph.sorted(query)).toEqual(["'ann' | 'cid'"]);
  });

  test("a named path shows the directions as they are", async () => {
    expect(await graph.rows("MATCH p = ({name: 'bob'})<-[:KNOWS]-()-[:LIKES]->() RETURN p")).toEqual([
      "<(:Person {age: 40, name: 'bob'})<-[:KNOWS {since: 1}]-(:Admin:Person {age: 30, name: 'ann'})-[:LIKES]->(:Person {name: 'cid'})>",
    ]);
    expect(await graph.rows("MATCH p = ({name: 'ann'})-[:KNOWS*2]->() RETURN [n IN nodes(p) | n.name]")).toEqual([
      "['ann', 'bob', 'cid']",
    ]);
  });
});

describe("shortest paths", () => {
  test.each<[string, readonly string[]]>([
    ["shortestPath((a)-[*]->(b))", ["['LIKES']"]],
    ["shortestPath((a)-[:KNOWS*]->(b))", ["['KNOWS', 'KNOWS']"]],
    ["allShortestPaths((a)-[*]-(b))", ["['KNOWS']", "['LIKES']"]],
    ["shortestPath((a)-[:KNOWS*..1]->(b))", []],
    ["shortestPath((a)-[:NOTHING*]->(b))", []],
  ])("%s", async (pattern, types) => {
    const query = `MATCH (a {name: 'ann'}), (b {name: 'cid'}) MATCH p = ${pattern} RETURN [r IN relationships(p) | type(r)]`;
    expect(await graph.sorted(query)).toEqual(types);
  });

  test("are values too", async () => {
    const query = "MATCH (a {name: 'bob'}), (b {name: 'ann'}) RETURN length(shortestPath((a)-[:KNOWS*]->(b)))";
    expect(await graph.rows(query)).toEqual(["2"]);
  });

  test("of length 0 need a lower bound of 0", async () => {
    expect(await graph.rows("MATCH (a:Robot) RETURN length(shortestPath((a)-[*0..]->(a)))")).toEqual(["0"]);
    expect(await graph.rows("MATCH (a:Robot) RETURN shortestPath((a)-[*]->(a))")).toEqual(["null"]);
  });
});

describe("OPTIONAL MATCH", () => {
  test.each<[string, readonly string[]]>([
    [
      "MATCH (a:Person) OPTIONAL MATCH (a)-[:LIKES]->(b) RETURN a.name, b.name",
      ["'ann' | 'cid'", "'bob' | null", "'cid' | null"],
    ],
    ["MATCH (a:Robot) OPTIONAL MATCH (a)-->(b) WHERE b.age > 100 RETURN a.name, b", ["'dan' | null"]],
    ["OPTIONAL MATCH (a:Nothing) OPTIONAL MATCH (a)-->(b) RETURN a, b", ["null | null"]],
    ["OPTIONAL MATCH (a:Nothing) MATCH (a)-->(b) RETURN b", []],
    ["OPTIONAL MATCH p = (:Nothing)-[r*]->() RETURN p, r", ["null | null"]],
  ])("%s", async (query, rows) => {
    expect(await graph.sorted(query)).toEqual(rows);
  });
});

describe("patterns in expressions", () => {
  test.each<[string, readonly string[]]>([
    ["MATCH (a) WHERE (a)-[:LIKES]->() RETURN a.name", ["'ann'"]],
    ["MATCH (a:Person) WHERE NOT (a)-[:LIKES]-() RETURN a.name", ["'bob'"]],
    [
      "MATCH (a), (b) WHERE (a)-[:LIKES]->(b) OR (a)-[:KNOWS*2]->(b) AND b.name = 'bob' RETURN a.name, b.name",
      ["'ann' | 'cid'", "'cid' | 'bob'"],
    ],
    ["MATCH (a:Admin) RETURN [(a)-->(b) | b.name]", ["['bob', 'cid']"]],
    [
      "MATCH (a:Person) RETURN a.name, size([(a)-[:KNOWS]->(b) WHERE b.age > 30 | b])",
      ["'ann' | 1", "'bob' | 0", "'cid' | 0"],
    ],
    ["MATCH (a:Admin) RETURN [p = (a)-[:LIKES]->() | length(p)]", ["[1]"]],
    ["MATCH p = (:Admin)-[:KNOWS]->() RETURN [n IN nodes(p) | size([(n)-->(x) | x])]", ["[2, 1]"]],
    ["MATCH (a:Person) WHERE any(x IN [a] WHERE (x)-[:LIKES]->()) RETURN a.name", ["'ann'"]],
    ["MATCH (a) WHERE EXISTS { (a)-->(b:Person) WHERE b.name = 'cid' } RETURN a.name", ["'ann'", "'bob'"]],
    ["MATCH (a) WHERE EXISTS { MATCH (a)-->(b) WITH count(b) AS n WHERE n > 1 RETURN n } RETURN a.name", ["'ann'"]],
    ["MATCH (a) WHERE EXISTS { MATCH (a)-->(b) WHERE EXISTS { (b)-[:LIKES]->() } } RETURN a.name", ["'cid'"]],
    ["MATCH (a:Person) RETURN a.name, COUNT { (a)-->() }", ["'ann' | 2", "'bob' | 1", "'cid' | 1"]],
    ["MATCH (a:Person) RETURN COUNT { MATCH (a)-->(b) RETURN DISTINCT a UNION MATCH (a) RETURN a }", ["1", "1", "1"]],
    ["MATCH (a:Admin)-[r:LIKES]->() RETURN startNode(r) = a, endNode(r).name", ["true | 'cid'"]],
  ])("%s", async (query, rows) => {
    expect(await graph.sorted(query)).toEqual(rows);
  });
});

describe("UNWIND", () => {
  test.each<[string, readonly string[]]>([
    ["UNWIND [1, null, [2]] AS x RETURN x", ["1", "null", "[2]"]],
    ["UNWIND [] AS x RETURN x", []],
    ["UNWIND null AS x RETURN x", []],
    ["UNWIND 5 AS x RETURN x", ["5"]],
    ["UNWIND [1, 2] AS x UNWIND [x, x * 10] AS y RETURN y", ["1", "10", "2", "20"]],
  ])("%s", async (query, rows) => {
    expect(await graph.rows(query)).toEqual(rows);
  });
});
