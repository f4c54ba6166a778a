// Checks RETURN and WITH: names of columns, what is grouped and what is aggregated, and what ORDER BY, SKIP and LIMIT see.
import type { StaticType } from "../functions/signatures.ts";
import type { Expression, Projection, ReturnItem } from "../syntax/ast.ts";
import { childExpressions, expressionKey, someExpression } from "../syntax/walk.ts";
import { checkCondition, checkExpression, isAggregate } from "./check-expression.ts";
import { type CheckContext, compileError, type ExpressionPlace, type TypeScope, undefinedVariable } from "./scope.ts";

export function columnName(item: ReturnItem, source: string): string {
  return (
    item.alias ??
    (item.expression.kind === "variable" ? item.expression.name : source.slice(item.at, item.expression.end))
  );
}

/** Returns the columns, in order, with what is known of their types. */
export function checkProjection(projection: Projection, clause: "RETURN" | "WITH", place: ExpressionPlace): TypeScope {
  const { items, isStar, at } = projection;
  if (isStar && place.scope.size === 0 && clause === "RETURN") {
    throw compileError(place, at, "NoVariablesInScope", "RETURN * needs a variable to return");
  }
  const types = items.map((item) =>
    checkExpression(item.expression, { ...place, allowsAggregates: true, allowsPatterns: false }),
  );
  const columns = new Map<string, StaticType>(isStar ? sortNames(place.scope) : []);
  for (const [index, item] of items.entries()) {
    const name = columnName(item, place.source);
    if (columns.has(name)) {
      throw compileError(place, item.at, "ColumnNameConflict", `two columns are called ${name}`);
    }
    columns.set(name, types[index] ?? { kind: "any" });
  }
  checkGrouping(projection, place);
  checkOrder(projection, columns, place);
  checkCount(projection.skip, "SKIP", place);
  checkCount(projection.limit, "LIMIT", place);
  if (clause === "WITH") checkAliases(items, place);
  return columns;
}

