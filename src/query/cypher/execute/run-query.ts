// Runs a checked query on a graph: compiles all clauses, then pulls the rows of the last one through all others. The writes come back as
// data.
import type { Environment } from "../../../contracts/environment.ts";
import { checkQuery, isWriteQuery } from "../check/check-query.ts";
import { cypherError, placeError } from "../errors.ts";
import type { QueryRuntime } from "../evaluate/compiler.ts";
import { exceedsLimit } from "../limits.ts";
import type { GraphAccess } from "../plan/graph-access.ts";
import type { GraphChanges, MissingMatch } from "../plan/graph-changes.ts";
import type { Clause, Query, SingleQuery } from "../syntax/ast.ts";
import { parseQuery } from "../syntax/parse.ts";
import { checkResultDepth, tooDeep } from "../values/depth.ts";
import { rowKey } from "../values/equality.ts";
import type { CypherValue } from "../values/value.ts";
import { compileMatch } from "./compile-match.ts";
import { compileMerge } from "./merge.ts";
import { DEFAULT_LIMITS, type QueryLimits, QueryMeter } from "./meter.ts";
import { compilePattern } from "./pattern-compiler.ts";
import { type CompiledClause, compileProjection } from "./project.ts";
import { QueryGraph } from "./query-graph.ts";
import { compileMatchClause, compileUnwindClause } from "./read.ts";
import { cellAt, type Row, type RowStream, SlotScope, sizeOfRows } from "./row.ts";
import { compileCreateClause, compileDeleteClause, compileSetClause } from "./write.ts";

export interface QueryOptions {
  readonly environment: Environment;
  readonly parameters?: ReadonlyMap<string, CypherValue>;
  readonly limits?: Partial<QueryLimits>;
  /** Ids for nodes and relationships that the query creates. */
  readonly newId: () => string;
  /** Refuses queries that write. */
  readonly isReadOnly?: boolean;
}

export interface CypherResult {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly CypherValue[])[];
  /** What the query wrote; undefined if it has no clause that writes. */
  readonly changes: GraphChanges | undefined;
  /** What the changes rely on besides the state of what they change: where MERGE found nothing. */
  readonly missingMatches: readonly MissingMatch[];
}

/** A query that is parsed and checked: it can run any number of times. */
export interface PreparedQuery {
  readonly source: string;
  readonly query: Query;
  readonly columns: readonly string[];
  readonly isWrite: boolean;
}

export function prepareCypher(source: string): PreparedQuery {
  const query = parseQuery(source);
  return { source, query, columns: checkQuery(query, source), isWrite: isWriteQuery(query) };
}

export async function runCypher(
  prepared: PreparedQuery,
  access: GraphAccess,
  options: QueryOptions,
): Promise<CypherResult> {
  const { source, query, columns, isWrite } = prepared;
  if (isWrite && options.isReadOnly === true) throw writesNothing(source);
  const meter = new QueryMeter(options.environment, { ...DEFAULT_LIMITS, ...options.limits });
  const graph = new QueryGraph(access, meter, options.newId);
  const runtime = createRuntime(source, graph, meter, options);
  const parts = query.parts.map((part) => compileSingle(part, graph, runtime, SlotScope.of([])));
  const rows = await collectRows(parts, query.union === "distinct", meter).catch((error: unknown) => {
    throw describeFailure(error, source);
  });
  if (!isWrite) return { columns, rows, changes: undefined, missingMatches: [] };
  await checkDangling(graph, source);
  return { columns, rows, changes: graph.changes(), missingMatches: graph.missingMatches };
}

/** A value that is nested too deeply ends the evaluator's stack; what it was doing is given up as a whole. */
function describeFailure(error: unknown, source: string): unknown {
  if (error instanceof RangeError && /call stack/.test(error.message)) return tooDeep();
  return placeError(error, source, undefined);
}

function writesNothing(source: string): Error {
  return cypherError(source, 0, {
    kind: "SemanticError",
    phase: "compile time",
    detail: "ReadOnlyQuery",
    message: "the query writes, and only reads are allowed here",
  });
}

