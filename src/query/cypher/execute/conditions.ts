// Filters rows by conditions that must all hold. What needs no reading of the graph is tested first, so that patterns are matched for
// fewer rows.
import { compileCondition } from "../evaluate/compile-operators.ts";
import { type ExpressionCompiler, prepareRows } from "../evaluate/compiler.ts";
import type { Expression } from "../syntax/ast.ts";
import type { Row } from "./row.ts";

export type RowFilter = <T>(items: readonly T[], rowOf: (item: T) => Row) => Promise<readonly T[]>;

/** Every condition gets a compiler of its own. */
export function compileConditions(
  expressions: readonly Expression[],
  makeCompiler: () => ExpressionCompiler,
): RowFilter | undefined {
  const conditions = expressions.flatMap(splitConjunction).map((expression) => {
    const compiler = makeCompiler();
    return { compiler, test: compileCondition(expression, compiler) };
  });
  if (conditions.length === 0) return undefined;
  const ordered = conditions.toSorted((a, b) => a.compiler.preparations.length - b.compiler.preparations.length);
  return async (items, rowOf) => {
    let kept = items;
    for (const { compiler, test } of ordered) {
      const { meter } = compiler.runtime;
      await prepareRows(compiler, kept.map(rowOf));
      const passed: typeof items = await meter.filter(kept, (item) => test(rowOf(item)) === true);
      kept = passed;
    }
    return kept;
  };
}

function splitConjunction(expression: Expression): readonly Expression[] {
  if (expression.kind !== "logical" || expression.operator !== "AND") return [expression];
  return expression.operands.flatMap(splitConjunction);
}
