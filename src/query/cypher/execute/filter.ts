// Executes the WHERE of WITH.
import type { ExpressionCompiler } from "../evaluate/compiler.ts";
import type { Expression } from "../syntax/ast.ts";
import { compileConditions } from "./conditions.ts";
import type { RowStream } from "./row.ts";

export function compileFilter(
  where: Expression,
  makeCompiler: () => ExpressionCompiler,
): (input: RowStream) => RowStream {
  const filter = compileConditions([where], makeCompiler);
  return async function* filterRows(input) {
    for await (const batch of input) {
      const rows = filter === undefined ? batch : await filter(batch, (row) => row);
      if (rows.length > 0) yield [...rows];
    }
  };
}
