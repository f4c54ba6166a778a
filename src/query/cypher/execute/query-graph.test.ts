// What the executor asks of a graph: plans with filters, whole matches from an engine that compiles plans, and its own matching once
// the query has written.
import { describe, expect, test } from "vitest";
import { CypherGraph } from "../../../../test/query/cypher-graph.ts";
import { platformEnvironment } from "../../../core/platform-environment.ts";
import type { MemoryGraph } from "../memory-graph.ts";
import type { GraphAccess, MatchBatch } from "../plan/graph-access.ts";
import type { MatchInput, PatternPlan } from "../plan/pattern-plan.ts";
import { parseQuery } from "../syntax/parse.ts";
import { DEFAULT_LIMITS, QueryMeter } from "./meter.ts";
import { compilePattern } from "./pattern-compiler.ts";
import { QueryGraph } from "./query-graph.ts";
import { SlotScope } from "./row.ts";

interface Recording {
  readonly plans: PatternPlan[];
  readonly inputs: number[];
  readonly scans: string[];
  readonly requests: string[];
}

/** An engine that matches whole plans: here with the steps of the executor, on a query graph of its own. */
function compilingAccess(memory: MemoryGraph, recording: Recording, withMatch: boolean): GraphAccess {
  const access: GraphAccess = {
    scanNodes(filter) {
      recording.scans.push([...filter.labels, ...filter.filters.map(({ key }) => key)].join(" "));
      return memory.scanNodes(filter);
    },
    readNodes(ids) {
      recording.requests.push(`nodes ${ids.length}`);
      return memory.readNodes(ids);
    },
    readRelationships: (ids) => memory.readRelationships(ids),
    expand(request) {
      recording.requests.push(`expand ${request.nodes.length}`);
      return memory.expand(request);
    },
  };
  if (!withMatch) return access;
  return {
    ...access,
    async *match(plan: PatternPlan, inputs: readonly MatchInput[]): AsyncGenerator<MatchBatch> {
      recording.plans.push(plan);
      recording.inputs.push(inputs.length);
      const inner = new QueryGraph(memory, new QueryMeter(platformEnvironment(), DEFAULT_LIMITS), () => "");
      for await (const matches of inner.match(plan, inputs)) {
        yield {
          matches: matches.map(({ input, nodes, relationships }) => ({
            input,
            nodes: nodes.map(({ id }) => id),
            relationships: relationships.map((list) => list.map(({ id }) => id)),
          })),
          nodes: matches.slice(0, 1).flatMap(({ nodes }) => nodes.map((node) => node.toRecord())),
          relationships: [],
        };
      }
    },
  };
}

async function graphWith(withMatch: boolean): Promise<{ graph: CypherGraph; recording: Recording }> {
  const recording: Recording = { plans: [], inputs: [], scans: [], requests: [] };
  const graph = new CypherGraph((memory) => compilingAccess(memory, recording, withMatch));
  await graph.run("UNWIND range(1, 20) AS i CREATE (:N {i: i})-[:R {w: i}]->(:M {i: i % 3})");
  for (const list of Object.values(recording)) list.length = 0;
  return { graph, recording };
}

describe("an engine that matches whole plans", () => {
  test("gets one plan for all rows of a batch, and gives the rows that the steps give", async () => {
    const { graph, recording } = await graphWith(true);
    const plain = await graphWith(false);
    const queries = [
      "MATCH (n:N) WHERE n.i > 15 MATCH p = (n)-[r]->(m {i: 1}) RETURN n.i, r.w, p",
      "MATCH (n:N) OPTIONAL MATCH (n)-[rs*1..2]-(m:M) WHERE m.i = n.i RETURN n.i, size(rs), m",
      "MATCH (n:N) WHERE NOT (n)-->({i: 0}) RETURN n.i, [(n)-[r]->(m) | r.w + m.i]",
    ];
    for (const query of queries) expect(await graph.sorted(query)).toEqual(await plain.graph.sorted(query));
    expect(recording.inputs.slice(0, 2)).toEqual([1, 5]);
    expect(recording.plans[1]).toEqual({
      nodes: [
        { isBound: true, labels: [], filters: [], id: undefined },
        {
          isBound: false,
          labels: [],
          filters: [{ key: "i", operator: "=", value: 0, isRequired: true }],
          id: undefined,
        },
      ],
      relationships: [
        {
          isBound: false,
          from: 0,
          to: 1,
          direction: "out",
          types: [],
          filters: [],
          length: undefined,
          shortest: undefined,
        },
      ],
      isExistence: false,
    });
  });

  test("is not asked once the query has written: then the steps see the writes too", async () => {
    const { graph, recording } = await graphWith(true);
    const query =
      "MATCH (n:N {i: 1}) SET n.i = 100 CREATE (n)-[:R]->(:M {i: 7}) WITH n MATCH (x:N {i: 100})-->(m) RETURN x = n, m.i";
    expect(await graph.sorted(query)).toEqual(["true | 1", "true | 7"]);
    expect(recording.plans).toHaveLength(1);
  });
});

describe("matching in steps", () => {
  test("begins where the filters are, and reads for all rows of a batch at once", async () => {
    const { graph, recording } = await graphWith(false);
    expect(await graph.rows("MATCH (n)-->(m:M {i: 2})<--(x) RETURN count(*)")).toEqual(["0"]);
    expect(await graph.rows("MATCH (n)-->(m:M {i: 2}) RETURN count(n)")).toEqual(["7"]);
    expect(recording.scans).toEqual(["M i", "M i"]);
    expect(recording.requests.filter((one) => one.startsWith("expand"))).toEqual(["expand 7", "expand 7", "expand 7"]);
  });
});

