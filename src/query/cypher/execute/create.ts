// Creates the nodes and relationships of a pattern for one row: those of CREATE, and of MERGE where nothing matched.

import { EvaluationError, placeError } from "../errors.ts";
import { createCompiler } from "../evaluate/compile-expression.ts";
import { type Evaluator, prepareRows, type QueryRuntime } from "../evaluate/compiler.ts";
import type { MapLiteral, NodePattern, Parameter, PathPattern, RelationshipPattern } from "../syntax/ast.ts";
import { readPropertyMap } from "../values/storable.ts";
import { type CypherMap, isNode, typeOfValue } from "../values/value.ts";
import { NodeEntity, type RelationshipEntity } from "./entities.ts";
import type { QueryGraph } from "./query-graph.ts";
import { cellAt, type Row, type SlotScope } from "./row.ts";

export interface PatternCreator {
  readonly scope: SlotScope;
  readonly prepare: (rows: readonly Row[]) => Promise<void>;
  /** Assigns the new variables in the row. */
  readonly create: (row: Row) => void;
}

export function compileCreate(
  patterns: readonly PathPattern[],
  graph: QueryGraph,
  runtime: QueryRuntime,
  before: SlotScope,
): PatternCreator {
  let scope = before;
  const bind = (variable: string | undefined) => {
    if (variable !== undefined) scope = scope.with(variable);
  };
  for (const { nodes, relationships, variable } of patterns) {
    for (const one of [...nodes, ...relationships]) bind(one.variable);
    bind(variable);
  }
  const compiler = createCompiler(runtime, scope);
  const compileProperties = (properties: MapLiteral | Parameter | undefined): Evaluator =>
    properties === undefined ? () => new Map() : compiler.compile(properties, compiler);
  const paths = patterns.map((pattern) => ({
    pattern,
    slot: pattern.variable === undefined ? undefined : scope.slotOf(pattern.variable),
    nodes: pattern.nodes.map((node) => compileNode(node, scope, before, compileProperties(node.properties), graph)),
    relationships: pattern.relationships.map((one) => ({ one, properties: compileProperties(one.properties) })),
  }));
  const create = (row: Row) => {
    const made = new Set<string>();
    for (const { pattern, slot, nodes, relationships } of paths) {
      try {
        const created = nodes.map((node) => node(row, made));
        const links = relationships.map(({ one, properties }, index) => {
          const link = createRelationship(
            one,
            [created[index], created[index + 1]],
            readProperties(properties(row)),
            graph,
          );
          if (one.variable !== undefined) row[scope.slotOf(one.variable)] = link;
          return link;
        });
        if (slot !== undefined) row[slot] = { kind: "path", nodes: created, relationships: links };
      } catch (error) {
        throw placeError(error, runtime.source, pattern.at);
      }
    }
  };
  return { scope, prepare: (rows) => prepareRows(compiler, rows), create };
}

function readProperties(value: ReturnType<Evaluator>): CypherMap {
  return new Map([...readPropertyMap(value)].filter(([, one]) => one !== null));
}

type NodeCreator = (row: Row, made: Set<string>) => NodeEntity;

/** A variable of an earlier clause, or of an earlier place in this one, names a node that is there. */
function compileNode(
  { variable, labels }: NodePattern,
  scope: SlotScope,
  before: SlotScope,
  properties: Evaluator,
  graph: QueryGraph,
): NodeCreator {
  const slot = variable === undefined ? undefined : scope.slotOf(variable);
  const isBound = variable !== undefined && before.slots.has(variable);
  return (row, made) => {
    if (variable !== undefined && slot !== undefined && (isBound || made.has(variable))) {
      const node = cellAt(row, slot);
      if (node instanceof NodeEntity && !node.isDeleted) return node;
      const what = isNode(node) ? "a deleted node" : typeOfValue(node);
      throw new EvaluationError("TypeError", "InvalidArgumentType", `${variable} must be a node, and is ${what}`);
    }
    const node = graph.createNode(labels, readProperties(properties(row)));
    if (variable !== undefined && slot !== undefined) {
      made.add(variable);
      row[slot] = node;
    }
    return node;
  };
}

function createRelationship(
  { types, direction }: RelationshipPattern,
  [left, right]: readonly (NodeEntity | undefined)[],
  properties: CypherMap,
  graph: QueryGraph,
): RelationshipEntity {
  const [type] = types;
  if (left === undefined || right === undefined || type === undefined) {
    throw new Error("bug: a relationship to create without its nodes or type");
  }
  const [source, target] = direction === "in" ? [right, left] : [left, right];
  return graph.createRelationship(type, source.id, target.id, properties);
}
