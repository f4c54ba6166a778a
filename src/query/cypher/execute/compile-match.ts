// Compiles the patterns and the WHERE of a MATCH to a function that matches rows.

import { cypherError } from "../errors.ts";
import { createCompiler } from "../evaluate/compile-expression.ts";
import {
  type CompiledMatch,
  type DerivedRow,
  type Evaluator,
  prepareRows,
  type QueryRuntime,
} from "../evaluate/compiler.ts";
import type { MatchInput } from "../plan/pattern-plan.ts";
import type { Expression } from "../syntax/ast.ts";
import { type CypherValue, isList, isNode, isRelationship, typeOfValue } from "../values/value.ts";
import { compileConditions } from "./conditions.ts";
import type { NodeEntity } from "./entities.ts";
import type { Match } from "./match-steps.ts";
import { otherEnd } from "./partial-match.ts";
import type { CompiledPattern, PatternPath } from "./pattern-compiler.ts";
import type { QueryGraph } from "./query-graph.ts";
import { cellAt, isHidden, type Row, type SlotScope } from "./row.ts";

export function compileMatch(
  graph: QueryGraph,
  runtime: QueryRuntime,
  pattern: CompiledPattern,
  where: Expression | undefined,
  scope: SlotScope,
): CompiledMatch {
  const before = createCompiler(runtime, scope);
  const values = pattern.values.map((value) => before.compile(value, before));
  const matched = bindVariables(pattern, scope);
  const conditions = [...pattern.residual, ...(where === undefined ? [] : [where])];
  const filter = compileConditions(conditions, () => createCompiler(runtime, matched));
  const writer = rowWriter(pattern, matched, scope);

  const readRow = (row: Row) =>
    readInput(row, pattern, values, (value) => unmatchable(runtime.source, pattern.at, value));

  async function* match(rows: readonly Row[]): AsyncGenerator<readonly DerivedRow[]> {
    await prepareRows(before, rows);
    const inputs: MatchInput[] = [];
    const sources: number[] = [];
    for (const [source, row] of rows.entries()) {
      const input = readRow(row);
      if (input === undefined) continue;
      inputs.push(input);
      sources.push(source);
    }
    if (inputs.length === 0) return;
    for await (const matches of graph.match(pattern.plan, inputs)) {
      if (runtime.meter.isSliceSpent) await runtime.meter.pause();
      const between = await readNodesOnPaths(graph, pattern, matches);
      const derived = matches.map((one): DerivedRow => {
        const source = sources[one.input] ?? 0;
        return { source, row: writer([...(rows[source] ?? [])], one, between) };
      });
      yield filter === undefined ? derived : await filter(derived, ({ row }) => row);
    }
  }
  return { scope: matched.withoutHidden(), match, plan: pattern.plan, readInput: readRow };
}

/** What has no name in the query needs a slot only if a residual condition names it. */
function bindVariables(pattern: CompiledPattern, scope: SlotScope): SlotScope {
  const names = [
    ...pattern.nodeNames.keys(),
    ...pattern.relationshipNames.keys(),
    ...pattern.paths.map((p) => p.variable),
  ];
  const used = names.filter((name) => pattern.residual.length > 0 || !isHidden(name));
  return used.reduce((known, name) => known.with(name), scope);
}

function unmatchable(source: string, at: number, value: CypherValue): Error {
  return cypherError(source, at, {
    kind: "TypeError",
    phase: "runtime",
    detail: "InvalidArgumentType",
    message: `a variable of the pattern is a ${typeOfValue(value)}, not a node or relationship`,
  });
}

/** undefined: a bound variable is null, so nothing matches. */
function readInput(
  row: Row,
  pattern: CompiledPattern,
  values: readonly Evaluator[],
  fail: (value: CypherValue) => Error,
): MatchInput | undefined {
  const nodes: (string | undefined)[] = [];
  for (const slot of pattern.boundNodes) {
    const value = slot === undefined ? undefined : cellAt(row, slot);
    if (value === null) return undefined;
    if (value !== undefined && !isNode(value)) throw fail(value);
    nodes.push(value?.id);
  }
  const relationships: (readonly string[] | undefined)[] = [];
  for (const [index, slot] of pattern.boundRelationships.entries()) {
    const value = slot === undefined ? undefined : cellAt(row, slot);
    if (value === null) return undefined;
    const isPath = pattern.plan.relationships[index]?.length !== undefined;
    relationships.push(value === undefined ? undefined : readRelationships(value, isPath, fail));
  }
  return { nodes, relationships, values: values.map((evaluate) => evaluate(row)) };
}

function readRelationships(
  value: CypherValue,
  isPath: boolean,
  fail: (value: CypherValue) => Error,
): readonly string[] {
  const list = isPath && isList(value) ? value : [value];
  return list.map((one) => {
    if (!isRelationship(one) || isPath !== isList(value)) throw fail(one);
    return one.id;
  });
}

/** The nodes that paths of a variable length pass. */
async function readNodesOnPaths(
  graph: QueryGraph,
  pattern: CompiledPattern,
  matches: readonly Match[],
): Promise<ReadonlyMap<string, NodeEntity>> {
  const numbers = pattern.paths.flatMap(({ relationships }) => relationships);
  const isVariable = numbers.some((number) => pattern.plan.relationships[number]?.length !== undefined);
  if (!isVariable) return new Map();
  const passed = matches.flatMap(({ relationships }) => numbers.flatMap((number) => relationships[number] ?? []));
  return await graph.nodes(passed.flatMap(({ source, target }) => [source, target]));
}

type RowWriter = (row: Row, match: Match, nodes: ReadonlyMap<string, NodeEntity>) => Row;

/** Writes what a match found into the slots of the new variables. */
function rowWriter(pattern: CompiledPattern, matched: SlotScope, before: SlotScope): RowWriter {
  const isNew = ([name]: readonly [string, number]) => !before.slots.has(name) && matched.slots.has(name);
  const nodes = [...pattern.nodeNames].filter(isNew).map(([name, number]) => [matched.slotOf(name), number] as const);
  const relationships = [...pattern.relationshipNames]
    .filter(isNew)
    .map(([name, number]) => [matched.slotOf(name), number, pattern.plan.relationships[number]?.length] as const);
  const paths = pattern.paths.map((path) => [matched.slotOf(path.variable), path] as const);
  return (row, match, known) => {
    for (const [slot, number] of nodes) row[slot] = match.nodes[number] ?? null;
    for (const [slot, number, length] of relationships) {
      const list = match.relationships[number] ?? [];
      row[slot] = length === undefined ? (list[0] ?? null) : list;
    }
    for (const [slot, path] of paths) row[slot] = buildPath(path, match, known);
    return row;
  };
}

function buildPath(path: PatternPath, match: Match, known: ReadonlyMap<string, NodeEntity>): CypherValue {
  const [first = 0] = path.nodes;
  let current = match.nodes[first];
  if (current === undefined) throw new Error("bug: a path without its first node");
  const nodes = [current];
  const relationships = path.relationships.flatMap((number) => match.relationships[number] ?? []);
  const assigned = new Map(match.nodes.map((node) => [node.id, node]));
  for (const relationship of relationships) {
    const id = otherEnd(relationship, current.id);
    current = known.get(id) ?? assigned.get(id);
    if (current === undefined) throw new Error(`bug: the node ${id} of a path was not read`);
    nodes.push(current);
  }
  return { kind: "path", nodes, relationships };
}
