// Parses patterns: (a:Label {key: value})-[r:TYPE*1..3]->(b), with the name of the path and shortestPath.
import { syntaxError } from "../errors.ts";
import { CYPHER_LIMITS, exceedsLimitAt } from "../limits.ts";
import type { MapLiteral, NodePattern, Parameter, PathPattern, RelationshipPattern } from "./ast.ts";
import { parseMap } from "./parse-map.ts";
import { parseLabels, parseVariableName } from "./parse-names.ts";
import type { TokenReader } from "./token-reader.ts";

/**
 * Whether a pattern with a relationship begins here, and not an expression in parentheses: what is in the parentheses
 * can be a node, and an arrow follows.
 */
export function isPatternNext(reader: TokenReader, ahead = 0): boolean {
  if (!reader.isSymbol("(", ahead)) return isShortestNext(reader, ahead);
  const closing = reader.closingOf(ahead);
  if (closing === undefined || !couldBeNode(reader, ahead + 1)) return false;
  const isArrow = (symbol: string, place: number) => reader.isSymbol(symbol, closing + place);
  if (isArrow("<", 1)) return isArrow("-", 2) && (isArrow("-", 3) || isArrow("[", 3));
  return isArrow("-", 1) && (isArrow("-", 2) || isArrow("[", 2));
}

function isShortestNext(reader: TokenReader, ahead: number): boolean {
  const { upper } = reader.peek(ahead);
  return (upper === "SHORTESTPATH" || upper === "ALLSHORTESTPATHS") && reader.isSymbol("(", ahead + 1);
}

function couldBeNode(reader: TokenReader, ahead: number): boolean {
  const { kind } = reader.peek(ahead);
  const after = kind === "name" || kind === "quotedName" ? ahead + 1 : ahead;
  return [")", ":", "{"].some((symbol) => reader.isSymbol(symbol, after)) || reader.peek(after).kind === "parameter";
}

export function parsePatterns(reader: TokenReader): readonly PathPattern[] {
  const { offset: at } = reader.peek();
  const patterns = [parsePathPattern(reader)];
  while (reader.takeSymbol(",")) patterns.push(parsePathPattern(reader));
  const parts = patterns.reduce((sum, { nodes, relationships }) => sum + nodes.length + relationships.length, 0);
  if (parts > CYPHER_LIMITS.cypherPatternParts) {
    throw exceedsLimitAt(reader.source, at, "cypherPatternParts", "a clause has too many nodes and relationships");
  }
  return patterns;
}

export function parsePathPattern(reader: TokenReader): PathPattern {
  const { offset: at } = reader.peek();
  const hasVariable = !reader.isSymbol("(") && reader.isSymbol("=", 1);
  const variable = hasVariable ? parseVariableName(reader) : undefined;
  if (hasVariable) reader.expectSymbol("=");
  if (!isShortestNext(reader, 0)) return { ...parseRelationshipsPattern(reader), variable, at };
  const shortest = reader.next().upper === "SHORTESTPATH" ? "one" : "all";
  reader.expectSymbol("(");
  const pattern = parseRelationshipsPattern(reader);
  if (pattern.relationships.length !== 1) {
    throw syntaxError(reader.source, at, "InvalidRelationshipPattern", "a shortest path needs one relationship");
  }
  const least = pattern.relationships[0]?.length?.min ?? 1;
  if (least > 1) {
    throw syntaxError(reader.source, at, "InvalidRelationshipPattern", "a shortest path begins at length 0 or 1");
  }
  reader.expectSymbol(")");
  return { ...pattern, variable, shortest, at, end: reader.end };
}

/** Nodes and relationships without a name for the path. */
export function parseRelationshipsPattern(reader: TokenReader): PathPattern {
  const { offset: at } = reader.peek();
  const nodes = [parseNode(reader)];
  const relationships: RelationshipPattern[] = [];
  while (reader.isSymbol("-") || reader.isSymbol("<")) {
    relationships.push(parseRelationship(reader));
    nodes.push(parseNode(reader));
  }
  return { variable: undefined, shortest: undefined, nodes, relationships, at, end: reader.end };
}

