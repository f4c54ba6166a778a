// Parses names: variables, and :Label:Label in patterns and as a predicate.
import { isReserved } from "./keywords.ts";
import type { TokenReader } from "./token-reader.ts";

export function parseLabels(reader: TokenReader): readonly string[] {
  const labels: string[] = [];
  while (reader.takeSymbol(":")) {
    labels.push(reader.expectName("a label"));
    if (reader.isSymbol("|")) throw reader.unsupported(reader.peek().offset, "a label expression with |");
  }
  return labels;
}

export function isVariableNext(reader: TokenReader): boolean {
  const token = reader.peek();
  return token.kind === "quotedName" || (token.kind === "name" && !isReserved(token));
}

export function parseVariableName(reader: TokenReader): string {
  if (!isVariableNext(reader)) throw reader.unexpected(["a variable"]);
  return reader.next().text;
}
