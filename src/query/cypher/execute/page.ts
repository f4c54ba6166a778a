// SKIP and LIMIT.

import { cypherError } from "../errors.ts";
import { createCompiler } from "../evaluate/compile-expression.ts";
import type { QueryRuntime } from "../evaluate/compiler.ts";
import type { Expression } from "../syntax/ast.ts";
import { typeOfValue } from "../values/value.ts";
import { type RowStream, SlotScope } from "./row.ts";

export function compileCount(
  expression: Expression | undefined,
  word: "SKIP" | "LIMIT",
  runtime: QueryRuntime,
): (() => number) | undefined {
  if (expression === undefined) return undefined;
  const compiler = createCompiler(runtime, SlotScope.of([]));
  const evaluate = compiler.compile(expression, compiler);
  const fail = (detail: string, message: string) =>
    cypherError(runtime.source, expression.at, { kind: "SyntaxError", phase: "runtime", detail, message });
  return () => {
    const value = evaluate([]);
    if (typeof value !== "bigint") {
      throw fail("InvalidArgumentType", `${word} must be an integer, and is a ${typeOfValue(value)}`);
    }
    if (value < 0n) throw fail("NegativeIntegerArgument", `${word} must not be negative, and is ${value}`);
    return Number(value);
  };
}

/** `drains`: reads all rows, also those that are not wanted. */
export async function* pageRows(input: RowStream, skip: number, limit: number | undefined, drains: boolean): RowStream {
  let skipped = 0;
  let left = limit ?? Number.POSITIVE_INFINITY;
  if (left === 0 && !drains) return;
  for await (const batch of input) {
    const from = Math.min(batch.length, skip - skipped);
    skipped += from;
    const rows = batch.slice(from, from + left);
    left -= rows.length;
    if (rows.length > 0) yield rows;
    if (left === 0 && !drains) return;
  }
}
