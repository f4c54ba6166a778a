// Checks an expression before the query runs: variables exist, functions exist and get what they can take, aggregates and
// patterns are only where they may be. Returns what is known of the expression's type.
import { didYouMean } from "../../../core/distance.ts";
import { ANY, isAggregateName, type StaticKind, type StaticType, signatures } from "../functions/signatures.ts";
import type { Expression, FunctionCall, PathPattern, Variable } from "../syntax/ast.ts";
import { childExpressions, someExpression } from "../syntax/walk.ts";
import { type CheckContext, compileError, type ExpressionPlace, undefinedVariable, withVariable } from "./scope.ts";

const BOOLEAN: StaticType = { kind: "boolean" };

/** A condition must be true, false or null. */
export function checkCondition(expression: Expression, place: ExpressionPlace): void {
  const type = checkExpression(expression, { ...place, allowsAggregates: false, allowsPatterns: true });
  expectKind(expression, type, ["boolean"], place);
}

export function checkExpression(expression: Expression, place: ExpressionPlace): StaticType {
  const inner = expression.kind === "logical" || expression.kind === "unary" ? place : withoutPatterns(place);
  switch (expression.kind) {
    case "literal":
      return literalType(expression.value);
    case "parameter":
      return ANY;
    case "variable":
      return checkVariable(expression, place);
    case "property":
      return checkProperty(expression, inner);
    case "hasLabels": {
      const type = checkExpression(expression.object, inner);
      expectKind(expression.object, type, ["node", "relationship"], place);
      return BOOLEAN;
    }
    case "logical":
      for (const operand of expression.operands) {
        expectKind(operand, checkExpression(operand, inner), ["boolean"], place);
      }
      return BOOLEAN;
    case "unary": {
      const isLogical = expression.operator === "NOT";
      const type = checkExpression(expression.operand, isLogical ? inner : withoutPatterns(inner));
      expectKind(expression.operand, type, isLogical ? ["boolean"] : NUMBERS, place);
      return isLogical ? BOOLEAN : type;
    }
    case "arithmetic":
      return checkArithmetic(expression, inner);
    case "comparison":
    case "isNull":
      checkChildren(expression, inner);
      return BOOLEAN;
    case "predicate": {
      checkExpression(expression.left, inner);
      const right = checkExpression(expression.right, inner);
      if (expression.operator === "IN") expectKind(expression.right, right, ["list"], place);
      return BOOLEAN;
    }
    case "call":
      return checkCall(expression, inner);
    case "list":
      return { kind: "list", element: commonType(expression.items.map((item) => checkExpression(item, inner))) };
    case "map":
    case "mapProjection":
      checkChildren(expression, inner);
      return { kind: "map" };
    case "index":
      return checkIndex(expression, inner);
    case "slice":
      checkChildren(expression, inner);
      return ANY;
    case "case":
      return checkCase(expression, inner);
    default:
      return checkLoop(expression, place);
  }
}

function checkVariable({ name, at }: Variable, place: ExpressionPlace): StaticType {
  const type = place.scope.get(name);
  if (type === undefined) throw undefinedVariable(place, at, name, place.scope.keys());
  return type;
}

function checkIndex(expression: Extract<Expression, { kind: "index" }>, place: ExpressionPlace): StaticType {
  const type = checkExpression(expression.object, place);
  checkExpression(expression.index, place);
  return type.kind === "list" ? type.element : ANY;
}

function withoutPatterns(place: ExpressionPlace): ExpressionPlace {
  return place.allowsPatterns ? { ...place, allowsPatterns: false } : place;
}

function checkChildren(expression: Expression, place: ExpressionPlace): void {
  for (const child of childExpressions(expression)) checkExpression(child, place);
}

type LoopExpression = Extract<
  Expression,
  {
    kind:
      | "listComprehension"
      | "quantifier"
      | "reduce"
      | "patternPredicate"
      | "patternComprehension"
      | "pathExpression"
      | "subquery";
  }
>;

