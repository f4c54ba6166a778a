// From text to tree: precedence, patterns, literals; and what the errors of the parser say.
import { describe, expect, test } from "vitest";
import { isHoldfastError } from "../../../contracts/errors.ts";
import { CYPHER_LIMITS } from "../limits.ts";
import type { Expression, PathPattern } from "./ast.ts";
import { parseQuery } from "./parse.ts";

/** The first item of RETURN. */
function parse(expression: string): Expression {
  const [{ clauses }] = parseQuery(`RETURN ${expression}`).parts;
  const [clause] = clauses;
  const item = clause?.kind === "return" ? clause.projection.items[0] : undefined;
  if (item === undefined) throw new Error("no item");
  return item.expression;
}

function parsePattern(pattern: string): PathPattern {
  const [{ clauses }] = parseQuery(`MATCH ${pattern} RETURN 1`).parts;
  const [clause] = clauses;
  const first = clause?.kind === "match" ? clause.patterns[0] : undefined;
  if (first === undefined) throw new Error("no pattern");
  return first;
}

function errorOf(query: string) {
  try {
    parseQuery(query);
  } catch (error) {
    if (isHoldfastError(error)) return error;
    throw error;
  }
  throw new Error(`this was parsed: ${query.slice(0, 100)}`);
}

/** The tree in prefix form. */
function show(one: Expression): string {
  switch (one.kind) {
    case "literal":
      return typeof one.value === "bigint" ? String(one.value) : JSON.stringify(one.value);
    case "variable":
      return one.name;
    case "parameter":
      return `$${one.name}`;
    case "property":
      return `(. ${show(one.object)} ${one.key})`;
    case "index":
      return `(at ${show(one.object)} ${show(one.index)})`;
    case "unary":
      return `(${one.operator} ${show(one.operand)})`;
    case "isNull":
      return `(${one.isNegated ? "known" : "null"} ${show(one.operand)})`;
    case "hasLabels":
      return `(is ${show(one.object)} ${one.labels.join(" ")})`;
    case "logical":
      return `(${[one.operator, ...one.operands.map(show)].join(" ")})`;
    case "arithmetic":
    case "comparison":
      return one.rest.reduce(
        (left, { operator, operand }) => `(${operator} ${left} ${show(operand)})`,
        show(one.first),
      );
    case "predicate":
      return `(${one.operator} ${show(one.left)} ${show(one.right)})`;
    case "list":
      return `[${one.items.map(show).join(" ")}]`;
    case "call":
      return `(${[one.name, ...one.operands.map(show)].join(" ")})`;
    default:
      return `<${one.kind}>`;
  }
}

describe("expressions", () => {
  test.each([
    ["a OR b AND NOT c XOR d", "(OR a (XOR (AND b (NOT c)) d))"],
    ["NOT a = b", "(NOT (= a b))"],
    ["1 + 2 * 3 - 4", "(- (+ 1 (* 2 3)) 4)"],
    ["2 ^ 3 ^ 2", "(^ (^ 2 3) 2)"],
    ["-2 ^ 2", "(^ -2 2)"],
    ["- a.b", "(- (. a b))"],
    ["a.b[0].c", "(. (at (. a b) 0) c)"],
    ["a + 1 IN list AND b", "(AND (IN (+ a 1) list) b)"],
    ["a STARTS WITH 'x' = true", '(= (STARTS WITH a "x") true)'],
    ["a.b IS NOT NULL OR c:X:Y", "(OR (known (. a b)) (is c X Y))"],
    ["1 < x <= 3", "(<= (< 1 x) 3)"],
    ["a<-1", "(< a -1)"],
    ["[1, 2][0]", "(at [1 2] 0)"],
    ["Coalesce(null, `odd name`)", "(coalesce null odd name)"],
    ["(a)", "a"],
    ["(a) - (b)", "(- a b)"],
  ])("%s is %s", (text, tree) => {
    expect(show(parse(text))).toBe(tree);
  });

  test.each([
    ["[x IN list WHERE x > 1 | x]", "listComprehension"],
    ["[x IN list]", "listComprehension"],
    ["[x = 1]", "list"],
    ["[(a)-->(b) | b.name]", "patternComprehension"],
    ["[p = (a)<-[:T]-() WHERE true | p]", "patternComprehension"],
    ["[(a)-->(b), true]", "list"],
    ["(a)-->(b)", "patternPredicate"],
    ["(a)--(:B)", "patternPredicate"],
    ["all(x IN list WHERE x)", "quantifier"],
    ["reduce(sum = 0, x IN list | sum + x)", "reduce"],
    ["CASE a WHEN 1 THEN 2 ELSE 3 END", "case"],
    ["EXISTS { (a)-->(b) WHERE b.x }", "subquery"],
    ["COUNT { MATCH (a) RETURN a }", "subquery"],
    ["shortestPath((a)-[*]->(b))", "pathExpression"],
    ["n {.name, .*, x: 1, y}", "mapProjection"],
    ["{a: 1, `b c`: {}}", "map"],
    ["list[1..]", "slice"],
  ])("%s is a %s", (text, kind) => {
    expect(parse(text).kind).toBe(kind);
  });

  test.each<[string, unknown]>([
    ["9223372036854775807", 9223372036854775807n],
    ["-9223372036854775808", -9223372036854775808n],
    ["0x1F", 31n],
    ["-0o17", -15n],
    [".5", 0.5],
    ["1e3", 1000],
    ["1.5E-2", 0.015],
    ["'it\\'s \\u0041\\n'", "it's A\n"],
    ['"two \\"quotes\\""', 'two "quotes"'],
    ["'\\U0001F600'", "😀"],
    ["NULL", null],
    ["True", true],
  ])("the literal %s", (text, value) => {
    expect(parse(text)).toMatchObject({ kind: "literal", value });
  });

  test("comments and white space mean nothing", () => {
    expect(show(parse("1 /* two\n lines */ + // and the rest\n 2"))).toBe("(+ 1 2)");
  });
});

