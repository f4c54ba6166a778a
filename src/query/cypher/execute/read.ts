// Executes MATCH and UNWIND.
import { createCompiler } from "../evaluate/compile-expression.ts";
import { prepareRows, type QueryRuntime } from "../evaluate/compiler.ts";
import type { MatchClause, UnwindClause } from "../syntax/ast.ts";
import { isList } from "../values/value.ts";
import type { CompiledClause } from "./project.ts";
import { BATCH_ROWS, type Row, type RowStream, type SlotScope } from "./row.ts";

export function compileMatchClause(clause: MatchClause, runtime: QueryRuntime, scope: SlotScope): CompiledClause {
  const { scope: after, match } = runtime.compileMatch(clause.patterns, clause.where, scope);
  const added = [...after.slots].flatMap(([name, slot]) => (scope.slots.has(name) ? [] : [slot]));
  async function* run(input: RowStream): RowStream {
    for await (const batch of input) {
      const unmatched = new Set(clause.isOptional ? batch.keys() : []);
      for await (const derived of match(batch)) {
        for (const { source } of derived) unmatched.delete(source);
        if (derived.length > 0) yield derived.map(({ row }) => row);
      }
      if (unmatched.size === 0) continue;
      yield batch.flatMap((row, index) => (unmatched.has(index) ? [withNulls(row, added)] : []));
    }
  }
  return { scope: after, run };
}

/** OPTIONAL MATCH without a match. */
function withNulls(row: Row, slots: readonly number[]): Row {
  const copy = [...row];
  for (const slot of slots) copy[slot] = null;
  return copy;
}

export function compileUnwindClause(clause: UnwindClause, runtime: QueryRuntime, scope: SlotScope): CompiledClause {
  const compiler = createCompiler(runtime, scope);
  const evaluate = compiler.compile(clause.list, compiler);
  const after = scope.with(clause.variable);
  const slot = after.slotOf(clause.variable);
  const { meter } = runtime;
  async function* run(input: RowStream): RowStream {
    for await (const batch of input) {
      await prepareRows(compiler, batch);
      let out: Row[] = [];
      for (const row of batch) {
        if (meter.shouldPause()) await meter.pause();
        const value = evaluate(row);
        // What is no list is unwound as a list of itself.
        const items = isList(value) ? value : value === null ? [] : [value];
        for (const item of items) {
          const copy = [...row];
          copy[slot] = item;
          out.push(copy);
          if (out.length < BATCH_ROWS) continue;
          meter.countRows(out.length);
          yield out;
          out = [];
          if (meter.isSliceSpent) await meter.pause();
        }
      }
      meter.countRows(out.length);
      if (out.length > 0) yield out;
    }
  }
  return { scope: after, run };
}