/** What has variables of its own. */
function checkLoop(expression: LoopExpression, place: ExpressionPlace): StaticType {
  const outer: ExpressionPlace = { ...place, allowsAggregates: false, allowsPatterns: false };
  switch (expression.kind) {
    case "listComprehension": {
      const element = checkList(expression.list, withoutPatterns(place));
      const loop = { ...outer, scope: withVariable(place.scope, expression.variable, element) };
      if (expression.where !== undefined) checkCondition(expression.where, loop);
      const type = expression.projection === undefined ? element : checkExpression(expression.projection, loop);
      return { kind: "list", element: type };
    }
    case "quantifier": {
      const element = checkList(expression.list, withoutPatterns(place));
      checkCondition(expression.where, { ...outer, scope: withVariable(place.scope, expression.variable, element) });
      return BOOLEAN;
    }
    case "reduce": {
      checkExpression(expression.initial, outer);
      const element = checkList(expression.list, outer);
      const scope = withVariable(withVariable(place.scope, expression.accumulator, ANY), expression.variable, element);
      checkExpression(expression.body, { ...outer, scope });
      return ANY;
    }
    case "patternPredicate":
      if (!place.allowsPatterns) {
        throw compileError(place, expression.at, "UnexpectedSyntax", "a pattern can only be a condition, as in WHERE");
      }
      checkKnownVariables(expression.pattern, place);
      place.checkPatterns([expression.pattern], outer);
      return BOOLEAN;
    case "pathExpression":
      checkKnownVariables(expression.pattern, place);
      place.checkPatterns([expression.pattern], outer);
      return expression.pattern.shortest === "one" ? { kind: "path" } : { kind: "list", element: { kind: "path" } };
    case "patternComprehension": {
      const scope = place.checkPatterns([expression.pattern], outer);
      if (expression.where !== undefined) checkCondition(expression.where, { ...outer, scope });
      return { kind: "list", element: checkExpression(expression.projection, { ...outer, scope }) };
    }
    case "subquery":
      place.checkSubquery(expression.query, place.scope);
      return expression.result === "exists" ? BOOLEAN : { kind: "integer" };
  }
}

/** A predicate does not bind new variables. */
function checkKnownVariables(pattern: PathPattern, place: ExpressionPlace): void {
  for (const { variable, at } of [...pattern.nodes, ...pattern.relationships]) {
    if (variable !== undefined && !place.scope.has(variable))
      throw undefinedVariable(place, at, variable, place.scope.keys());
  }
}

function checkList(list: Expression, place: ExpressionPlace): StaticType {
  const type = checkExpression(list, place);
  expectKind(list, type, ["list"], place);
  return type.kind === "list" ? type.element : ANY;
}

function checkProperty(expression: Extract<Expression, { kind: "property" }>, place: ExpressionPlace): StaticType {
  const { kind } = checkExpression(expression.object, place);
  if (["any", "null", "map", "node", "relationship"].includes(kind)) return ANY;
  const errorKind = kind === "path" ? "SyntaxError" : "TypeError";
  const message = `a ${kind} has no properties, so it has no ${expression.key}`;
  throw compileError(place, expression.at, "InvalidArgumentType", message, errorKind);
}

function checkCase(expression: Extract<Expression, { kind: "case" }>, place: ExpressionPlace): StaticType {
  const { subject, branches, otherwise } = expression;
  if (subject !== undefined) checkExpression(subject, place);
  for (const { when } of branches) {
    if (subject === undefined) checkWhen(when, place);
    else checkExpression(when, place);
  }
  const results = branches.map(({ result }) => checkExpression(result, place));
  if (otherwise === undefined) return commonType([...results, { kind: "null" }]);
  return commonType([...results, checkExpression(otherwise, place)]);
}

function checkWhen(when: Expression, place: ExpressionPlace): void {
  expectKind(when, checkExpression(when, { ...place, allowsPatterns: true }), ["boolean"], place);
}

const NUMBERS: readonly StaticKind[] = ["integer", "float", "number"];