function createRuntime(source: string, graph: QueryGraph, meter: QueryMeter, options: QueryOptions): QueryRuntime {
  const { environment, parameters = new Map() } = options;
  const random = () => {
    const bytes = environment.random(6);
    return bytes.reduce((value, byte) => (value + byte) / 256, 0);
  };
  const runtime: QueryRuntime = {
    source,
    parameters,
    meter,
    calls: { random },
    readNodes: (ids) => graph.nodes(ids),
    compileMatch: (patterns, where, scope, isExistence) =>
      compileMatch(graph, runtime, compilePattern(patterns, where, scope, isExistence), where, scope),
    compileSubquery: (query, scope) => compileSubquery(query, graph, runtime, scope),
  };
  return runtime;
}

/** Rows of no columns if the query does not return. */
function compileSingle(query: SingleQuery, graph: QueryGraph, runtime: QueryRuntime, scope: SlotScope): CompiledPart {
  const isWrite = isWriteQuery({ parts: [query], union: undefined, at: 0, end: 0 });
  let known = scope;
  const clauses: CompiledClause[] = [];
  for (const clause of query.clauses) {
    const compiled = compileClause(clause, graph, runtime, known, isWrite);
    clauses.push(compiled);
    known = compiled.scope;
  }
  const isReturning = query.clauses.at(-1)?.kind === "return";
  const width = isReturning ? known.slots.size : 0;
  return { isReturning, width, run: (row) => clauses.reduce<RowStream>((rows, { run }) => run(rows), oneRow(row)) };
}

interface CompiledPart {
  readonly isReturning: boolean;
  readonly width: number;
  readonly run: (row: Row) => RowStream;
}

async function* oneRow(row: Row): RowStream {
  yield [row];
}

function compileClause(
  clause: Clause,
  graph: QueryGraph,
  runtime: QueryRuntime,
  scope: SlotScope,
  isWrite: boolean,
): CompiledClause {
  switch (clause.kind) {
    case "match":
      return compileMatchClause(clause, runtime, scope);
    case "unwind":
      return compileUnwindClause(clause, runtime, scope);
    case "with":
      return compileProjection(clause.projection, clause.where, runtime, scope, isWrite);
    case "return":
      return compileProjection(clause.projection, undefined, runtime, scope, isWrite);
    case "create":
      return compileCreateClause(clause, graph, runtime, scope);
    case "merge":
      return compileMerge(clause, graph, runtime, scope);
    case "set":
    case "remove":
      return compileSetClause(clause, graph, runtime, scope);
    case "delete":
      return compileDeleteClause(clause, graph, runtime, scope);
  }
}

async function collectRows(
  parts: readonly CompiledPart[],
  isDistinct: boolean,
  meter: QueryMeter,
): Promise<readonly (readonly CypherValue[])[]> {
  const rows: CypherValue[][] = [];
  const seen = new Set<string>();
  const { maxRows } = meter.limits;
  for (const { run, width, isReturning } of parts) {
    for await (const batch of run([])) {
      if (!isReturning) continue;
      for (const row of batch) {
        const cells = Array.from({ length: width }, (_, slot) => cellAt(row, slot));
        if (isDistinct) {
          const key = rowKey(cells);
          if (seen.has(key)) continue;
          seen.add(key);
        }
        if (rows.length >= maxRows)
          throw exceedsLimit("cypherRows", maxRows, rows.length + 1, "the result has too many rows");
        for (const cell of cells) checkResultDepth(cell);
        rows.push(cells);
      }
      meter.hold(sizeOfRows(batch));
      await meter.pause();
    }
  }
  return rows;
}

/** A subquery runs for one row: its variables are those of the row. */
function compileSubquery(query: Query, graph: QueryGraph, runtime: QueryRuntime, scope: SlotScope) {
  const parts = query.parts.map((part) => compileSingle(part, graph, runtime, scope));
  return async (row: Row, most: number): Promise<number> => {
    const seen = new Set<string>();
    let count = 0;
    for (const { run, width } of parts) {
      for await (const batch of run([...row])) {
        if (query.union !== "distinct") count += batch.length;
        else for (const one of batch) seen.add(rowKey(Array.from({ length: width }, (_, slot) => cellAt(one, slot))));
        if (count >= most) return count;
      }
    }
    return count + seen.size;
  };
}

async function checkDangling(graph: QueryGraph, source: string): Promise<void> {
  const [node] = await graph.danglingNodes();
  if (node === undefined) return;
  throw cypherError(source, undefined, {
    kind: "ConstraintVerificationFailed",
    phase: "runtime",
    detail: "DeleteConnectedNode",
    message: `the node ${node.id} still has relationships, so it cannot be deleted`,
    hint: "delete its relationships too, or use DETACH DELETE",
  });
}
