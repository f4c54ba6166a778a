// What the parts of the evaluator share. An expression is compiled to a function from a row to a value, which never waits. What must
// read the graph (patterns, subqueries, the nodes of a relationship) is computed ahead, for a batch of rows at once, into slots of
// their own; the function then takes it from there.
import { isHoldfastError } from "../../../contracts/errors.ts";
import { cypherError, EvaluationError, placeError } from "../errors.ts";
import type { QueryMeter } from "../execute/meter.ts";
import { FailedCell, type Row, type SlotScope } from "../execute/row.ts";
import type { CallContext } from "../functions/call-context.ts";
import type { MatchInput, PatternPlan } from "../plan/pattern-plan.ts";
import type { Expression, PathPattern, Query } from "../syntax/ast.ts";
import type { CypherValue, NodeValue } from "../values/value.ts";

export type Evaluator = (row: Row) => CypherValue;

/** Computes something for each row of a batch and puts it into a slot of the row. */
export type Preparation = (rows: readonly Row[]) => Promise<void>;

/** What a row became; `source` is the index of the row that it comes from. */
export interface DerivedRow {
  readonly source: number;
  readonly row: Row;
}

/** A compiled MATCH: the scope with its variables, and how rows are matched. */
export interface CompiledMatch {
  readonly scope: SlotScope;
  readonly match: (rows: readonly Row[]) => AsyncIterable<readonly DerivedRow[]>;
  readonly plan: PatternPlan;
  /** What the plan gets of a row that is prepared; undefined: a variable of it is null. */
  readonly readInput: (row: Row) => MatchInput | undefined;
}

/** One query that runs. */
export interface QueryRuntime {
  readonly source: string;
  readonly parameters: ReadonlyMap<string, CypherValue>;
  readonly meter: QueryMeter;
  readonly calls: CallContext;
  readonly readNodes: (ids: readonly string[]) => Promise<ReadonlyMap<string, NodeValue>>;
  /** `isExistence`: one match of each row is enough. */
  readonly compileMatch: (
    patterns: readonly PathPattern[],
    where: Expression | undefined,
    scope: SlotScope,
    isExistence?: boolean,
  ) => CompiledMatch;
  /** The number of rows that a subquery returns for one row; `most`: it may stop there. */
  readonly compileSubquery: (query: Query, scope: SlotScope) => (row: Row, most: number) => Promise<number>;
}

/** Compiles expressions of one scope, and collects what must be computed ahead for them. */
export interface ExpressionCompiler {
  readonly runtime: QueryRuntime;
  readonly scope: SlotScope;
  readonly preparations: Preparation[];
  /** Slots with the values of expressions that are known already, by expressionKey: columns and aggregates. */
  readonly known: ReadonlyMap<string, number> | undefined;
  readonly compile: (expression: Expression, compiler: ExpressionCompiler) => Evaluator;
}

/** The same with other variables and preparations of its own: for what is evaluated for other rows. */
export function innerCompiler(compiler: ExpressionCompiler, scope: SlotScope): ExpressionCompiler {
  return { ...compiler, scope, preparations: [] };
}

/** `slot` gets what is prepared, or the failure. */
export function addPreparation({ preparations }: ExpressionCompiler, prepare: Preparation, slot: number): void {
  const isolated: Preparation = async (rows) => {
    try {
      await prepare(rows);
    } catch (error) {
      if (!isMistake(error)) throw error;
      const [row, ...others] = rows;
      if (row === undefined) return;
      if (others.length === 0) row[slot] = new FailedCell(error);
      else for (const one of rows) await isolated([one]);
    }
  };
  preparations.push(isolated);
}

/** Errors of limits, time and the store end the query at once. */
function isMistake(error: unknown): boolean {
  return error instanceof EvaluationError || (isHoldfastError(error) && error.code === "InvalidQuery");
}

export async function prepareRows(compiler: ExpressionCompiler, rows: readonly Row[]): Promise<void> {
  for (const prepare of compiler.preparations) await prepare(rows);
}

/** Gives errors of evaluation the place of the expression. */
export function placed(compiler: ExpressionCompiler, expression: Expression, evaluate: Evaluator): Evaluator {
  const { source } = compiler.runtime;
  return (row) => {
    try {
      return evaluate(row);
    } catch (error) {
      throw placeError(error, source, expression.at);
    }
  };
}

export function typeError(compiler: ExpressionCompiler, at: number, detail: string, message: string): Error {
  return cypherError(compiler.runtime.source, at, { kind: "TypeError", phase: "runtime", detail, message });
}
