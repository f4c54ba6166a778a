// Executes MERGE: each row matches the pattern, or creates it. A row sees what the rows before it created.

import { cypherError } from "../errors.ts";
import { createCompiler } from "../evaluate/compile-expression.ts";
import { type CompiledMatch, prepareRows, type QueryRuntime } from "../evaluate/compiler.ts";
import type { MergeClause } from "../syntax/ast.ts";
import { compileCreate, type PatternCreator } from "./create.ts";
import type { CompiledClause } from "./project.ts";
import type { QueryGraph } from "./query-graph.ts";
import { cellAt, type Row, type RowStream, type SlotScope } from "./row.ts";
import { writeEagerly } from "./write.ts";
import { compileItems, type ItemWriter } from "./write-items.ts";

export function compileMerge(
  clause: MergeClause,
  graph: QueryGraph,
  runtime: QueryRuntime,
  scope: SlotScope,
): CompiledClause {
  const creator = compileCreate([clause.pattern], graph, runtime, scope);
  const matcher = runtime.compileMatch([clause.pattern], undefined, scope);
  const merge: MergeRun = {
    creator,
    matcher,
    // What matching binds and what creating binds are the same variables, in slots of their own.
    slots: [...creator.scope.slots].flatMap(([name, slot]): (readonly [number, number])[] =>
      scope.slots.has(name) ? [] : [[slot, matcher.scope.slotOf(name)]],
    ),
    onCreate: compileItems(clause.onCreate, graph, runtime, creator.scope),
    onMatch: compileItems(clause.onMatch, graph, runtime, creator.scope),
    checkRow: compileNullCheck(clause, runtime, scope),
  };
  const run = (input: RowStream) => writeEagerly(input, runtime, (rows) => mergeRows(rows, merge, runtime));
  return { scope: creator.scope, run };
}

interface MergeRun {
  readonly creator: PatternCreator;
  readonly matcher: CompiledMatch;
  readonly slots: readonly (readonly [created: number, matched: number])[];
  readonly onCreate: ItemWriter;
  readonly onMatch: ItemWriter;
  readonly checkRow: (row: Row) => Promise<void>;
}

async function* mergeRows(rows: readonly Row[], merge: MergeRun, { meter }: QueryRuntime): RowStream {
  for (const row of rows) {
    await merge.checkRow(row);
    const matched: Row[] = [];
    for await (const derived of merge.matcher.match([row])) {
      for (const one of derived) {
        const copy = [...row];
        for (const [slot, from] of merge.slots) copy[slot] = cellAt(one.row, from);
        matched.push(copy);
      }
    }
    if (matched.length === 0) {
      await merge.creator.prepare([row]);
      merge.creator.create(row);
      await merge.onCreate.prepare([row]);
      merge.onCreate.write(row);
      yield [row];
    } else {
      await merge.onMatch.prepare(matched);
      for (const one of matched) merge.onMatch.write(one);
      meter.countRows(matched.length);
      yield matched;
    }
    if (meter.isSliceSpent) await meter.pause();
  }
}

/** null equals nothing, so a pattern with a null property would be created again by every row. */
function compileNullCheck(
  { pattern }: MergeClause,
  runtime: QueryRuntime,
  scope: SlotScope,
): (row: Row) => Promise<void> {
  const compiler = createCompiler(runtime, scope);
  const maps = [...pattern.nodes, ...pattern.relationships].map(({ properties }) => properties);
  const values = maps
    .flatMap((map) => (map?.kind === "map" ? map.entries : []))
    .map(({ key, value }) => ({ key, at: value.at, evaluate: compiler.compile(value, compiler) }));
  return async (row) => {
    await prepareRows(compiler, [row]);
    for (const { key, at, evaluate } of values) {
      if (evaluate(row) !== null) continue;
      throw cypherError(runtime.source, at, {
        kind: "SemanticError",
        phase: "runtime",
        detail: "MergeReadOwnWrites",
        message: `MERGE cannot look for the property ${key} that is null`,
      });
    }
  };
}
