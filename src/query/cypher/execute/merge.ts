// Executes MERGE: each row matches the pattern, or creates it. A row sees what the rows before it created. All rows are matched in one
// request where that gives the same result as one row after the other.
import { cypherError } from "../errors.ts";
import { createCompiler } from "../evaluate/compile-expression.ts";
import { type CompiledMatch, prepareRows, type QueryRuntime } from "../evaluate/compiler.ts";
import type { MergeClause } from "../syntax/ast.ts";
import { equalValues, rowKey } from "../values/equality.ts";
import type { CypherValue } from "../values/value.ts";
import { compileCreate, type PatternCreator } from "./create.ts";
import { canMatchTogether } from "./merge-batches.ts";
import type { CompiledClause } from "./project.ts";
import type { QueryGraph } from "./query-graph.ts";
import { BATCH_ROWS, cellAt, type Row, type RowStream, type SlotScope } from "./row.ts";
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
  const bound = clause.pattern.nodes.flatMap(({ variable }) => (variable === undefined ? [] : [variable]));
  const merge: MergeRun = {
    runtime,
    graph,
    creator,
    matcher,
    // What matching binds and what creating binds are the same variables, in slots of their own.
    slots: [...creator.scope.slots].flatMap(([name, slot]): (readonly [number, number])[] =>
      scope.slots.has(name) ? [] : [[slot, matcher.scope.slotOf(name)]],
    ),
    boundSlots: bound.flatMap((name) => scope.slots.get(name) ?? []),
    onCreate: compileItems(clause.onCreate, graph, runtime, creator.scope),
    onMatch: compileItems(clause.onMatch, graph, runtime, creator.scope),
    readValues: compileValues(clause, runtime, scope),
  };
  const mergeRows = canMatchTogether(clause) ? mergeTogether : mergeOneByOne;
  return { scope: creator.scope, run: (input) => writeEagerly(input, runtime, (rows) => mergeRows(rows, merge)) };
}

interface MergeRun {
  readonly runtime: QueryRuntime;
  readonly graph: QueryGraph;
  readonly creator: PatternCreator;
  readonly matcher: CompiledMatch;
  readonly slots: readonly (readonly [created: number, matched: number])[];
  /** Of nodes that rows have already. */
  readonly boundSlots: readonly number[];
  readonly onCreate: ItemWriter;
  readonly onMatch: ItemWriter;
  /** The values of the pattern's properties; none may be null. */
  readonly readValues: (row: Row) => Promise<readonly CypherValue[]>;
}

async function* mergeOneByOne(rows: readonly Row[], merge: MergeRun): RowStream {
  const { meter } = merge.runtime;
  for (const row of rows) {
    await merge.readValues(row);
    const [matched = []] = await matchRows([row], merge);
    yield matched.length === 0 ? [await createRow(row, merge)] : await writeMatched(matched, merge);
    if (meter.isSliceSpent) await meter.pause();
  }
}

/** A row that matches nothing may still match what an earlier row with the same values created. */
async function* mergeTogether(rows: readonly Row[], merge: MergeRun): RowStream {
  const { meter } = merge.runtime;
  const created = new Map<string, Row>();
  for (let at = 0; at < rows.length; at += BATCH_ROWS) {
    const batch = rows.slice(at, at + BATCH_ROWS);
    const values: (readonly CypherValue[])[] = [];
    for (const row of batch) values.push(await merge.readValues(row));
    const matches = await matchRows(batch, merge);
    for (const [index, row] of batch.entries()) {
      const own = values[index] ?? [];
      const key = rowKey([...merge.boundSlots.map((slot) => cellAt(row, slot)), ...own]);
      const earlier = created.get(key);
      const found = matches[index] ?? [];
      if (found.length > 0) yield await writeMatched(found, merge);
      else if (earlier !== undefined) yield await writeMatched([copySlots(row, earlier, merge)], merge);
      else {
        const made = await createRow(row, merge);
        // What does not even equal itself, such as NaN, is never found again.
        if (own.every((value) => equalValues(value, value) === true)) created.set(key, made);
        yield [made];
      }
      if (meter.shouldPause()) await meter.pause();
    }
  }
}

function copySlots(row: Row, from: Row, { slots }: MergeRun): Row {
  const copy = [...row];
  for (const [slot] of slots) copy[slot] = cellAt(from, slot);
  return copy;
}

/** The matches of each row. */
async function matchRows(rows: readonly Row[], { matcher, slots, runtime }: MergeRun): Promise<readonly Row[][]> {
  const matches = rows.map((): Row[] => []);
  for await (const derived of matcher.match(rows)) {
    for (const { source, row } of derived) {
      const copy = [...(rows[source] ?? [])];
      for (const [slot, from] of slots) copy[slot] = cellAt(row, from);
      matches[source]?.push(copy);
    }
    runtime.meter.countRows(derived.length);
  }
  return matches;
}

async function createRow(row: Row, { creator, onCreate, matcher, graph }: MergeRun): Promise<Row> {
  const input = matcher.readInput(row);
  if (input !== undefined) graph.addMissingMatch({ plan: matcher.plan, input });
  await creator.prepare([row]);
  creator.create(row);
  await onCreate.prepare([row]);
  onCreate.write(row);
  return row;
}

async function writeMatched(rows: Row[], { onMatch }: MergeRun): Promise<Row[]> {
  for (const row of rows) {
    await onMatch.prepare([row]);
    onMatch.write(row);
  }
  return rows;
}

/** null equals nothing, so a pattern with a null property would be created again by every row. */
function compileValues(
  { pattern }: MergeClause,
  runtime: QueryRuntime,
  scope: SlotScope,
): (row: Row) => Promise<readonly CypherValue[]> {
  const compiler = createCompiler(runtime, scope);
  const maps = [...pattern.nodes, ...pattern.relationships].map(({ properties }) => properties);
  const values = maps
    .flatMap((map) => (map?.kind === "map" ? map.entries : []))
    .map(({ key, value }) => ({ key, at: value.at, evaluate: compiler.compile(value, compiler) }));
  return async (row) => {
    await prepareRows(compiler, [row]);
    return values.map(({ key, at, evaluate }) => {
      const value = evaluate(row);
      if (value !== null) return value;
      throw cypherError(runtime.source, at, {
        kind: "SemanticError",
        phase: "runtime",
        detail: "MergeReadOwnWrites",
        message: `MERGE cannot look for the property ${key} that is null`,
      });
    });
  };
}
