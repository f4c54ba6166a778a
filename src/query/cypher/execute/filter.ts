// Executes the WHERE of WITH.
import { createCompiler } from "../evaluate/compile-expression.ts";
import { compileCondition } from "../evaluate/compile-operators.ts";
import { prepareRows, type QueryRuntime } from "../evaluate/compiler.ts";
import type { Expression } from "../syntax/ast.ts";
import type { CompiledClause } from "./project.ts";
import type { RowStream } from "./row.ts";

export function filterRows({ scope, run }: CompiledClause, where: Expression, runtime: QueryRuntime): CompiledClause {
  const compiler = createCompiler(runtime, scope);
  const condition = compileCondition(where, compiler);
  async function* filter(input: RowStream): RowStream {
    for await (const batch of run(input)) {
      await prepareRows(compiler, batch);
      const rows = batch.filter((row) => condition(row) === true);
      if (rows.length > 0) yield rows;
      if (runtime.meter.isSliceSpent) await runtime.meter.pause();
    }
  }
  return { scope, run: filter };
}
