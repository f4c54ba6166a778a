// Checks the patterns of MATCH, CREATE and MERGE, and says which variables they bind.
import type { StaticKind } from "../functions/signatures.ts";
import type { NodePattern, PathPattern, RelationshipPattern } from "../syntax/ast.ts";
import { checkExpression } from "./check-expression.ts";
import { type CheckContext, compileError, type ExpressionPlace, type TypeScope, withVariable } from "./scope.ts";

/** The patterns of one MATCH. */
export function checkMatchPatterns(patterns: readonly PathPattern[], place: ExpressionPlace): TypeScope {
  let scope = place.scope;
  const relationships = new Set<string>();
  for (const pattern of patterns) {
    for (const node of pattern.nodes) scope = bindNode(node, scope, place);
    for (const relationship of pattern.relationships) {
      scope = bindRelationship(relationship, scope, place, relationships);
    }
    if (pattern.variable === undefined) continue;
    checkUnbound(pattern.variable, pattern.at, scope, place);
    scope = withVariable(scope, pattern.variable, { kind: "path" });
  }
  // A property may name a variable of any of the patterns.
  for (const pattern of patterns) checkProperties(pattern, { ...place, scope });
  return scope;
}

function checkUnbound(variable: string, at: number, scope: TypeScope, context: CheckContext): void {
  if (!scope.has(variable)) return;
  throw compileError(context, at, "VariableAlreadyBound", `the variable ${variable} is bound already`);
}

function bindNode(node: NodePattern, scope: TypeScope, context: CheckContext): TypeScope {
  const { variable, at } = node;
  if (variable === undefined) return scope;
  checkKind(variable, at, scope, ["node"], context);
  return withVariable(scope, variable, { kind: "node" });
}

function checkKind(
  variable: string,
  at: number,
  scope: TypeScope,
  kinds: readonly StaticKind[],
  context: CheckContext,
): void {
  const kind = scope.get(variable)?.kind;
  if (kind === undefined || kind === "any" || kind === "null" || kinds.includes(kind)) return;
  const message = `the variable ${variable} is a ${kind}, and would have to be a ${kinds.join(" or ")}`;
  throw compileError(context, at, "VariableTypeConflict", message);
}

/** `seen`: the variables of relationships in this MATCH so far. */
function bindRelationship(
  relationship: RelationshipPattern,
  scope: TypeScope,
  place: ExpressionPlace,
  seen: Set<string>,
): TypeScope {
  const { variable, at, length } = relationship;
  if (variable === undefined) return scope;
  checkKind(variable, at, scope, length === undefined ? ["relationship"] : ["list"], place);
  const bound = scope.get(variable);
  if (bound?.kind === "list" && !["relationship", "any"].includes(bound.element.kind)) {
    const message = `the variable ${variable} is not a list of relationships`;
    throw compileError(place, at, "VariableTypeConflict", message);
  }
  if (seen.has(variable)) {
    const message = `the relationship ${variable} cannot be twice in one MATCH: all relationships of a match differ`;
    throw compileError(place, at, "RelationshipUniquenessViolation", message);
  }
  seen.add(variable);
  return withVariable(
    scope,
    variable,
    length === undefined ? { kind: "relationship" } : { kind: "list", element: { kind: "relationship" } },
  );
}

function checkProperties(pattern: PathPattern, place: ExpressionPlace): void {
  for (const { properties } of [...pattern.nodes, ...pattern.relationships]) {
    if (properties === undefined) continue;
    if (properties.kind === "parameter") throw parameterAsProperties(properties.at, place);
    checkExpression(properties, { ...place, allowsAggregates: false, allowsPatterns: false });
  }
}

function parameterAsProperties(at: number, context: CheckContext): Error {
  const message = "a parameter cannot be all properties of a pattern here; name each: {key: $parameter}";
  return compileError(context, at, "InvalidParameterUse", message);
}

/** The patterns of CREATE, or the one of MERGE. */
export function checkCreatePatterns(
  patterns: readonly PathPattern[],
  place: ExpressionPlace,
  clause: "CREATE" | "MERGE",
): TypeScope {
  let scope = place.scope;
  for (const pattern of patterns) {
    if (pattern.shortest !== undefined) {
      throw compileError(place, pattern.at, "UnexpectedSyntax", `${clause} cannot make a shortest path`);
    }
    if (pattern.variable !== undefined) checkUnbound(pattern.variable, pattern.at, scope, place);
    const isAlone = pattern.relationships.length === 0;
    for (const node of pattern.nodes) scope = createNode(node, scope, place, { clause, isAlone });
    for (const relationship of pattern.relationships) scope = createRelationship(relationship, scope, place, clause);
    if (pattern.variable !== undefined) {
      checkUnbound(pattern.variable, pattern.at, scope, place);
      scope = withVariable(scope, pattern.variable, { kind: "path" });
    }
  }
  return scope;
}

function createNode(
  node: NodePattern,
  scope: TypeScope,
  place: ExpressionPlace,
  how: { readonly clause: "CREATE" | "MERGE"; readonly isAlone: boolean },
): TypeScope {
  const { variable, at, labels, properties } = node;
  if (properties?.kind === "parameter" && how.clause === "MERGE") throw parameterAsProperties(properties.at, place);
  if (properties !== undefined) {
    checkExpression(properties, { ...place, scope, allowsAggregates: false, allowsPatterns: false });
  }
  if (variable === undefined) return scope;
  if (scope.has(variable)) {
    checkKind(variable, at, scope, ["node"], place);
    if (how.isAlone || labels.length > 0 || properties !== undefined) checkUnbound(variable, at, scope, place);
    return scope;
  }
  return withVariable(scope, variable, { kind: "node" });
}

function createRelationship(
  relationship: RelationshipPattern,
  scope: TypeScope,
  place: ExpressionPlace,
  clause: "CREATE" | "MERGE",
): TypeScope {
  const { variable, at, types, properties, direction, length } = relationship;
  if (variable !== undefined) checkUnbound(variable, at, scope, place);
  if (length !== undefined) {
    throw compileError(place, at, "CreatingVarLength", `${clause} cannot make relationships of a variable length`);
  }
  if (types.length !== 1) {
    const message = `${clause} needs exactly one type for a relationship, and this one has ${types.length}`;
    throw compileError(place, at, "NoSingleRelationshipType", message);
  }
  if (clause === "CREATE" && (direction === "either" || direction === "both")) {
    throw compileError(place, at, "RequiresDirectedRelationship", "CREATE needs the direction of a relationship");
  }
  if (properties?.kind === "parameter" && clause === "MERGE") throw parameterAsProperties(properties.at, place);
  if (properties !== undefined) {
    checkExpression(properties, { ...place, scope, allowsAggregates: false, allowsPatterns: false });
  }
  return variable === undefined ? scope : withVariable(scope, variable, { kind: "relationship" });
}
