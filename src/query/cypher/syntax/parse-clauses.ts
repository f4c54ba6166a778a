// Parses clauses, one function each. What may follow what is checked in check/composition.ts.
import type {
  Clause,
  Expression,
  MatchClause,
  MergeClause,
  Projection,
  RemoveItem,
  ReturnItem,
  SetItem,
  SortItem,
  Variable,
} from "./ast.ts";
import { parseLabels, parseVariableName } from "./parse-names.ts";
import { parsePathPattern, parsePatterns } from "./parse-pattern.ts";
import type { TokenReader } from "./token-reader.ts";

const CLAUSES = "MATCH OPTIONAL UNWIND WITH RETURN CREATE MERGE SET REMOVE DELETE DETACH".split(" ");

export function isClauseNext(reader: TokenReader): boolean {
  return CLAUSES.some((word) => reader.isKeyword(word));
}

export function parseClause(reader: TokenReader): Clause {
  const { offset: at, upper } = reader.peek();
  switch (upper) {
    case "OPTIONAL":
    case "MATCH":
      return parseMatch(reader);
    case "UNWIND": {
      reader.next();
      const list = reader.expression();
      reader.expectKeyword("AS");
      return { kind: "unwind", list, variable: parseVariableName(reader), at, end: reader.end };
    }
    case "WITH": {
      reader.next();
      const projection = parseProjection(reader);
      const where = parseWhere(reader);
      return { kind: "with", projection, where, at, end: reader.end };
    }
    case "RETURN":
      reader.next();
      return { kind: "return", projection: parseProjection(reader), at, end: reader.end };
    case "CREATE":
      reader.next();
      return { kind: "create", patterns: parsePatterns(reader), at, end: reader.end };
    case "MERGE":
      return parseMerge(reader);
    case "SET":
      return { kind: "set", items: parseSetItems(reader), at, end: reader.end };
    case "REMOVE":
      return { kind: "remove", items: parseRemoveItems(reader), at, end: reader.end };
    case "DETACH":
    case "DELETE":
      return parseDelete(reader);
    default:
      throw reader.unexpected(["a clause, such as MATCH or RETURN"]);
  }
}

function parseMatch(reader: TokenReader): MatchClause {
  const { offset: at } = reader.peek();
  const isOptional = reader.takeKeyword("OPTIONAL");
  reader.expectKeyword("MATCH");
  const patterns = parsePatterns(reader);
  return { kind: "match", isOptional, patterns, where: parseWhere(reader), at, end: reader.end };
}

export function parseWhere(reader: TokenReader): Expression | undefined {
  return reader.takeKeyword("WHERE") ? reader.expression() : undefined;
}

function parseProjection(reader: TokenReader): Projection {
  const { offset: at } = reader.peek();
  const isDistinct = reader.takeKeyword("DISTINCT");
  const isStar = reader.takeSymbol("*");
  const items: ReturnItem[] = [];
  if (!isStar || reader.takeSymbol(",")) {
    do items.push(parseReturnItem(reader));
    while (reader.takeSymbol(","));
  }
  const orderBy = parseOrderBy(reader);
  const skip = reader.takeKeyword("SKIP") || reader.takeKeyword("OFFSET") ? reader.expression() : undefined;
  const limit = reader.takeKeyword("LIMIT") ? reader.expression() : undefined;
  return { isDistinct, isStar, items, orderBy, skip, limit, at, end: reader.end };
}

function parseReturnItem(reader: TokenReader): ReturnItem {
  const { offset: at } = reader.peek();
  const expression = reader.expression();
  const end = reader.end;
  const alias = reader.takeKeyword("AS") ? reader.expectName("a name for the column") : undefined;
  return { expression, alias, at, end };
}

function parseOrderBy(reader: TokenReader): readonly SortItem[] {
  const items: SortItem[] = [];
  if (!reader.takeKeyword("ORDER")) return items;
  reader.expectKeyword("BY");
  do {
    const expression = reader.expression();
    const isDescending = reader.takeKeyword("DESC") || reader.takeKeyword("DESCENDING");
    if (!isDescending && !reader.takeKeyword("ASC")) reader.takeKeyword("ASCENDING");
    items.push({ expression, isDescending });
  } while (reader.takeSymbol(","));
  return items;
}

function parseMerge(reader: TokenReader): MergeClause {
  const { offset: at } = reader.next();
  const pattern = parsePathPattern(reader);
  const onCreate: SetItem[] = [];
  const onMatch: SetItem[] = [];
  while (reader.takeKeyword("ON")) {
    const isCreate = reader.takeKeyword("CREATE");
    if (!isCreate) reader.expectKeyword("MATCH");
    (isCreate ? onCreate : onMatch).push(...parseSetItems(reader));
  }
  return { kind: "merge", pattern, onCreate, onMatch, at, end: reader.end };
}

function parseSetItems(reader: TokenReader): readonly SetItem[] {
  reader.expectKeyword("SET");
  const items = [parseSetItem(reader)];
  while (reader.takeSymbol(",")) items.push(parseSetItem(reader));
  return items;
}

/** The left side is parsed as an expression without operators, because `=` would compare. */
function parseSetItem(reader: TokenReader): SetItem {
  const { offset: at } = reader.peek();
  const target = parseTarget(reader);
  if (target.kind === "variable") {
    if (reader.isSymbol(":")) {
      return { kind: "setLabels", variable: target, labels: parseLabels(reader), at, end: reader.end };
    }
    const kind = reader.takeSymbol("+=") ? "mergeProperties" : "replaceProperties";
    if (kind === "replaceProperties") reader.expectSymbol("=");
    return { kind, variable: target, value: reader.expression(), at, end: reader.end };
  }
  reader.expectSymbol("=");
  const value = reader.expression();
  if (target.kind === "index") {
    return { kind: "setDynamicProperty", object: target.object, key: target.index, value, at, end: reader.end };
  }
  return { kind: "setProperty", target, value, at, end: reader.end };
}

type Target = Variable | Extract<Expression, { kind: "property" | "index" }>;

function parseTarget(reader: TokenReader): Target {
  const target = reader.target();
  if (target.kind === "variable" || target.kind === "property" || target.kind === "index") return target;
  throw reader.unexpected(["a variable or a property before it"]);
}

function parseRemoveItems(reader: TokenReader): readonly RemoveItem[] {
  reader.expectKeyword("REMOVE");
  const items: RemoveItem[] = [];
  do {
    const { offset: at } = reader.peek();
    const target = parseTarget(reader);
    if (target.kind === "property") items.push({ kind: "removeProperty", target, at, end: reader.end });
    else if (target.kind === "variable" && reader.isSymbol(":")) {
      items.push({ kind: "removeLabels", variable: target, labels: parseLabels(reader), at, end: reader.end });
    } else throw reader.unexpected(["a property or a label to remove"]);
  } while (reader.takeSymbol(","));
  return items;
}

function parseDelete(reader: TokenReader): Clause {
  const { offset: at } = reader.peek();
  const isDetach = reader.takeKeyword("DETACH");
  reader.expectKeyword("DELETE");
  const targets: Expression[] = [];
  do targets.push(reader.expression());
  while (reader.takeSymbol(","));
  return { kind: "delete", isDetach, targets, at, end: reader.end };
}
