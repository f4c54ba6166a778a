// The variables that a part of a query sees, with what is known of their types, and the errors about them.
import type { HoldfastError } from "../../../contracts/errors.ts";
import { didYouMean } from "../../../core/distance.ts";
import { type CypherErrorKind, cypherError } from "../errors.ts";
import type { StaticType } from "../functions/signatures.ts";
import type { PathPattern, Query } from "../syntax/ast.ts";

export type TypeScope = ReadonlyMap<string, StaticType>;

/** What the checks of one query share. */
export interface CheckContext {
  readonly source: string;
}

/** Where an expression stands. Patterns and subqueries contain expressions, so their checks come as functions. */
export interface ExpressionPlace extends CheckContext {
  readonly scope: TypeScope;
  /** Aggregates may stand here: in items of RETURN and WITH, not inside other loops or aggregates. */
  readonly allowsAggregates: boolean;
  /** A pattern may stand here as a predicate: in WHERE, also under AND, OR, NOT. */
  readonly allowsPatterns: boolean;
  readonly checkSubquery: (query: Query, scope: TypeScope) => void;
  /** Returns the scope with the variables that the patterns bind. */
  readonly checkPatterns: (patterns: readonly PathPattern[], place: ExpressionPlace) => TypeScope;
}

export function compileError(
  context: CheckContext,
  at: number,
  detail: string,
  message: string,
  kind: CypherErrorKind = "SyntaxError",
): HoldfastError {
  return cypherError(context.source, at, { kind, phase: "compile time", detail, message });
}

export function undefinedVariable(
  context: CheckContext,
  at: number,
  name: string,
  known: Iterable<string>,
): HoldfastError {
  const message = `the variable ${name} is not defined here${didYouMean(name, [...known])}`;
  return compileError(context, at, "UndefinedVariable", message);
}

export function withVariable(scope: TypeScope, name: string, type: StaticType): TypeScope {
  return new Map([...scope, [name, type]]);
}
