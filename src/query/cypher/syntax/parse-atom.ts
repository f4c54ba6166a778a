// Parses the operands of operators: literals, variables, calls, lists, maps, comprehensions, CASE, subqueries.
import { syntaxError } from "../errors.ts";
import type { CaseExpression, Expression, Literal, ProjectionItem } from "./ast.ts";
import { parseMap } from "./parse-map.ts";
import { isVariableNext, parseVariableName } from "./parse-names.ts";
import { isPatternNext, parsePathPattern, parseRelationshipsPattern } from "./parse-pattern.ts";
import type { TokenReader } from "./token-reader.ts";

const TEMPORAL = new Set("date datetime localdatetime time localtime duration".split(" "));
const CONSTANTS: Readonly<Record<string, null | boolean>> = { NULL: null, TRUE: true, FALSE: false };

/** `afterMinus`: 2^63 is an integer only there. */
export function parseAtom(reader: TokenReader, afterMinus: boolean): Expression {
  const token = reader.peek();
  const { offset: at } = token;
  switch (token.kind) {
    case "integer":
    case "float": {
      const { number } = reader.next();
      if (!afterMinus && number === 2n ** 63n) {
        throw syntaxError(reader.source, at, "IntegerOverflow", "the integer does not fit into 64 bits");
      }
      return { kind: "literal", value: number, at, end: reader.end };
    }
    case "badNumber":
      throw reader.unexpected(["a number without letters"], "InvalidNumberLiteral");
    case "string":
      return { kind: "literal", value: reader.next().text, at, end: reader.end };
    case "parameter":
      return { kind: "parameter", name: reader.next().text, at, end: reader.end };
    case "symbol":
      return parseBracketed(reader);
    case "name":
      return parseNamed(reader);
    case "quotedName":
      return isCallNext(reader) ? parseCall(reader) : parseVariable(reader);
    case "end":
      throw reader.unexpected(["an expression"]);
  }
}

function parseBracketed(reader: TokenReader): Expression {
  const at = reader.peek().offset;
  if (reader.isSymbol("(")) {
    if (isPatternNext(reader)) {
      const pattern = parseRelationshipsPattern(reader);
      return { kind: "patternPredicate", pattern, at, end: reader.end };
    }
    reader.next();
    const inner = reader.expression();
    reader.expectSymbol(")");
    return { ...inner, at, end: reader.end };
  }
  if (reader.isSymbol("[")) return parseList(reader);
  if (reader.isSymbol("{")) return parseMap(reader);
  throw reader.unexpected(["an expression"]);
}

/** A list, a list comprehension or a pattern comprehension. */
function parseList(reader: TokenReader): Expression {
  const at = reader.expectSymbol("[").offset;
  if (isVariableNext(reader) && reader.isKeyword("IN", 1)) return parseListComprehension(reader, at);
  const hasPathVariable = isVariableNext(reader) && reader.isSymbol("=", 1) && isPatternNext(reader, 2);
  if (hasPathVariable || isPatternNext(reader)) {
    const start = reader.index;
    const pattern = parsePathPattern(reader);
    if (reader.isSymbol("|") || reader.isKeyword("WHERE")) {
      const where = reader.takeKeyword("WHERE") ? reader.expression() : undefined;
      reader.expectSymbol("|");
      const projection = reader.expression();
      reader.expectSymbol("]");
      return { kind: "patternComprehension", pattern, where, projection, at, end: reader.end };
    }
    reader.moveTo(start);
  }
  const items: Expression[] = [];
  while (!reader.isSymbol("]")) {
    if (items.length > 0) reader.expectSymbol(",");
    items.push(reader.expression());
  }
  reader.expectSymbol("]");
  return { kind: "list", items, at, end: reader.end };
}

function parseListComprehension(reader: TokenReader, at: number): Expression {
  const variable = parseVariableName(reader);
  reader.expectKeyword("IN");
  const list = reader.expression();
  const where = reader.takeKeyword("WHERE") ? reader.expression() : undefined;
  const projection = reader.takeSymbol("|") ? reader.expression() : undefined;
  reader.expectSymbol("]");
  return { kind: "listComprehension", variable, list, where, projection, at, end: reader.end };
}

function parseNamed(reader: TokenReader): Expression {
  const token = reader.peek();
  const { offset: at, upper } = token;
  const constant = CONSTANTS[upper];
  if (constant !== undefined) {
    reader.next();
    const literal: Literal = { kind: "literal", value: constant, at, end: reader.end };
    return literal;
  }
  if (upper === "CASE") return parseCase(reader);
  if ((upper === "EXISTS" || upper === "COUNT") && reader.isSymbol("{", 1)) {
    reader.next();
    const query = reader.subquery();
    return { kind: "subquery", result: upper === "EXISTS" ? "exists" : "count", query, at, end: reader.end };
  }
  if (isCallNext(reader)) return parseSpecialCall(reader) ?? parseCall(reader);
  return parseVariable(reader);
}

