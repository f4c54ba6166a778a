// Checks a query before it runs, clause by clause: what the scope of each one is, and that they may follow each other.
import { ANY, type StaticType } from "../functions/signatures.ts";
import type { Clause, Expression, Query, RemoveItem, SetItem, SingleQuery } from "../syntax/ast.ts";
import { checkCondition, checkExpression } from "./check-expression.ts";
import { checkCreatePatterns, checkMatchPatterns } from "./check-pattern.ts";
import { checkProjection, checkWhere } from "./check-projection.ts";
import { type CheckContext, compileError, type ExpressionPlace, type TypeScope, withVariable } from "./scope.ts";

const WRITES: ReadonlySet<Clause["kind"]> = new Set(["create", "merge", "set", "remove", "delete"]);

/** The names of the result's columns; none if the query returns nothing. */
export function checkQuery(query: Query, source: string): readonly string[] {
  return checkParts(query, { source }, new Map(), false);
}

export function isWriteQuery(query: Query): boolean {
  return query.parts.some(({ clauses }) => clauses.some(({ kind }) => WRITES.has(kind)));
}

function checkParts(query: Query, context: CheckContext, scope: TypeScope, isSubquery: boolean): readonly string[] {
  const columns = query.parts.map((part) => [...checkSingle(part, context, scope, isSubquery)]);
  const [first = []] = columns;
  for (const other of columns) {
    if (first.length === other.length && first.every((name, index) => name === other[index])) continue;
    const message = `the parts of a UNION return different columns: ${first.join(", ")} and ${other.join(", ")}`;
    throw compileError(context, query.at, "DifferentColumnsInUnion", message);
  }
  return first;
}

function checkSingle(
  query: SingleQuery,
  context: CheckContext,
  outer: TypeScope,
  isSubquery: boolean,
): Iterable<string> {
  let scope = outer;
  for (const [index, clause] of query.clauses.entries()) {
    checkComposition(clause, index === query.clauses.length - 1, context, isSubquery);
    scope = checkClause(clause, placeIn(context, scope));
  }
  return query.clauses.at(-1)?.kind === "return" ? scope.keys() : [];
}

function placeIn(context: CheckContext, scope: TypeScope): ExpressionPlace {
  return {
    ...context,
    scope,
    allowsAggregates: false,
    allowsPatterns: false,
    checkPatterns: checkMatchPatterns,
    checkSubquery: (query, seen) => void checkParts(query, context, seen, true),
  };
}

function checkComposition(clause: Clause, isLast: boolean, context: CheckContext, isSubquery: boolean): void {
  const fail = (message: string) => compileError(context, clause.at, "InvalidClauseComposition", message);
  if (WRITES.has(clause.kind) && isSubquery) throw fail("a subquery cannot write");
  if (clause.kind === "return" && !isLast) throw fail("nothing can follow RETURN");
  if (!isLast || clause.kind === "return" || WRITES.has(clause.kind)) return;
  if (isSubquery && clause.kind === "match") return;
  throw fail(`a query cannot end with ${clause.kind.toUpperCase()}; return something, or write`);
}

function checkClause(clause: Clause, place: ExpressionPlace): TypeScope {
  switch (clause.kind) {
    case "match": {
      const scope = checkMatchPatterns(clause.patterns, place);
      if (clause.where !== undefined) checkCondition(clause.where, { ...place, scope });
      return scope;
    }
    case "unwind": {
      const type = checkExpression(clause.list, place);
      checkNewVariable(clause.variable, clause.at, place);
      return withVariable(place.scope, clause.variable, elementType(type));
    }
    case "with": {
      const scope = checkProjection(clause.projection, "WITH", place);
      if (clause.where !== undefined) checkWhere(clause.projection, clause.where, scope, place);
      return scope;
    }
    case "return":
      return checkProjection(clause.projection, "RETURN", place);
    case "create":
      return checkCreatePatterns(clause.patterns, place, "CREATE");
    case "merge": {
      const scope = checkCreatePatterns([clause.pattern], place, "MERGE");
      for (const item of [...clause.onCreate, ...clause.onMatch]) checkSetItem(item, { ...place, scope });
      return scope;
    }
    case "set":
      for (const item of clause.items) checkSetItem(item, place);
      return place.scope;
    case "remove":
      for (const item of clause.items) checkRemoveItem(item, place);
      return place.scope;
    case "delete":
      for (const target of clause.targets) checkDelete(target, place);
      return place.scope;
  }
}

/** What is not a list is unwound as a list of itself. */
function elementType(type: StaticType): StaticType {
  return type.kind === "list" ? type.element : ANY;
}

function checkNewVariable(variable: string, at: number, place: ExpressionPlace): void {
  if (!place.scope.has(variable)) return;
  throw compileError(place, at, "VariableAlreadyBound", `the variable ${variable} is bound already`);
}

function checkSetItem(item: SetItem, place: ExpressionPlace): void {
  switch (item.kind) {
    case "setProperty":
      checkExpression(item.target, place);
      break;
    case "setDynamicProperty":
      checkExpression(item.object, place);
      checkExpression(item.key, place);
      break;
    default:
      checkExpression(item.variable, place);
  }
  if (item.kind !== "setLabels") checkExpression(item.value, place);
}

function checkRemoveItem(item: RemoveItem, place: ExpressionPlace): void {
  checkExpression(item.kind === "removeProperty" ? item.target : item.variable, place);
}

function checkDelete(target: Expression, place: ExpressionPlace): void {
  if (target.kind === "hasLabels") {
    throw compileError(
      place,
      target.at,
      "InvalidDelete",
      "DELETE removes nodes and relationships; REMOVE removes labels",
    );
  }
  const { kind } = checkExpression(target, place);
  if (["any", "null", "node", "relationship", "path"].includes(kind)) return;
  throw compileError(place, target.at, "InvalidArgumentType", `DELETE cannot delete a ${kind}`);
}
