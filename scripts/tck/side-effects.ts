// What a query changed, counted as the feature files count it: by comparing all nodes, relationships, labels and properties before and
// after.
import { valueKey } from "../../src/query/cypher/values/equality.ts";
import type { TestGraph } from "./graph.ts";

/** Every thing of a graph by its kind, as texts that are the same if the thing is. */
export type GraphContents = ReadonlyMap<string, ReadonlySet<string>>;

export async function readContents(graph: TestGraph): Promise<GraphContents> {
  const { nodes, relationships } = await graph.read();
  const properties = [...nodes, ...relationships].flatMap((entity) =>
    [...entity.properties].map(
      ([key, value]) => `${"type" in entity} ${entity.id} ${key} ${typeof value} ${valueKey(value)}`,
    ),
  );
  return new Map([
    ["nodes", new Set(nodes.map(({ id }) => id))],
    ["relationships", new Set(relationships.map(({ id }) => id))],
    ["labels", new Set(nodes.flatMap(({ labels }) => [...labels]))],
    ["properties", new Set(properties)],
  ]);
}

/** `+nodes 2`; what did not change is left out. */
export function countEffects(before: GraphContents, after: GraphContents): readonly string[] {
  return [...before.keys()].flatMap((kind) => {
    const old = before.get(kind) ?? new Set();
    const now = after.get(kind) ?? new Set();
    const added = [...now].filter((one) => !old.has(one)).length;
    const removed = [...old].filter((one) => !now.has(one)).length;
    return [...(added > 0 ? [`+${kind} ${added}`] : []), ...(removed > 0 ? [`-${kind} ${removed}`] : [])];
  });
}