function checkArithmetic(expression: Extract<Expression, { kind: "arithmetic" }>, place: ExpressionPlace): StaticType {
  let type = checkExpression(expression.first, place);
  for (const { operator, operand } of expression.rest) {
    const right = checkExpression(operand, place);
    if (operator === "+" && [type, right].some(({ kind }) => !NUMBERS.includes(kind))) {
      type = type.kind === "list" || right.kind === "list" ? { kind: "list", element: ANY } : ANY;
      continue;
    }
    expectKind(expression.first, type, NUMBERS, place);
    expectKind(operand, right, NUMBERS, place);
    const isInteger = type.kind === "integer" && right.kind === "integer" && operator !== "^";
    type = isInteger ? type : { kind: [type.kind, right.kind].includes("float") ? "float" : "number" };
  }
  return type;
}

function checkCall(call: FunctionCall, place: ExpressionPlace): StaticType {
  const signature = signatures().get(call.name);
  if (signature === undefined) {
    throw compileError(
      place,
      call.at,
      "UnknownFunction",
      `there is no function ${call.shownName}()${didYouMean(call.name, [...signatures().keys()])}`,
    );
  }
  if (signature.isAggregate) checkAggregate(call, place);
  const count = call.isStar ? 1 : call.operands.length;
  if (count < signature.min || count > signature.max) {
    const range = signature.min === signature.max ? `${signature.min}` : `${signature.min} to ${signature.max}`;
    const message = `${call.shownName}() takes ${range} operands, not ${count}`;
    throw compileError(place, call.at, "InvalidNumberOfArguments", message);
  }
  const operandPlace = signature.isAggregate ? { ...place, allowsAggregates: false } : place;
  const allowsPatterns = call.name === "exists";
  const types = call.operands.map((operand) => checkExpression(operand, { ...operandPlace, allowsPatterns }));
  const [first] = call.operands;
  const [type] = types;
  if (signature.accepts !== undefined && first !== undefined && type !== undefined) {
    expectKind(first, type, signature.accepts, place);
  }
  if (signature.returns !== "list") return { kind: signature.returns };
  return { kind: "list", element: signature.element === "list" ? ANY : { kind: signature.element } };
}

function checkAggregate(call: FunctionCall, place: ExpressionPlace): void {
  const isNested = call.operands.some((operand) => someExpression(operand, isAggregate));
  if (isNested) throw compileError(place, call.at, "NestedAggregation", "an aggregate cannot contain another one");
  if (!place.allowsAggregates) {
    const message = `the aggregate ${call.shownName}() can only be in items of RETURN and WITH`;
    throw compileError(place, call.at, "InvalidAggregation", message);
  }
  const isRandom = (one: Expression) => one.kind === "call" && one.name === "rand";
  if (call.operands.some((operand) => someExpression(operand, isRandom))) {
    throw compileError(place, call.at, "NonConstantExpression", "an aggregate cannot be of rand()");
  }
}

export function isAggregate(expression: Expression): boolean {
  return expression.kind === "call" && isAggregateName(expression.name);
}

function expectKind(
  expression: Expression,
  type: StaticType,
  kinds: readonly StaticKind[],
  context: CheckContext,
): void {
  if (type.kind === "any" || type.kind === "null" || kinds.includes(type.kind)) return;
  if (type.kind === "number" && kinds.some((kind) => NUMBERS.includes(kind))) return;
  const message = `this is a ${type.kind}, and must be a ${kinds.join(" or ")}`;
  throw compileError(context, expression.at, "InvalidArgumentType", message);
}

function literalType(value: null | boolean | bigint | number | string): StaticType {
  if (value === null) return { kind: "null" };
  switch (typeof value) {
    case "boolean":
      return BOOLEAN;
    case "bigint":
      return { kind: "integer" };
    case "number":
      return { kind: "float" };
    case "string":
      return { kind: "string" };
  }
}

/** `any` unless all are of one kind. */
function commonType(types: readonly StaticType[]): StaticType {
  const known = types.filter(({ kind }) => kind !== "null");
  const [first] = known;
  if (first === undefined || known.some(({ kind }) => kind !== first.kind)) return ANY;
  if (first.kind !== "list") return first;
  return { kind: "list", element: commonType(known.map((one) => (one.kind === "list" ? one.element : ANY))) };
}
