// Executes the WHERE of WITH.
import { compileCondition } from "../evaluate/compile-operators.ts";
import { type ExpressionCompiler, prepareRows } from "../evaluate/compiler.ts";
import type { Expression } from "../syntax/ast.ts";
import type { RowStream } from "./row.ts";

export function compileFilter(where: Expression, compiler: ExpressionCompiler): (input: RowStream) => RowStream {
  const { meter } = compiler.runtime;
  const condition = compileCondition(where, compiler);
  return async function* filter(input) {
    for await (const batch of input) {
      await prepareRows(compiler, batch);
      const rows = batch.filter((row) => condition(row) === true);
      if (rows.length > 0) yield rows;
      if (meter.isSliceSpent) await meter.pause();
    }
  };
}