test("MERGE reads for all its rows at once, also after writes", async () => {
  const { graph, recording } = await graphWith(false);
  const query =
    "UNWIND range(1, 100) AS i MERGE (n:N {i: i}) MERGE (m:Q {i: i % 10}) MERGE (n)-[r:R]->(m) ON CREATE SET r.new = true";
  await graph.run(query);
  expect(recording.scans).toEqual(["N i", "Q i"]);
  expect(recording.requests.filter((one) => one.startsWith("expand"))).toHaveLength(1);
  expect(
    await graph.rows("MATCH (n:N)-[r:R]->(m:Q) RETURN count(DISTINCT n), count(DISTINCT m), count(r.new)"),
  ).toEqual(["100 | 10 | 100"]);
});

describe("ids", () => {
  test.each([
    ["MATCH (n) WHERE id(n) = $id RETURN n.i", ["1"]],
    ["MATCH (n)-->(m) WHERE elementId(n) IN [$id, 'nobody', 7, null] AND m.i = 1 RETURN n.i", ["1"]],
    ["MATCH (n:M) WHERE id(n) = $id RETURN n.i", []],
    ["MATCH (n) WHERE id(n) = 1 RETURN n.i", []],
    ["UNWIND [$id, $id, 'nobody'] AS one MATCH (n) WHERE one = id(n) RETURN n.i", ["1", "1"]],
  ])("find nodes without a scan: %s", async (query, rows) => {
    const { graph, recording } = await graphWith(false);
    const { rows: ids } = await graph.run("MATCH (n:N {i: 1}) RETURN id(n)");
    recording.scans.length = 0;
    expect(await graph.rows(query, { id: ids[0]?.[0] })).toEqual(rows);
    expect(recording.scans).toEqual([]);
  });
});

describe("whether there is a match", () => {
  test("is asked as such where nothing is tested after the match, and one match of each row ends the search", async () => {
    const { graph, recording } = await graphWith(true);
    await graph.rows("MATCH (n:N) WHERE (n)-->() AND EXISTS { (n)-->(m) WHERE m.i > 0 } RETURN n, [(n)-->(m) | m]");
    expect(recording.plans.map(({ isExistence }) => isExistence)).toEqual([false, true, false, false]);
  });

  test("needs no more than the first path", async () => {
    const graph = new CypherGraph();
    await graph.run("UNWIND range(1, 12) AS i CREATE (:P {i: i})");
    await graph.run("MATCH (a:P), (b:P) WHERE a.i < b.i CREATE (a)-[:K]->(b)");
    const limits = { maxIntermediateRows: 20_000 };
    expect(await graph.rows("MATCH (a:P) WHERE (a)-[*]-() RETURN count(a)", {}, { limits })).toEqual(["12"]);
    expect(await graph.refusal("MATCH (a:P)-[*]-() RETURN count(a)", {}, { limits })).toContain(
      "cypherIntermediateRows",
    );
  });
});

describe("plans", () => {
  /** The plan of a MATCH; `bound` are variables of rows. */
  function planOf(match: string, bound: readonly string[] = []) {
    const [{ clauses }] = parseQuery(`${match} RETURN 1`).parts;
    const [clause] = clauses;
    if (clause?.kind !== "match") throw new Error("no MATCH");
    return compilePattern(clause.patterns, clause.where, SlotScope.of(bound));
  }

  test("number variables once, and collect all that is said of them", () => {
    const { plan } = planOf("MATCH (a:A)-[r:T|U]->(b), (a:B {x: 1})<-[:V*2..]-() WHERE b:C AND a.y >= $y AND 3 > r.w");
    expect(plan).toEqual({
      nodes: [
        {
          isBound: false,
          labels: ["A", "B"],
          filters: [
            { key: "y", operator: ">=", value: 0, isRequired: false },
            { key: "x", operator: "=", value: 2, isRequired: true },
          ],
          id: undefined,
        },
        { isBound: false, labels: ["C"], filters: [], id: undefined },
        { isBound: false, labels: [], filters: [], id: undefined },
      ],
      relationships: [
        {
          isBound: false,
          from: 0,
          to: 1,
          direction: "out",
          types: ["T", "U"],
          filters: [{ key: "w", operator: "<", value: 1, isRequired: false }],
          length: undefined,
          shortest: undefined,
        },
        {
          isBound: false,
          from: 0,
          to: 2,
          direction: "in",
          types: ["V"],
          filters: [],
          length: { min: 2, max: undefined },
          shortest: undefined,
        },
      ],
      isExistence: false,
    });
  });

  test.each([
    ["MATCH (a) WHERE a.x = 1 OR a.y = 2", 0],
    ["MATCH (a) WHERE NOT a.x = 1", 0],
    ["MATCH (a) WHERE a.x <> 1", 0],
    ["MATCH (a) WHERE 1 < a.x < 3", 0],
    ["MATCH (a) WHERE a.x = 1 / 0", 0],
    ["MATCH (a), (b) WHERE a.x = b.x", 0],
    ["MATCH (a) WHERE a.x = c.x AND a.y IN [1, $p]", 2],
    ["MATCH (a) WHERE a.x = 1 AND (a.y = 2 AND a.z < 3)", 3],
  ])("%s: %i parts of WHERE help to find candidates", (match, count) => {
    const { plan } = planOf(match, ["c"]);
    expect(plan.nodes.flatMap(({ filters }) => filters)).toHaveLength(count);
  });

  test("a property that needs another variable of the same MATCH is tested after it", () => {
    const { plan, residual } = planOf("MATCH (a), (b {x: a.x, y: 1})");
    expect(plan.nodes[1]?.filters).toHaveLength(1);
    expect(residual).toHaveLength(1);
  });
});