describe("patterns", () => {
  test("have nodes and relationships in turn", () => {
    const pattern = parsePattern(
      "path = (a:A:B {x: 1})-[r:T|U*2..4 {y: $y}]->()<--(b)-[*..3]-(c)<-[:`odd``type`]->(d)",
    );
    expect(pattern).toMatchObject({
      variable: "path",
      nodes: [{ variable: "a", labels: ["A", "B"] }, { variable: undefined }, {}, {}, { variable: "d" }],
      relationships: [
        { variable: "r", types: ["T", "U"], direction: "out", length: { min: 2, max: 4 } },
        { types: [], direction: "in", length: undefined },
        { direction: "either", length: { min: undefined, max: 3 } },
        { direction: "both", types: ["odd`type"] },
      ],
    });
  });

  test.each([
    ["[*]", { min: undefined, max: undefined }],
    ["[*2]", { min: 2, max: 2 }],
    ["[*2..]", { min: 2, max: undefined }],
    ["[*0..0]", { min: 0, max: 0 }],
  ])("of the length %s", (detail, length) => {
    expect(parsePattern(`()-${detail}->()`).relationships[0]?.length).toEqual(length);
  });

  test("of shortest paths", () => {
    expect(parsePattern("p = allShortestPaths((a)-[:T*]-(b))")).toMatchObject({ variable: "p", shortest: "all" });
    expect(errorOf("MATCH shortestPath((a)-->(b)-->(c)) RETURN 1").details.detail).toBe("InvalidRelationshipPattern");
    expect(errorOf("MATCH shortestPath((a)-[*2..3]->(b)) RETURN 1").details.detail).toBe("InvalidRelationshipPattern");
  });
});

