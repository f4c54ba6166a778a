// The graph that a case runs on. Engines other than memory are added here.
import { platformEnvironment } from "../../src/core/platform-environment.ts";
import { type CypherResult, prepareCypher, runCypher } from "../../src/query/cypher/execute/run-query.ts";
import { MemoryGraph } from "../../src/query/cypher/memory-graph.ts";
import type { NodeRecord, RelationshipRecord } from "../../src/query/cypher/plan/graph-access.ts";
import type { CypherValue } from "../../src/query/cypher/values/value.ts";

export interface TestGraph {
  /** Runs a query, and applies its writes. */
  run(query: string, parameters: ReadonlyMap<string, CypherValue>): Promise<CypherResult>;
  /** Everything in it. */
  read(): Promise<{ readonly nodes: readonly NodeRecord[]; readonly relationships: readonly RelationshipRecord[] }>;
}

const environment = platformEnvironment();

export function createGraph(): TestGraph {
  const graph = new MemoryGraph();
  let ids = 0;
  return {
    async run(query, parameters) {
      const newId = () => `${++ids}`;
      const result = await runCypher(prepareCypher(query), graph, { environment, parameters, newId });
      if (result.changes !== undefined) graph.apply(result.changes);
      return result;
    },
    read: () => Promise.resolve({ nodes: graph.nodes(), relationships: graph.allRelationships() }),
  };
}
