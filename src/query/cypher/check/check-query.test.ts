// Mistakes that are found before a query runs: the kind and detail of each, and its place.
import { describe, expect, test } from "vitest";
import { isHoldfastError } from "../../../contracts/errors.ts";
import { parseQuery } from "../syntax/parse.ts";
import { checkQuery, isWriteQuery } from "./check-query.ts";

function check(source: string): readonly string[] {
  return checkQuery(parseQuery(source), source);
}

function detailsOf(source: string): Readonly<Record<string, unknown>> {
  try {
    check(source);
  } catch (error) {
    if (isHoldfastError(error)) return error.details;
    throw error;
  }
  throw new Error(`this was accepted: ${source}`);
}

describe("columns", () => {
  test.each<[string, readonly string[]]>([
    ["RETURN 1 AS a, 2 AS b", ["a", "b"]],
    ["MATCH (n) RETURN n, n.x, count( * )", ["n", "n.x", "count( * )"]],
    ["MATCH (b)-[a]->(c) RETURN *, 1 AS d", ["a", "b", "c", "d"]],
    ["WITH 1 AS x RETURN x UNION RETURN 2 AS x", ["x"]],
    ["CREATE (n)", []],
  ])("%s", (query, columns) => {
    expect(check(query)).toEqual(columns);
  });
});

describe("SyntaxError", () => {
  test.each([
    // Variables.
    ["RETURN missing", "UndefinedVariable"],
    ["MATCH (a) WITH a.x AS x RETURN a", "UndefinedVariable"],
    ["MATCH (a) WHERE (a)-->(b) RETURN a", "UndefinedVariable"],
    ["MATCH (a) RETURN [x IN [1] | y]", "UndefinedVariable"],
    ["MATCH (a) SET b.x = 1", "UndefinedVariable"],
    ["CREATE (a {x: y})", "UndefinedVariable"],
    ["MATCH (a) RETURN DISTINCT a.x ORDER BY a.y", "UndefinedVariable"],
    ["MATCH (a) RETURN count(a) AS n ORDER BY a.x", "UndefinedVariable"],
    ["MATCH (a) WHERE EXISTS { (a)-->(b) WHERE c.x } RETURN a", "UndefinedVariable"],
    ["MATCH (a) RETURN 1 AS x UNION MATCH (b) RETURN a AS x", "UndefinedVariable"],
    ["MATCH (r)-[r]->() RETURN r", "VariableTypeConflict"],
    ["MATCH (a)-[r*]->(b) MATCH (a)-[r]->(b) RETURN r", "VariableTypeConflict"],
    ["WITH [1, 2] AS r MATCH ()-[r*]->() RETURN r", "VariableTypeConflict"],
    ["WITH 1 AS n MATCH (n) RETURN n", "VariableTypeConflict"],
    ["MATCH p = (a)-->(b), (p) RETURN p", "VariableTypeConflict"],
    ["MATCH p = (p)-->(b) RETURN p", "VariableAlreadyBound"],
    ["MATCH (a) MATCH a = (b) RETURN a", "VariableAlreadyBound"],
    ["MATCH (a) CREATE (a)", "VariableAlreadyBound"],
    ["MATCH (a) CREATE (a:X)-[:T]->()", "VariableAlreadyBound"],
    ["MATCH ()-[r]->() CREATE ()-[r:T]->()", "VariableAlreadyBound"],
    ["MATCH (a) UNWIND [1] AS a RETURN a", "VariableAlreadyBound"],
    ["MATCH (a)-[r]->(b)-[r]->(c) RETURN r", "RelationshipUniquenessViolation"],
    ["MATCH () RETURN *", "NoVariablesInScope"],
    // Columns.
    ["RETURN 1 AS a, 2 AS a", "ColumnNameConflict"],
    ["MATCH (a) RETURN *, 1 AS a", "ColumnNameConflict"],
    ["MATCH (a) WITH a.x RETURN 1", "NoExpressionAlias"],
    ["RETURN 1 AS a UNION RETURN 2 AS b", "DifferentColumnsInUnion"],
    ["RETURN 1 AS a, 2 AS b UNION ALL RETURN 2 AS b, 1 AS a", "DifferentColumnsInUnion"],
    // Aggregates.
    ["MATCH (a) WHERE count(a) > 1 RETURN a", "InvalidAggregation"],
    ["MATCH (a) WITH a WHERE max(a.x) = 1 RETURN a", "InvalidAggregation"],
    ["RETURN [x IN [1] | count(x)]", "InvalidAggregation"],
    ["MATCH (a) SET a.x = count(a)", "InvalidAggregation"],
    ["MATCH (a) RETURN a.x ORDER BY sum(a.y)", "InvalidAggregation"],
    ["RETURN sum(count(1))", "NestedAggregation"],
    ["RETURN sum(rand())", "NonConstantExpression"],
    ["MATCH (a) RETURN a.x + count(*)", "AmbiguousAggregationExpression"],
    ["MATCH (a) RETURN a.x + a.y, a.x + a.y + count(*)", "AmbiguousAggregationExpression"],
    ["MATCH (a) RETURN [x IN [1] | x + a.y][0] + count(*)", "AmbiguousAggregationExpression"],
    ["MATCH (a) RETURN a.x + a.y, count(*) ORDER BY a.x + a.y + count(*)", "AmbiguousAggregationExpression"],
    // Functions and types.
    ["RETURN nothing(1)", "UnknownFunction"],
    ["RETURN size()", "InvalidNumberOfArguments"],
    ["RETURN substring('a')", "InvalidNumberOfArguments"],
    ["RETURN count(1, 2)", "InvalidNumberOfArguments"],
    ["RETURN 1 AND true", "InvalidArgumentType"],
    ["RETURN NOT 'a'", "InvalidArgumentType"],
    ["RETURN 1 IN 'a'", "InvalidArgumentType"],
    ["RETURN 1 - 'a'", "InvalidArgumentType"],
    ["RETURN any(x IN ['a'] WHERE x * 2 > 1)", "InvalidArgumentType"],
    ["MATCH (a) RETURN type(a)", "InvalidArgumentType"],
    ["MATCH (a) RETURN length(a)", "InvalidArgumentType"],
    ["MATCH p = () RETURN size(p)", "InvalidArgumentType"],
    ["MATCH p = () RETURN p.x", "InvalidArgumentType"],
    ["MATCH (a) WHERE (a) RETURN a", "InvalidArgumentType"],
    ["MATCH (a) DELETE 1", "InvalidArgumentType"],
    ["MATCH (a) DELETE a:X", "InvalidDelete"],
    // SKIP and LIMIT.
    ["MATCH (a) RETURN a LIMIT a.x", "NonConstantExpression"],
    ["RETURN 1 SKIP -1", "NegativeIntegerArgument"],
    ["RETURN 1 LIMIT 1.5", "InvalidArgumentType"],
    ["RETURN 1 LIMIT 'a'", "InvalidArgumentType"],
    // Patterns.
    ["MATCH (a $p) RETURN a", "InvalidParameterUse"],
    ["MERGE (a $p)", "InvalidParameterUse"],
    ["CREATE (a)-[:T*2]->(b)", "CreatingVarLength"],
    ["CREATE (a)-->(b)", "NoSingleRelationshipType"],
    ["MERGE (a)-[:T|U]->(b)", "NoSingleRelationshipType"],
    ["CREATE (a)-[:T]-(b)", "RequiresDirectedRelationship"],
    ["MATCH (a) RETURN (a)-->()", "UnexpectedSyntax"],
    ["MATCH (a) RETURN size((a)-->())", "UnexpectedSyntax"],
    // Clauses.
    ["MATCH (a)", "InvalidClauseComposition"],
    ["RETURN 1 MATCH (a)", "InvalidClauseComposition"],
    ["MATCH (a) WHERE EXISTS { MATCH (a) SET a.x = 1 RETURN a } RETURN a", "InvalidClauseComposition"],
  ])("%s: %s", (query, detail) => {
    expect(detailsOf(query)).toMatchObject({ kind: "SyntaxError", phase: "compile time", detail });
  });
});