describe("errors", () => {
  test("name what was expected, the place and an excerpt", () => {
    const error = errorOf("MATCH (n)\nWHERE n.age > \nRETURN n");
    expect(error.message).toBe('"RETURN" is not expected here; expected an expression (at 3:1, near "RETURN n")');
    expect(error.details).toEqual({
      kind: "SyntaxError",
      phase: "compile time",
      detail: "UnexpectedSyntax",
      expected: ["an expression"],
      line: 3,
      column: 1,
      offset: 25,
      excerpt: "RETURN n",
    });
  });

  test.each([
    ["RETURN (1 + 2", '")"'],
    ["MATCH (n RETURN n", '")"'],
    ["MATCH (n)-[r->(m) RETURN n", '"]"'],
    ["RETURN CASE WHEN true THEN 1", "END"],
    ["RETURN [1, 2", '","'],
    ["MATCH (n) SET n.x 1", '"="'],
    ["MATCH (n) RETURN n LIMIT", "an expression"],
    ["UNWIND [1] RETURN 1", "AS"],
    ["", "a clause, such as MATCH or RETURN"],
    ["RETURN 1 2", "a clause"],
  ])("%s: expected %s", (query, expected) => {
    expect(errorOf(query).details.expected).toContain(expected);
  });

  test.each([
    ["RETURN 9223372036854775808", "IntegerOverflow"],
    ["RETURN 12abc", "InvalidNumberLiteral"],
    ["RETURN 0xG", "InvalidNumberLiteral"],
    ["RETURN 1e400", "FloatingPointOverflow"],
    ["RETURN '\\u12'", "InvalidUnicodeLiteral"],
    ["RETURN '\\uD800'", "InvalidUnicodeLiteral"],
    ["RETURN 1 – 2", "InvalidUnicodeCharacter"],
    ["MATCH (`\ud800node 0`) RETURN 1", "InvalidUnicodeCharacter"],
    ["RETURN 'open", "UnexpectedSyntax"],
    ["RETURN `open", "UnexpectedSyntax"],
    ["RETURN /* open", "UnexpectedSyntax"],
    ["RETURN '\\q'", "UnexpectedSyntax"],
    ["RETURN $", "UnexpectedSyntax"],
    ["MATCH (a)-[:T..3]->() RETURN a", "InvalidRelationshipPattern"],
    ["RETURN 1 UNION RETURN 2 UNION ALL RETURN 3", "InvalidClauseComposition"],
  ])("%s: %s", (query, detail) => {
    expect(errorOf(query).details.detail).toBe(detail);
  });

  test.each([
    ["MATCH (n) CALL db.labels() YIELD x RETURN x", "CALL", 10],
    ["RETURN date('2026-01-01')", "the temporal function date()", 7],
    ["RETURN duration.between(1, 2)", "the temporal function duration.between()", 7],
    ["MATCH (n WHERE n.x) RETURN n", "WHERE inside a node pattern", 9],
    ["MATCH (n:A|B) RETURN n", "a label expression with |", 10],
    ["FOREACH (x IN [1] | CREATE ())", "FOREACH", 0],
  ])("%s: %s is not supported", (query, part, offset) => {
    expect(errorOf(query).details).toMatchObject({ kind: "Unsupported", part, offset });
  });
});

describe("limits", () => {
  const { cypherDepth } = CYPHER_LIMITS;
  test.each([
    ["characters", `RETURN '${"x".repeat(CYPHER_LIMITS.cypherChars)}'`, "cypherChars"],
    ["tokens", `RETURN [${"1,".repeat(CYPHER_LIMITS.cypherTokens)}1]`, "cypherTokens"],
    ["lists in lists", `RETURN ${"[".repeat(5000)}${"]".repeat(5000)}`, "cypherDepth"],
    ["maps in maps", `RETURN ${"{a: ".repeat(5000)}1${"}".repeat(5000)}`, "cypherDepth"],
    ["parentheses", `RETURN ${"(".repeat(5000)}1${")".repeat(5000)}`, "cypherDepth"],
    ["NOT of NOT", `RETURN ${"NOT ".repeat(5000)}true`, "cypherDepth"],
    ["signs", `RETURN ${"- ".repeat(5000)}1`, "cypherDepth"],
    ["subqueries", `RETURN ${"EXISTS { MATCH () WHERE ".repeat(2000)}true${" }".repeat(2000)}`, "cypherDepth"],
    ["a chain of properties", `RETURN a${".b".repeat(10_000)}`, "cypherDepth"],
    ["a chain of IN", `RETURN 1${" IN []".repeat(5000)}`, "cypherDepth"],
    ["patterns in maps", `MATCH (${"{a: [()-->(".repeat(300)}`, "cypherDepth"],
    ["clauses", `${"WITH 1 AS x ".repeat(CYPHER_LIMITS.cypherClauses)}RETURN 1`, "cypherClauses"],
    ["parts of a pattern", `MATCH ${"(),".repeat(CYPHER_LIMITS.cypherPatternParts)}() RETURN 1`, "cypherPatternParts"],
  ])("%s", (_, query, limit) => {
    const error = errorOf(query);
    expect([error.code, error.details.limit, error.details.max]).toEqual([
      "LimitExceeded",
      limit,
      CYPHER_LIMITS[limit as keyof typeof CYPHER_LIMITS],
    ]);
  });

  test("what is within them is parsed", () => {
    const depth = cypherDepth - 4;
    expect(parse(`${"[".repeat(depth)}${"]".repeat(depth)}`).kind).toBe("list");
    expect(parse(`1${" + 1".repeat(5000)}`).kind).toBe("arithmetic");
    expect(parse(`true${" AND true".repeat(5000)}`).kind).toBe("logical");
  });
});
