// Compiles what reads the graph: pattern predicates and comprehensions, shortest paths, subqueries, startNode and endNode. Each is
// computed ahead for a batch of rows.
import { placeError } from "../errors.ts";
import { cellAt } from "../execute/row.ts";
import { invalidValue } from "../functions/call-context.ts";
import type { Expression, FunctionCall, PathPattern, Query } from "../syntax/ast.ts";
import { type CypherValue, isRelationship } from "../values/value.ts";
import {
  addPreparation,
  type Evaluator,
  type ExpressionCompiler,
  innerCompiler,
  type Preparation,
  prepareRows,
} from "./compiler.ts";

type GraphExpression =
  | Extract<Expression, { kind: "patternPredicate" | "patternComprehension" | "subquery" | "pathExpression" }>
  | FunctionCall;

export function compileGraphExpression(expression: GraphExpression, compiler: ExpressionCompiler): Evaluator {
  const slot = compiler.scope.takeSlot();
  addPreparation(compiler, prepareExpression(expression, compiler, slot), slot);
  return (row) => cellAt(row, slot);
}

function prepareExpression(expression: GraphExpression, compiler: ExpressionCompiler, slot: number): Preparation {
  switch (expression.kind) {
    case "patternPredicate":
      return prepareCount([expression.pattern], undefined, compiler, "exists", slot);
    case "patternComprehension":
      return prepareComprehension(expression, compiler, slot);
    case "subquery":
      return prepareSubquery(expression.query, expression.result, compiler, slot);
    case "pathExpression":
      return preparePaths(expression.pattern, compiler, slot);
    case "call":
      return prepareEnd(expression, compiler, slot);
  }
}

/** How many matches each row has, or whether it has one. */
function prepareCount(
  patterns: readonly PathPattern[],
  where: Expression | undefined,
  compiler: ExpressionCompiler,
  result: "exists" | "count",
  slot: number,
): Preparation {
  const { match } = compiler.runtime.compileMatch(patterns, where, compiler.scope, result === "exists");
  return async (rows) => {
    const counts = rows.map(() => 0);
    for await (const derived of match(rows)) {
      for (const { source } of derived) counts[source] = (counts[source] ?? 0) + 1;
    }
    for (const [index, row] of rows.entries()) {
      const count = counts[index] ?? 0;
      row[slot] = result === "count" ? BigInt(count) : count > 0;
    }
  };
}

function prepareComprehension(
  expression: Extract<Expression, { kind: "patternComprehension" }>,
  compiler: ExpressionCompiler,
  slot: number,
): Preparation {
  const { scope, match } = compiler.runtime.compileMatch([expression.pattern], expression.where, compiler.scope);
  const inner = innerCompiler(compiler, scope);
  const project = inner.compile(expression.projection, inner);
  return async (rows) => {
    const lists = rows.map((): CypherValue[] => []);
    for await (const derived of match(rows)) {
      await prepareRows(
        inner,
        derived.map(({ row }) => row),
      );
      for (const { source, row } of derived) lists[source]?.push(project(row));
      compiler.runtime.meter.hold(derived.length);
    }
    for (const [index, row] of rows.entries()) row[slot] = lists[index] ?? [];
  };
}

function preparePaths(pattern: PathPattern, compiler: ExpressionCompiler, slot: number): Preparation {
  let variable = "path";
  while (compiler.scope.slots.has(variable)) variable += "_";
  const named = { ...pattern, variable };
  const { scope, match } = compiler.runtime.compileMatch([named], undefined, compiler.scope);
  const pathSlot = scope.slotOf(variable);
  return async (rows) => {
    const lists = rows.map((): CypherValue[] => []);
    for await (const derived of match(rows)) {
      for (const { source, row } of derived) lists[source]?.push(cellAt(row, pathSlot));
    }
    for (const [index, row] of rows.entries()) {
      const paths = lists[index] ?? [];
      row[slot] = pattern.shortest === "one" ? (paths[0] ?? null) : paths;
    }
  };
}

/** A single MATCH, perhaps with a RETURN that keeps all rows, is matched for all rows at once; other subqueries row by row. */
function prepareSubquery(
  query: Query,
  result: "exists" | "count",
  compiler: ExpressionCompiler,
  slot: number,
): Preparation {
  const [{ clauses }, ...others] = query.parts;
  const [first, second, ...rest] = clauses;
  const isPlain =
    second === undefined ||
    (second.kind === "return" &&
      !second.projection.isDistinct &&
      second.projection.skip === undefined &&
      second.projection.limit === undefined &&
      second.projection.items.every(({ expression }) => ["variable", "literal", "property"].includes(expression.kind)));
  if (first?.kind === "match" && !first.isOptional && isPlain && rest.length === 0 && others.length === 0) {
    return prepareCount(first.patterns, first.where, compiler, result, slot);
  }
  const run = compiler.runtime.compileSubquery(query, compiler.scope);
  return async (rows) => {
    for (const row of rows) {
      const count = await run(row, result === "exists" ? 1 : Number.POSITIVE_INFINITY);
      row[slot] = result === "count" ? BigInt(count) : count > 0;
    }
  };
}

/** The node where a relationship begins or ends. */
function prepareEnd(call: FunctionCall, compiler: ExpressionCompiler, slot: number): Preparation {
  const [operand] = call.operands;
  if (operand === undefined) throw new Error("bug: a call without the operand that was checked");
  const evaluate = compiler.compile(operand, compiler);
  const end = call.name === "startnode" ? "source" : "target";
  return async (rows) => {
    const ids = rows.map((row) => {
      const value = evaluate(row);
      if (value !== null && !isRelationship(value)) {
        throw placeError(invalidValue(call.shownName, value), compiler.runtime.source, call.at);
      }
      return value?.[end];
    });
    const nodes = await compiler.runtime.readNodes(ids.filter((id) => id !== undefined));
    for (const [index, row] of rows.entries()) row[slot] = nodes.get(ids[index] ?? "") ?? null;
  };
}
