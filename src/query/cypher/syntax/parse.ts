// Parses a query to its tree: clauses joined by UNION, and the subqueries of EXISTS and COUNT.
import { cypherError } from "../errors.ts";
import { CYPHER_LIMITS, exceedsLimitAt } from "../limits.ts";
import type { Clause, Query, SingleQuery } from "./ast.ts";
import { isClauseNext, parseClause, parseWhere } from "./parse-clauses.ts";
import { parseExpression, parseOperand } from "./parse-expression.ts";
import { parsePatterns } from "./parse-pattern.ts";
import { TokenReader } from "./token-reader.ts";
import { checkTreeDepth } from "./tree-depth.ts";

export function parseQuery(source: string): Query {
  const reader = new TokenReader(source, {
    expression: parseExpression,
    target: parseOperand,
    subquery: parseSubquery,
  });
  const query = parseUnion(reader);
  reader.takeSymbol(";");
  if (reader.peek().kind !== "end") throw reader.unexpected(["a clause", "an operator", "the end of the query"]);
  checkTreeDepth(source, query);
  return query;
}

function parseUnion(reader: TokenReader): Query {
  const { offset: at } = reader.peek();
  const first = parseSingle(reader);
  const others: SingleQuery[] = [];
  let union: Query["union"];
  while (reader.isKeyword("UNION")) {
    const { offset } = reader.next();
    const kind = reader.takeKeyword("ALL") ? "all" : "distinct";
    if (!reader.isKeyword("ALL")) reader.takeKeyword("DISTINCT");
    if (union !== undefined && union !== kind) {
      throw cypherError(reader.source, offset, {
        kind: "SyntaxError",
        phase: "compile time",
        detail: "InvalidClauseComposition",
        message: "UNION and UNION ALL cannot be mixed in one query",
      });
    }
    union = kind;
    others.push(parseSingle(reader));
  }
  return { parts: [first, ...others], union, at, end: reader.end };
}

function parseSingle(reader: TokenReader): SingleQuery {
  const clauses: Clause[] = [];
  while (isClauseNext(reader)) {
    const { offset } = reader.peek();
    if (clauses.length >= CYPHER_LIMITS.cypherClauses) {
      throw exceedsLimitAt(reader.source, offset, "cypherClauses", "the query has too many clauses");
    }
    clauses.push(parseClause(reader));
  }
  if (clauses.length > 0 && !isUnsupportedNext(reader)) return { clauses };
  if (isUnsupportedNext(reader)) throw reader.unsupported(reader.peek().offset, reader.peek().upper);
  throw reader.unexpected(["a clause, such as MATCH or RETURN"]);
}

/** Clauses of other Cyphers. */
const UNSUPPORTED = "CALL YIELD FOREACH LOAD USE DROP FINISH SHOW EXPLAIN PROFILE CYPHER".split(" ");

function isUnsupportedNext(reader: TokenReader): boolean {
  return UNSUPPORTED.some((word) => reader.isKeyword(word));
}

/** `{ MATCH … RETURN … }`, or only patterns with WHERE. */
function parseSubquery(reader: TokenReader): Query {
  return reader.nest(() => {
    reader.expectSymbol("{");
    const query = isClauseNext(reader) || isUnsupportedNext(reader) ? parseUnion(reader) : parsePatternQuery(reader);
    reader.expectSymbol("}");
    return query;
  });
}

function parsePatternQuery(reader: TokenReader): Query {
  const { offset: at } = reader.peek();
  const patterns = parsePatterns(reader);
  const where = parseWhere(reader);
  const { end } = reader;
  return {
    parts: [{ clauses: [{ kind: "match", isOptional: false, patterns, where, at, end }] }],
    union: undefined,
    at,
    end,
  };
}
