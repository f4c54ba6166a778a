// Random patterns on random graphs: the matcher, which orders its steps and reads in batches, finds what a naive search finds that goes
// along the pattern from left to right.
import fc from "fast-check";
import { expect, test } from "vitest";
import { CypherGraph } from "../../../../test/query/cypher-graph.ts";
import { scaled } from "../../../testing/scale.ts";

interface ModelGraph {
  readonly labels: readonly (readonly string[])[];
  readonly edges: readonly { readonly from: number; readonly to: number; readonly type: string }[];
}

interface ModelNode {
  readonly variable: string;
  readonly labels: readonly string[];
}

interface ModelRelationship {
  readonly arrow: "out" | "in" | "either";
  readonly type: string | undefined;
  readonly length: readonly [min: number, max: number] | undefined;
}

interface ModelPattern {
  readonly nodes: readonly ModelNode[];
  readonly relationships: readonly ModelRelationship[];
}

const graphs: fc.Arbitrary<ModelGraph> = fc.integer({ min: 1, max: 4 }).chain((count) => {
  const node = fc.integer({ min: 0, max: count - 1 });
  return fc.record({
    labels: fc.array(fc.subarray(["A", "B"]), { minLength: count, maxLength: count }),
    edges: fc.array(fc.record({ from: node, to: node, type: fc.constantFrom("T", "U") }), { maxLength: 6 }),
  });
});

const relationships: fc.Arbitrary<ModelRelationship> = fc.record({
  arrow: fc.constantFrom<ModelRelationship["arrow"]>("out", "in", "either"),
  type: fc.constantFrom("T", "U", undefined),
  length: fc.option(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 3 })), { nil: undefined }),
});

const patterns: fc.Arbitrary<ModelPattern> = fc.array(relationships, { maxLength: 3 }).chain((list) =>
  fc.record({
    nodes: fc.array(
      fc.record({ variable: fc.constantFrom("a", "b", "c", "d"), labels: fc.subarray(["A", "B"], { maxLength: 1 }) }),
      { minLength: list.length + 1, maxLength: list.length + 1 },
    ),
    relationships: fc.constant(list),
  }),
);

/** As Cypher. */
function writePattern({ nodes, relationships: list }: ModelPattern): string {
  const parts = nodes.map(({ variable, labels }, index) => {
    const node = `(${variable}${labels.map((label) => `:${label}`).join("")})`;
    const relationship = list[index - 1];
    if (relationship === undefined) return node;
    const { arrow, type, length } = relationship;
    const range = length === undefined ? "" : `*${length[0]}..${length[1]}`;
    const detail = `[r${index}${type === undefined ? "" : `:${type}`}${range}]`;
    return `${arrow === "in" ? "<-" : "-"}${detail}${arrow === "out" ? "->" : "-"}${node}`;
  });
  return parts.join("");
}

/** The matches as texts: nodes by variable, relationships in order. */
function searchNaively(graph: ModelGraph, { nodes, relationships: list }: ModelPattern): readonly string[] {
  const found: string[] = [];
  const assign = (
    at: number,
    node: number,
    bound: ReadonlyMap<string, number>,
    used: readonly (readonly number[])[],
  ) => {
    const { variable = "", labels = [] } = nodes[at] ?? {};
    const known = bound.get(variable);
    if ((known !== undefined && known !== node) || labels.some((label) => !graph.labels[node]?.includes(label))) return;
    const now = new Map([...bound, [variable, node]]);
    const relationship = list[at];
    if (relationship === undefined) {
      const names = [...now].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
      found.push(`${names.join(",")} ${used.map((one) => one.join("-")).join("|")}`);
      return;
    }
    const [min, max] = relationship.length ?? [1, 1];
    const walk = (end: number, path: readonly number[]) => {
      if (path.length >= min) assign(at + 1, end, now, [...used, path]);
      if (path.length >= max) return;
      for (const [id, edge] of graph.edges.entries()) {
        if (path.includes(id) || used.flat().includes(id)) continue;
        if (relationship.type !== undefined && relationship.type !== edge.type) continue;
        if (relationship.arrow !== "in" && edge.from === end) walk(edge.to, [...path, id]);
        else if (relationship.arrow !== "out" && edge.to === end) walk(edge.from, [...path, id]);
      }
    };
    if (min <= max) walk(node, []);
  };
  for (const node of graph.labels.keys()) assign(0, node, new Map(), []);
  return found.toSorted();
}

async function searchByCypher(graph: CypherGraph, pattern: ModelPattern): Promise<readonly string[]> {
  const names = [...new Set(pattern.nodes.map(({ variable }) => variable))].toSorted().map((name) => `${name}.id`);
  const lists = pattern.relationships.map(({ length }, index) => {
    const name = `r${index + 1}`;
    return length === undefined ? `[${name}.id]` : `[r IN ${name} | r.id]`;
  });
  const { rows } = await graph.run(
    `MATCH ${writePattern(pattern)} RETURN [${names.join(", ")}], [${lists.join(", ")}]`,
  );
  const texts = rows.map(([ids, paths]) => {
    const shown = Array.isArray(paths)
      ? paths.map((path) => (Array.isArray(path) ? path.join("-") : "")).join("|")
      : "";
    return `${Array.isArray(ids) ? ids.join(",") : ""} ${shown}`;
  });
  return texts.toSorted();
}

test("patterns match as a naive search does", async () => {
  let matches = 0;
  await fc.assert(
    fc.asyncProperty(graphs, fc.array(patterns, { minLength: 1, maxLength: 4 }), async (model, list) => {
      const graph = new CypherGraph();
      const nodes = model.labels.map((labels, id) => ({ labels, id }));
      for (const { labels, id } of nodes)
        await graph.run(`CREATE (n${labels.map((l) => `:${l}`).join("")} {id: ${id}})`);
      for (const [id, { from, to, type }] of model.edges.entries()) {
        await graph.run(`MATCH (a {id: ${from}}), (b {id: ${to}}) CREATE (a)-[:${type} {id: ${id}}]->(b)`);
      }
      for (const pattern of list) {
        const expected = searchNaively(model, pattern);
        matches += expected.length;
        expect(await searchByCypher(graph, pattern), writePattern(pattern)).toEqual(expected);
      }
    }),
    { numRuns: scaled({ short: 100, long: 5000 }) },
  );
  expect(matches).toBeGreaterThan(50);
});