function parseVariable(reader: TokenReader): Expression {
  const { offset: at } = reader.peek();
  if (!isVariableNext(reader)) throw reader.unexpected(["an expression"]);
  const { text: name } = reader.next();
  const variable: Expression = { kind: "variable", name, at, end: reader.end };
  if (!reader.isSymbol("{")) return variable;
  return { kind: "mapProjection", object: variable, items: parseProjectionItems(reader), at, end: reader.end };
}

function parseProjectionItems(reader: TokenReader): readonly ProjectionItem[] {
  const items: ProjectionItem[] = [];
  reader.expectSymbol("{");
  while (!reader.isSymbol("}")) {
    if (items.length > 0) reader.expectSymbol(",");
    const { offset: at } = reader.peek();
    if (reader.takeSymbol(".")) {
      if (reader.takeSymbol("*")) {
        items.push({ kind: "all" });
        continue;
      }
      const key = reader.expectName("a property key");
      items.push({ kind: "property", key });
      continue;
    }
    const key = reader.expectName("a key");
    const isVariable = !reader.takeSymbol(":");
    const value: Expression = isVariable ? { kind: "variable", name: key, at, end: reader.end } : reader.expression();
    items.push({ kind: "entry", key, value });
  }
  reader.expectSymbol("}");
  return items;
}

/** `name(` or `space.name(`. */
function isCallNext(reader: TokenReader): boolean {
  let ahead = 1;
  while (reader.isSymbol(".", ahead) && /ame$/.test(reader.peek(ahead + 1).kind)) ahead += 2;
  return reader.isSymbol("(", ahead);
}

function parseSpecialCall(reader: TokenReader): Expression | undefined {
  const { upper, offset: at } = reader.peek();
  if (upper === "SHORTESTPATH" || upper === "ALLSHORTESTPATHS") {
    return { kind: "pathExpression", pattern: parsePathPattern(reader), at, end: reader.end };
  }
  if (upper === "REDUCE") return parseReduction(reader);
  const quantifier = (["all", "any", "none", "single"] as const).find((one) => one.toUpperCase() === upper);
  if (quantifier === undefined || !reader.isKeyword("IN", 3)) return undefined;
  reader.moveTo(reader.index + 2);
  const variable = parseVariableName(reader);
  reader.expectKeyword("IN");
  const list = reader.expression();
  reader.expectKeyword("WHERE");
  const where = reader.expression();
  reader.expectSymbol(")");
  return { kind: "quantifier", quantifier, variable, list, where, at, end: reader.end };
}

function parseReduction(reader: TokenReader): Expression {
  const { offset: at } = reader.next();
  reader.expectSymbol("(");
  const accumulator = parseVariableName(reader);
  reader.expectSymbol("=");
  const initial = reader.expression();
  reader.expectSymbol(",");
  const variable = parseVariableName(reader);
  reader.expectKeyword("IN");
  const list = reader.expression();
  reader.expectSymbol("|");
  const body = reader.expression();
  reader.expectSymbol(")");
  return { kind: "reduce", accumulator, initial, variable, list, body, at, end: reader.end };
}

function parseCall(reader: TokenReader): Expression {
  const { offset: at } = reader.peek();
  let shownName = reader.next().text;
  while (reader.takeSymbol(".")) shownName += `.${reader.expectName("the name of a function")}`;
  const name = shownName.toLowerCase();
  if (TEMPORAL.has(name.split(".")[0] ?? "")) throw reader.unsupported(at, `the temporal function ${shownName}()`);
  reader.expectSymbol("(");
  const isDistinct = reader.takeKeyword("DISTINCT");
  const isStar = name === "count" && reader.takeSymbol("*");
  const operands: Expression[] = [];
  while (!reader.isSymbol(")")) {
    if (operands.length > 0) reader.expectSymbol(",");
    else if (isStar) break;
    operands.push(reader.expression());
  }
  reader.expectSymbol(")");
  return { kind: "call", name, shownName, isDistinct, isStar, operands, at, end: reader.end };
}

function parseCase(reader: TokenReader): CaseExpression {
  const { offset: at } = reader.next();
  const subject = reader.isKeyword("WHEN") ? undefined : reader.expression();
  const branches: { when: Expression; result: Expression }[] = [];
  while (reader.takeKeyword("WHEN")) {
    const when = reader.expression();
    reader.expectKeyword("THEN");
    branches.push({ when, result: reader.expression() });
  }
  if (branches.length === 0) throw reader.unexpected(["WHEN"]);
  const otherwise = reader.takeKeyword("ELSE") ? reader.expression() : undefined;
  reader.expectKeyword("END");
  return { kind: "case", subject, branches, otherwise, at, end: reader.end };
}
