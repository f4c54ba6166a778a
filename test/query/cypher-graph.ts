// A graph in memory for tests of Cypher: runs queries, applies their writes, and shows rows as texts.
import { printValue } from "../../scripts/tck/values.ts";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import { platformEnvironment } from "../../src/core/platform-environment.ts";
import {
  type CypherResult,
  prepareCypher,
  type QueryOptions,
  runCypher,
} from "../../src/query/cypher/execute/run-query.ts";
import { MemoryGraph } from "../../src/query/cypher/memory-graph.ts";
import type { GraphAccess } from "../../src/query/cypher/plan/graph-access.ts";
import { readParameters } from "../../src/query/cypher/values/parameters.ts";

const environment = platformEnvironment();

export type CypherOptions = Partial<Omit<QueryOptions, "parameters">>;

export class CypherGraph {
  readonly memory = new MemoryGraph();
  /** What queries read; the graph in memory unless a test puts something before it. */
  readonly access: GraphAccess;
  #ids = 0;

  constructor(wrap: (memory: MemoryGraph) => GraphAccess = (memory) => memory) {
    this.access = wrap(this.memory);
  }

  async run(query: string, parameters: object = {}, options: CypherOptions = {}): Promise<CypherResult> {
    const newId = () => `n${++this.#ids}`;
    const result = await runCypher(prepareCypher(query), this.access, {
      environment,
      newId,
      ...options,
      parameters: readParameters({ ...parameters }),
    });
    if (result.changes !== undefined) this.memory.apply(result.changes);
    return result;
  }

  /** Each row as a text: its values with " | " between. */
  async rows(query: string, parameters: object = {}, options: CypherOptions = {}): Promise<readonly string[]> {
    const { rows } = await this.run(query, parameters, options);
    return rows.map((row) => row.map((value) => printValue(value, false)).join(" | "));
  }

  /** The same for what no order promises. */
  async sorted(query: string, parameters: object = {}): Promise<readonly string[]> {
    return (await this.rows(query, parameters)).toSorted();
  }

  /** The error of a query: its kind, phase and detail. */
  async refusal(query: string, parameters: object = {}, options: CypherOptions = {}): Promise<string> {
    const error = await this.error(query, parameters, options);
    const { kind, phase, detail, limit } = error.details;
    return kind === undefined
      ? `${error.code}${limit === undefined ? "" : ` ${limit}`}`
      : `${kind} ${phase}: ${detail}`;
  }

  async error(query: string, parameters: object = {}, options: CypherOptions = {}) {
    try {
      await this.run(query, parameters, options);
    } catch (error) {
      if (isHoldfastError(error)) return error;
      throw error;
    }
    throw new Error(`the query did not fail: ${query}`);
  }
}

/** The value of one expression, as a text. */
export async function evaluateCypher(expression: string, parameters: object = {}): Promise<string> {
  const [row = "no row"] = await new CypherGraph().rows(`RETURN ${expression} AS value`, parameters);
  return row;
}
