// Finds the parts of WHERE that an engine can use to find fewer candidates: labels, and comparisons of a property with a value that is
// known before the match. WHERE is evaluated in full afterwards, so a part may be left out here.
import type { ComparisonOperator, Expression } from "../syntax/ast.ts";

export type PushedFilter =
  | { readonly kind: "labels"; readonly variable: string; readonly labels: readonly string[] }
  /** id(variable) = value, or IN it. */
  | { readonly kind: "id"; readonly variable: string; readonly value: Expression }
  | {
      readonly kind: "compare";
      readonly variable: string;
      readonly key: string;
      readonly operator: Exclude<ComparisonOperator, "<>"> | "IN";
      readonly value: Expression;
    };

const FLIPPED = { "=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<=" } as const;

/** `isBound`: whether rows have the variable before the match. */
export function findPushedFilters(where: Expression, isBound: (name: string) => boolean): readonly PushedFilter[] {
  switch (where.kind) {
    case "logical":
      return where.operator === "AND" ? where.operands.flatMap((one) => findPushedFilters(one, isBound)) : [];
    case "hasLabels":
      return where.object.kind === "variable"
        ? [{ kind: "labels", variable: where.object.name, labels: where.labels }]
        : [];
    case "predicate":
      return where.operator === "IN" ? pushComparison(where.left, "IN", where.right, isBound) : [];
    case "comparison": {
      const [only, ...more] = where.rest;
      if (only === undefined || more.length > 0 || only.operator === "<>") return [];
      const { operator, operand } = only;
      const pushed = pushComparison(where.first, operator, operand, isBound);
      return pushed.length > 0 ? pushed : pushComparison(operand, FLIPPED[operator], where.first, isBound);
    }
    default:
      return [];
  }
}

function pushComparison(
  property: Expression,
  operator: Exclude<ComparisonOperator, "<>"> | "IN",
  value: Expression,
  isBound: (name: string) => boolean,
): readonly PushedFilter[] {
  const node = identifiedNode(property);
  if (node !== undefined && (operator === "=" || operator === "IN") && isSafe(value, isBound)) {
    return [{ kind: "id", variable: node, value }];
  }
  if (property.kind !== "property" || property.object.kind !== "variable" || !isSafe(value, isBound)) return [];
  return [{ kind: "compare", variable: property.object.name, key: property.key, operator, value }];
}

/** The variable of id(variable) and elementId(variable). */
function identifiedNode(expression: Expression): string | undefined {
  if (expression.kind !== "call" || !["id", "elementid"].includes(expression.name)) return undefined;
  const [operand] = expression.operands;
  return operand?.kind === "variable" ? operand.name : undefined;
}

/** Only what cannot fail where WHERE would not. */
function isSafe(value: Expression, isBound: (name: string) => boolean): boolean {
  switch (value.kind) {
    case "literal":
    case "parameter":
      return true;
    case "variable":
      return isBound(value.name);
    case "property":
      return value.object.kind === "variable" && isBound(value.object.name);
    case "list":
      return value.items.every((item) => isSafe(item, isBound));
    default:
      return false;
  }
}
