// Executes the items of SET and REMOVE on one row.

import { EvaluationError, placeError } from "../errors.ts";
import { createCompiler } from "../evaluate/compile-expression.ts";
import { type Evaluator, type ExpressionCompiler, prepareRows, type QueryRuntime } from "../evaluate/compiler.ts";
import { checkReadable } from "../functions/call-context.ts";
import type { RemoveItem, SetItem } from "../syntax/ast.ts";
import { checkStorable, readPropertyMap } from "../values/storable.ts";
import { type CypherValue, typeOfValue } from "../values/value.ts";
import { type Entity, NodeEntity, RelationshipEntity } from "./entities.ts";
import type { QueryGraph } from "./query-graph.ts";
import type { Row, SlotScope } from "./row.ts";

export interface ItemWriter {
  /** Computes what the items need of the graph, before the first write. */
  readonly prepare: (rows: readonly Row[]) => Promise<void>;
  readonly write: (row: Row) => void;
}

type ItemWrite = (row: Row) => void;

export function compileItems(
  items: readonly (SetItem | RemoveItem)[],
  graph: QueryGraph,
  runtime: QueryRuntime,
  scope: SlotScope,
): ItemWriter {
  const compiler = createCompiler(runtime, scope);
  const writes = items.map((item) => ({ at: item.at, write: compileItem(item, graph, compiler) }));
  return {
    prepare: (rows) => prepareRows(compiler, rows),
    write(row) {
      for (const { at, write } of writes) {
        try {
          write(row);
        } catch (error) {
          throw placeError(error, runtime.source, at);
        }
      }
    },
  };
}

function compileItem(item: SetItem | RemoveItem, graph: QueryGraph, compiler: ExpressionCompiler): ItemWrite {
  switch (item.kind) {
    case "setProperty": {
      const { key } = item.target;
      return writeProperty(
        compiler.compile(item.target.object, compiler),
        () => key,
        compiler.compile(item.value, compiler),
        graph,
      );
    }
    case "setDynamicProperty": {
      const key = compiler.compile(item.key, compiler);
      return writeProperty(compiler.compile(item.object, compiler), key, compiler.compile(item.value, compiler), graph);
    }
    case "removeProperty": {
      const { key } = item.target;
      return writeProperty(
        compiler.compile(item.target.object, compiler),
        () => key,
        () => null,
        graph,
      );
    }
    case "replaceProperties":
    case "mergeProperties":
      return writeProperties(
        item.kind,
        compiler.compile(item.variable, compiler),
        compiler.compile(item.value, compiler),
        graph,
      );
    case "setLabels":
    case "removeLabels": {
      const target = compiler.compile(item.variable, compiler);
      return (row) => {
        const node = readTarget(target(row));
        if (node === undefined) return;
        if (!(node instanceof NodeEntity)) throw wrongTarget("labels", node);
        if (item.kind === "setLabels") graph.addLabels(node, item.labels);
        else graph.removeLabels(node, item.labels);
      };
    }
  }
}

/** Writes to null do nothing: OPTIONAL MATCH found nothing to write to. */
function readTarget(value: CypherValue): Entity | undefined {
  if (value === null) return undefined;
  if (value instanceof NodeEntity || value instanceof RelationshipEntity) return checkReadable(value);
  throw wrongTarget("properties to write", value);
}

function wrongTarget(what: string, value: CypherValue): EvaluationError {
  return new EvaluationError("TypeError", "InvalidArgumentType", `a ${typeOfValue(value)} has no ${what}`);
}

function writeProperty(object: Evaluator, key: Evaluator, value: Evaluator, graph: QueryGraph): ItemWrite {
  return (row) => {
    const entity = readTarget(object(row));
    const name = key(row);
    const written = value(row);
    if (entity === undefined) return;
    if (typeof name !== "string") {
      throw new EvaluationError(
        "TypeError",
        "MapElementAccessByNonString",
        `a property key is a text, not a ${typeOfValue(name)}`,
      );
    }
    checkStorable(name, written);
    graph.setProperty(entity, name, written);
  };
}

function writeProperties(
  kind: "replaceProperties" | "mergeProperties",
  object: Evaluator,
  value: Evaluator,
  graph: QueryGraph,
): ItemWrite {
  return (row) => {
    const entity = readTarget(object(row));
    if (entity === undefined) return;
    const properties = new Map(readPropertyMap(value(row)));
    if (kind === "replaceProperties") {
      for (const key of [...entity.properties.keys()]) if (!properties.has(key)) graph.setProperty(entity, key, null);
    }
    for (const [key, one] of properties) graph.setProperty(entity, key, one);
  };
}