/** `*` stands for all variables in the order of their names. */
export function sortNames<T>(scope: ReadonlyMap<string, T>): readonly (readonly [string, T])[] {
  return [...scope].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** WHERE of WITH sees the columns, and the variables before them unless rows were grouped. */
export function checkWhere(
  projection: Projection,
  where: Expression,
  columns: TypeScope,
  place: ExpressionPlace,
): void {
  if (!isAggregating(projection) && !projection.isDistinct) {
    checkCondition(where, { ...place, scope: new Map([...place.scope, ...columns]) });
    return;
  }
  if (containsAggregate(where)) {
    throw compileError(
      place,
      where.at,
      "InvalidAggregation",
      "WHERE cannot aggregate; name the aggregate, and use the name",
    );
  }
  const known = knownExpressions(projection);
  if (someExpression(where, (one) => one.kind !== "variable" && known.has(expressionKey(one)))) {
    checkGroupedOrder(where, { projection, columns, itemKeys: known, place });
  } else checkCondition(where, { ...place, scope: columns });
}

function knownExpressions(projection: Projection): ReadonlySet<string> {
  return new Set(projection.items.map(({ expression }) => expressionKey(expression)));
}

function checkAliases(items: readonly ReturnItem[], context: CheckContext): void {
  for (const { expression, alias, at } of items) {
    if (alias !== undefined || expression.kind === "variable") continue;
    throw compileError(context, at, "NoExpressionAlias", "WITH needs a name for each expression: … AS name");
  }
}

export function containsAggregate(expression: Expression): boolean {
  return someExpression(expression, isAggregate);
}

function isAggregating(projection: Projection): boolean {
  return projection.items.some(({ expression }) => containsAggregate(expression));
}

interface GroupingKeys {
  readonly keys: ReadonlySet<string>;
  readonly variables: ReadonlySet<string>;
}

function groupingKeys(projection: Projection, scope: TypeScope): GroupingKeys {
  const grouping = projection.items.map(({ expression }) => expression).filter((one) => !containsAggregate(one));
  const simple = grouping.filter(({ kind }) => kind === "variable" || kind === "property");
  const variables = grouping.flatMap((one) => (one.kind === "variable" ? [one.name] : []));
  return {
    keys: new Set(simple.map(expressionKey)),
    variables: new Set([...variables, ...(projection.isStar ? scope.keys() : [])]),
  };
}

/** An item with an aggregate may use, besides it, only constants and what is grouped by. */
function checkGrouping(projection: Projection, place: ExpressionPlace): void {
  if (!isAggregating(projection)) return;
  const grouping = groupingKeys(projection, place.scope);
  for (const { expression } of projection.items) {
    if (!containsAggregate(expression)) continue;
    const ambiguous = findUngrouped(expression, grouping, new Set());
    if (ambiguous !== undefined) throw ambiguousAggregation(ambiguous, place);
  }
}

function ambiguousAggregation(expression: Expression, context: CheckContext): Error {
  const message =
    "an expression with an aggregate uses a value that is not grouped by; make it an item of its own, or name it with WITH before";
  return compileError(context, expression.at, "AmbiguousAggregationExpression", message);
}

/** The first variable outside of aggregates that is not grouped by. `locals` are variables of comprehensions. */
function findUngrouped(
  expression: Expression,
  grouping: GroupingKeys,
  locals: ReadonlySet<string>,
): Expression | undefined {
  if (isAggregate(expression)) return undefined;
  if (expression.kind === "variable") {
    const isKnown = locals.has(expression.name) || grouping.variables.has(expression.name);
    return isKnown ? undefined : expression;
  }
  if (expression.kind === "property" && grouping.keys.has(expressionKey(expression))) return undefined;
  const inner = new Set([...locals, ...loopVariables(expression)]);
  for (const child of childExpressions(expression)) {
    const found = findUngrouped(child, grouping, inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

function loopVariables(expression: Expression): readonly string[] {
  switch (expression.kind) {
    case "listComprehension":
    case "quantifier":
      return [expression.variable];
    case "reduce":
      return [expression.accumulator, expression.variable];
    case "patternComprehension": {
      const { variable, nodes, relationships } = expression.pattern;
      return [variable, ...[...nodes, ...relationships].map((one) => one.variable)].filter((one) => one !== undefined);
    }
    default:
      return [];
  }
}

/** ORDER BY sees the columns, and the variables before them unless rows were grouped. */
function checkOrder(projection: Projection, columns: TypeScope, place: ExpressionPlace): void {
  const itemKeys = knownExpressions(projection);
  const isGrouped = isAggregating(projection);
  for (const { expression } of projection.orderBy) {
    if (isGrouped || projection.isDistinct) {
      checkGroupedOrder(expression, { projection, columns, itemKeys, place });
      if (!isGrouped && containsAggregate(expression)) throw orderByAggregate(expression, place);
      continue;
    }
    if (containsAggregate(expression)) throw orderByAggregate(expression, place);
    const scope = new Map([...place.scope, ...columns]);
    // Column names may shadow: what is written as an item means that item.
    if (itemKeys.has(expressionKey(expression))) continue;
    checkExpression(expression, { ...place, scope, allowsAggregates: false, allowsPatterns: false });
  }
}

function orderByAggregate(expression: Expression, context: CheckContext): Error {
  const message = "ORDER BY can only aggregate if an item does";
  return compileError(context, expression.at, "InvalidAggregation", message);
}

interface GroupedOrder {
  readonly projection: Projection;
  readonly columns: TypeScope;
  readonly itemKeys: ReadonlySet<string>;
  readonly place: ExpressionPlace;
}

function checkGroupedOrder(expression: Expression, order: GroupedOrder): void {
  const { projection, columns, itemKeys, place } = order;
  const check = (one: Expression, locals: ReadonlySet<string>, isAggregated: boolean): void => {
    if (itemKeys.has(expressionKey(one))) return;
    if (one.kind === "variable" && !columns.has(one.name) && !locals.has(one.name)) {
      const isGroupedBy = projection.items.some(
        (item) =>
          !containsAggregate(item.expression) && someExpression(item.expression, (part) => isSameVariable(part, one)),
      );
      if (isGroupedBy && !isAggregated && containsAggregate(expression)) throw ambiguousAggregation(one, place);
      throw undefinedVariable(place, one.at, one.name, columns.keys());
    }
    const inner = new Set([...locals, ...loopVariables(one)]);
    for (const child of childExpressions(one)) check(child, inner, isAggregated || isAggregate(one));
  };
  check(expression, new Set(), false);
}

function isSameVariable(left: Expression, right: Expression): boolean {
  return left.kind === "variable" && right.kind === "variable" && left.name === right.name;
}

function checkCount(expression: Expression | undefined, word: "SKIP" | "LIMIT", place: ExpressionPlace): void {
  if (expression === undefined) return;
  if (someExpression(expression, ({ kind }) => kind === "variable" || kind === "subquery")) {
    const message = `${word} cannot depend on a row: use a number or a parameter`;
    throw compileError(place, expression.at, "NonConstantExpression", message);
  }
  const type = checkExpression(expression, {
    ...place,
    scope: new Map(),
    allowsAggregates: false,
    allowsPatterns: false,
  });
  if (expression.kind === "literal") {
    if (typeof expression.value === "bigint" && expression.value < 0n) {
      throw compileError(place, expression.at, "NegativeIntegerArgument", `${word} must not be negative`);
    }
    if (typeof expression.value === "bigint") return;
  }
  if (type.kind !== "any" && type.kind !== "integer" && type.kind !== "number") {
    throw compileError(place, expression.at, "InvalidArgumentType", `${word} must be an integer`);
  }
}
