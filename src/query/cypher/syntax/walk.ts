// Walks over the parts of an expression, and compares expressions by their structure.
import type { Expression, PathPattern } from "./ast.ts";

/** The expressions directly inside one. Those of patterns are their properties; subqueries have scopes of their own and are left out. */
export function childExpressions(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "literal":
    case "variable":
    case "parameter":
    case "subquery":
      return [];
    case "property":
    case "hasLabels":
      return [expression.object];
    case "index":
      return [expression.object, expression.index];
    case "slice":
      return present([expression.object, expression.from, expression.to]);
    case "logical":
      return expression.operands;
    case "unary":
    case "isNull":
      return [expression.operand];
    case "arithmetic":
    case "comparison":
      return [expression.first, ...expression.rest.map(({ operand }) => operand)];
    case "predicate":
      return [expression.left, expression.right];
    case "call":
      return expression.operands;
    case "list":
      return expression.items;
    case "map":
      return expression.entries.map(({ value }) => value);
    case "mapProjection":
      return [expression.object, ...expression.items.flatMap((item) => (item.kind === "entry" ? [item.value] : []))];
    case "listComprehension":
      return present([expression.list, expression.where, expression.projection]);
    case "quantifier":
      return [expression.list, expression.where];
    case "reduce":
      return [expression.initial, expression.list, expression.body];
    case "case": {
      const branches = expression.branches.flatMap(({ when, result }) => [when, result]);
      return present([expression.subject, ...branches, expression.otherwise]);
    }
    case "patternPredicate":
    case "pathExpression":
      return patternExpressions(expression.pattern);
    case "patternComprehension":
      return present([...patternExpressions(expression.pattern), expression.where, expression.projection]);
  }
}

function patternExpressions(pattern: PathPattern): readonly Expression[] {
  return present([...pattern.nodes, ...pattern.relationships].map(({ properties }) => properties));
}

function present(expressions: readonly (Expression | undefined)[]): readonly Expression[] {
  return expressions.filter((one) => one !== undefined);
}

/** Whether it or a part of it has the property. */
export function someExpression(expression: Expression, test: (one: Expression) => boolean): boolean {
  return test(expression) || childExpressions(expression).some((child) => someExpression(child, test));
}

/** A text that is the same for expressions that differ only in their place. */
export function expressionKey(expression: Expression): string {
  return JSON.stringify(expression, (key, value: unknown) => {
    if (key === "at" || key === "end" || key === "shownName") return undefined;
    return typeof value === "bigint" ? `#${value}` : typeof value === "number" ? `~${value}` : value;
  });
}
