// Parses {key: value, …}, as a value and as the properties of a pattern.
import type { Expression, MapLiteral } from "./ast.ts";
import type { TokenReader } from "./token-reader.ts";

export function parseMap(reader: TokenReader): MapLiteral {
  const at = reader.expectSymbol("{").offset;
  const entries: { key: string; value: Expression }[] = [];
  while (!reader.isSymbol("}")) {
    if (entries.length > 0) reader.expectSymbol(",");
    const key = reader.expectName("a key");
    reader.expectSymbol(":");
    entries.push({ key, value: reader.expression() });
  }
  reader.expectSymbol("}");
  return { kind: "map", entries, at, end: reader.end };
}