test("a property of what has none is a TypeError", () => {
  expect(detailsOf("WITH 1 AS x RETURN x.y")).toMatchObject({ kind: "TypeError", detail: "InvalidArgumentType" });
});

test("the place of a mistake is that of the part that is wrong", () => {
  expect(detailsOf("MATCH (a)\nRETURN a.x, b.y")).toMatchObject({ line: 2, column: 13, excerpt: "RETURN a.x, b.y" });
});

test.each([
  "MATCH (a) RETURN a.x, a.x + count(*)",
  "MATCH (a) RETURN a, a.x + count(*)",
  "MATCH (a) RETURN a.x AS x, count(*) AS n ORDER BY x, n + count(*)",
  "MATCH (a) WITH a.x AS x WHERE a.y = 1 AND x > 2 RETURN x",
  "MATCH (a) WITH DISTINCT a.x AS x WHERE a.x > 2 RETURN x",
  "MATCH (a) RETURN a.x AS y ORDER BY a.z, y",
  "MATCH (a) WHERE NOT (a)-->() AND any(x IN [a] WHERE (x)-->()) RETURN a",
  "MATCH (a)-[r]->(b) MATCH (a)-[r]->(b) RETURN r",
  "MATCH (a)-[rs*]->(b) WITH rs MATCH (x)-[rs*]->(y) RETURN x",
  "OPTIONAL MATCH (a) WITH coalesce(a, null) AS b MATCH (b)-->(c) RETURN c",
  "MATCH (a), (b {x: a.x}) RETURN b",
  "CREATE (a $p) RETURN a",
  "MATCH (a) RETURN a LIMIT toInteger($n) + 1",
  "RETURN any(x IN [1, 'a'] WHERE x % 2 = 0)",
])("%s is accepted", (query) => {
  expect(check(query).length).toBeGreaterThan(0);
});

test.each([
  ["MATCH (person) RETURN persn", 'the variable persn is not defined here; did you mean "person"?'],
  ["RETURN colect(1)", 'there is no function colect(); did you mean "collect"?'],
  ["MATCH (a) RETRUN a", 'or the end of the query; did you mean "RETURN"?'],
])("%s: %s", (query, message) => {
  expect(() => check(query)).toThrow(message);
});

test.each([
  ["MATCH (a) RETURN a", false],
  ["MATCH (a) SET a.x = 1", true],
  ["RETURN 1 AS x UNION CREATE (a) RETURN 1 AS x", true],
])("%s writes: %s", (query, isWrite) => {
  expect(isWriteQuery(parseQuery(query))).toBe(isWrite);
});
