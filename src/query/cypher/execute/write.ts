// Executes CREATE, SET, REMOVE and DELETE. A clause that writes reads all its rows first, so that it never sees its own writes, and the
// clauses after it see all of them.

import { cypherError } from "../errors.ts";
import { createCompiler } from "../evaluate/compile-expression.ts";
import { prepareRows, type QueryRuntime } from "../evaluate/compiler.ts";
import type { CreateClause, DeleteClause, RemoveClause, SetClause } from "../syntax/ast.ts";
import { type CypherValue, isPath, typeOfValue } from "../values/value.ts";
import { compileCreate } from "./create.ts";
import { type Entity, NodeEntity, RelationshipEntity } from "./entities.ts";
import type { CompiledClause } from "./project.ts";
import type { QueryGraph } from "./query-graph.ts";
import { BATCH_ROWS, type Row, type RowStream, type SlotScope, sizeOfRows } from "./row.ts";
import { compileItems } from "./write-items.ts";

/** Runs `write` once, when all rows are there. */
export async function* writeEagerly(
  input: RowStream,
  { meter }: QueryRuntime,
  write: (rows: readonly Row[]) => RowStream,
): RowStream {
  const rows: Row[] = [];
  let held = 0;
  for await (const batch of input) {
    rows.push(...batch);
    const size = sizeOfRows(batch);
    meter.hold(size);
    held += size;
  }
  // All rows are written before the first one goes on.
  const written: Row[][] = [];
  for await (const batch of write(rows)) written.push(batch);
  yield* written;
  meter.release(held);
}

/** The same for clauses that keep their rows. */
function writeEach(
  input: RowStream,
  runtime: QueryRuntime,
  prepare: (rows: readonly Row[]) => Promise<void>,
  write: (row: Row) => void,
): RowStream {
  const { meter } = runtime;
  return writeEagerly(input, runtime, async function* (rows) {
    await prepare(rows);
    for (let at = 0; at < rows.length; at += BATCH_ROWS) {
      const batch = rows.slice(at, at + BATCH_ROWS);
      for (const row of batch) write(row);
      meter.countRows(batch.length);
      if (meter.isSliceSpent) await meter.pause();
      yield batch;
    }
  });
}

export function compileCreateClause(
  clause: CreateClause,
  graph: QueryGraph,
  runtime: QueryRuntime,
  scope: SlotScope,
): CompiledClause {
  const { scope: after, prepare, create } = compileCreate(clause.patterns, graph, runtime, scope);
  return { scope: after, run: (input) => writeEach(input, runtime, prepare, create) };
}

export function compileSetClause(
  clause: SetClause | RemoveClause,
  graph: QueryGraph,
  runtime: QueryRuntime,
  scope: SlotScope,
): CompiledClause {
  const { prepare, write } = compileItems(clause.items, graph, runtime, scope);
  return { scope, run: (input) => writeEach(input, runtime, prepare, write) };
}

/** All targets are found before the first one is deleted. */
export function compileDeleteClause(
  clause: DeleteClause,
  graph: QueryGraph,
  runtime: QueryRuntime,
  scope: SlotScope,
): CompiledClause {
  const compiler = createCompiler(runtime, scope);
  const targets = clause.targets.map((target) => ({ at: target.at, evaluate: compiler.compile(target, compiler) }));
  const run = (input: RowStream) =>
    writeEagerly(input, runtime, async function* (rows) {
      await prepareRows(compiler, rows);
      const entities = new Set<Entity>();
      for (const row of rows) {
        for (const { at, evaluate } of targets) {
          for (const entity of entitiesOf(evaluate(row), runtime.source, at)) entities.add(entity);
        }
      }
      if (clause.isDetach) await addRelationships(entities, graph);
      for (const entity of entities) if (!entity.isDeleted) graph.delete(entity);
      for (let at = 0; at < rows.length; at += BATCH_ROWS) yield rows.slice(at, at + BATCH_ROWS);
    });
  return { scope, run };
}

async function addRelationships(entities: Set<Entity>, graph: QueryGraph): Promise<void> {
  const nodes = [...entities].filter((entity) => entity instanceof NodeEntity).map(({ id }) => id);
  const touching = await graph.expand({ nodes, direction: "either", types: [] });
  for (const relationships of touching.values()) for (const one of relationships) entities.add(one);
}

function entitiesOf(value: CypherValue, source: string, at: number): readonly Entity[] {
  if (value === null) return [];
  if (value instanceof NodeEntity || value instanceof RelationshipEntity) return [value];
  if (isPath(value)) {
    const parts: readonly CypherValue[] = [...value.relationships, ...value.nodes];
    return parts.flatMap((part) => entitiesOf(part, source, at));
  }
  throw cypherError(source, at, {
    kind: "TypeError",
    phase: "runtime",
    detail: "InvalidArgumentType",
    message: `DELETE cannot delete a ${typeOfValue(value)}`,
  });
}