function parseNode(reader: TokenReader): NodePattern {
  const { offset: at } = reader.expectSymbol("(");
  const variable = isNameNext(reader) ? parseVariableName(reader) : undefined;
  const labels = parseLabels(reader);
  const properties = parseProperties(reader);
  if (reader.isKeyword("WHERE")) throw reader.unsupported(reader.peek().offset, "WHERE inside a node pattern");
  if (!reader.isSymbol(")")) throw reader.unexpected(['")"', "a label", "properties"]);
  reader.next();
  return { variable, labels, properties, at, end: reader.end };
}

function isNameNext(reader: TokenReader): boolean {
  const { kind, upper } = reader.peek();
  return kind === "quotedName" || (kind === "name" && upper !== "WHERE");
}

function parseProperties(reader: TokenReader): MapLiteral | Parameter | undefined {
  if (reader.isSymbol("{")) return parseMap(reader);
  const { kind, text: name, offset: at, end } = reader.peek();
  if (kind !== "parameter") return undefined;
  reader.next();
  return { kind: "parameter", name, at, end };
}

function parseRelationship(reader: TokenReader): RelationshipPattern {
  const { offset: at } = reader.peek();
  const pointsLeft = reader.takeSymbol("<");
  reader.expectSymbol("-");
  const detail = reader.takeSymbol("[") ? parseDetail(reader) : NO_DETAIL;
  reader.expectSymbol("-");
  const pointsRight = reader.takeSymbol(">");
  const direction = pointsLeft ? (pointsRight ? "both" : "in") : pointsRight ? "out" : "either";
  return { ...detail, direction, at, end: reader.end };
}

type RelationshipDetail = Pick<RelationshipPattern, "variable" | "types" | "properties" | "length">;

const NO_DETAIL: RelationshipDetail = { variable: undefined, types: [], properties: undefined, length: undefined };

function parseDetail(reader: TokenReader): RelationshipDetail {
  const variable = isNameNext(reader) ? parseVariableName(reader) : undefined;
  const types: string[] = [];
  if (reader.takeSymbol(":")) {
    types.push(reader.expectName("a relationship type"));
    while (reader.takeSymbol("|")) {
      reader.takeSymbol(":");
      types.push(reader.expectName("a relationship type"));
    }
  }
  const length = parseLength(reader);
  const properties = parseProperties(reader);
  if (reader.isKeyword("WHERE")) throw reader.unsupported(reader.peek().offset, "WHERE inside a relationship pattern");
  if (!reader.isSymbol("]")) {
    const isLength = reader.isSymbol("..") || reader.isSymbol("-") || reader.peek().kind === "integer";
    const detail = isLength ? "InvalidRelationshipPattern" : "UnexpectedSyntax";
    throw reader.unexpected(['"]"', "a length after *", "properties"], detail);
  }
  reader.next();
  return { variable, types, properties, length };
}

function parseLength(reader: TokenReader): RelationshipPattern["length"] {
  if (!reader.takeSymbol("*")) return undefined;
  const min = takeLength(reader);
  if (!reader.takeSymbol("..")) return { min, max: min };
  return { min, max: takeLength(reader) };
}

/** Paths of more relationships than this are not looked for one by one anyway. */
const LENGTH_MAX = 1_000_000_000n;

function takeLength(reader: TokenReader): number | undefined {
  const { kind, number } = reader.peek();
  if (kind !== "integer" || typeof number !== "bigint") return undefined;
  if (number > LENGTH_MAX) throw reader.unexpected([`a length up to ${LENGTH_MAX}`], "InvalidRelationshipPattern");
  reader.next();
  return Number(number);
}
