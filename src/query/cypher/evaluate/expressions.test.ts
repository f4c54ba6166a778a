// What expressions and functions give, one by one, and the errors of those that fail while a query runs.
import { describe, expect, test } from "vitest";
import { CypherGraph, evaluateCypher } from "../../../../test/query/cypher-graph.ts";

describe("lists, maps and texts", () => {
  test.each([
    ["[1, 2, 3][0]", "1"],
    ["[1, 2, 3][-1]", "3"],
    ["[1, 2, 3][5]", "null"],
    ["[1, 2, 3][null]", "null"],
    ["[1, 2, 3, 4][1..3]", "[2, 3]"],
    ["[1, 2, 3, 4][..-1]", "[1, 2, 3]"],
    ["[1, 2, 3][2..1]", "[]"],
    ["[1, 2, 3][1..]", "[2, 3]"],
    ["[1, 2][null..1]", "null"],
    ["[1] + [2, [3]]", "[1, 2, [3]]"],
    ["[1] + 2", "[1, 2]"],
    ["1 + [2]", "[1, 2]"],
    ["[1] + null", "null"],
    ["{a: {b: 1}}.a.b", "1"],
    ["{a: 1}['a']", "1"],
    ["{a: 1}.b", "null"],
    ["null.b", "null"],
    ["'a' + 'b' + 1 + 2.0", "'ab12.0'"],
    ["'abc' STARTS WITH 'ab'", "true"],
    ["'abc' ENDS WITH 'ab'", "false"],
    ["'abc' CONTAINS ''", "true"],
    ["'abc' CONTAINS null", "null"],
    ["1 CONTAINS 'a'", "null"],
  ])("%s is %s", async (expression, value) => {
    expect(await evaluateCypher(expression)).toBe(value);
  });
});

describe("CASE, comprehensions, quantifiers, reduce", () => {
  test.each([
    ["CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", "'b'"],
    ["CASE 3 WHEN 1 THEN 'a' ELSE 'c' END", "'c'"],
    ["CASE null WHEN null THEN 'a' END", "null"],
    ["CASE WHEN null THEN 1 WHEN 2 > 1 THEN 2 END", "2"],
    ["[x IN [1, 2, 3] WHERE x > 1 | x * 10]", "[20, 30]"],
    ["[x IN [1, null] WHERE x > 0]", "[1]"],
    ["[x IN null | x]", "null"],
    ["[x IN [1, 2] | [y IN [10, 20] | x + y]]", "[[11, 21], [12, 22]]"],
    ["[x IN [[1], [2, 3]] | size([y IN x WHERE y > 1])]", "[0, 2]"],
    ["[x IN [1] | [x IN [2] | x][0] + x]", "[3]"],
    ["all(x IN [] WHERE x)", "true"],
    ["all(x IN [1, null] WHERE x > 0)", "null"],
    ["all(x IN [0, null] WHERE x > 0)", "false"],
    ["any(x IN [null, 1] WHERE x > 0)", "true"],
    ["any(x IN [null, 0] WHERE x > 0)", "null"],
    ["any(x IN [] WHERE x > 0)", "false"],
    ["none(x IN [0, null] WHERE x > 0)", "null"],
    ["none(x IN [0, 1] WHERE x > 0)", "false"],
    ["single(x IN [0, 1] WHERE x > 0)", "true"],
    ["single(x IN [1, 1, null] WHERE x > 0)", "false"],
    ["single(x IN [1, null] WHERE x > 0)", "null"],
    ["any(x IN null WHERE x > 0)", "null"],
    ["reduce(sum = 0, x IN [1, 2, 3] | sum + x)", "6"],
    ["reduce(list = [], x IN [1, 2] | list + [y IN [x] | y * 2])", "[2, 4]"],
    ["reduce(sum = 0, x IN null | sum + x)", "null"],
  ])("%s is %s", async (expression, value) => {
    expect(await evaluateCypher(expression)).toBe(value);
  });

  test("a branch that is not taken cannot fail", async () => {
    expect(await evaluateCypher("CASE WHEN $x = 1 THEN 'one' ELSE [y IN $x | y] END", { x: 1 })).toBe("'one'");
    expect(await evaluateCypher("$x = 1 OR any(y IN $x WHERE y)", { x: 1 })).toBe("true");
  });

  test("an error of one row does not fail the others that do not need it", async () => {
    const rows = await new CypherGraph().rows(
      "UNWIND [[1], 2, [3]] AS x RETURN CASE WHEN valueType(x) = 'LIST' THEN [y IN x | y + 1] ELSE x END",
    );
    expect(rows).toEqual(["[2]", "2", "[4]"]);
  });
});

describe("functions", () => {
  test.each([
    ["abs(-3)", "3"],
    ["abs(-1.5)", "1.5"],
    ["sign(-2.5)", "-1"],
    ["ceil(1.2)", "2.0"],
    ["floor(-1.2)", "-2.0"],
    ["round(2.5)", "3.0"],
    ["round(-2.5)", "-2.0"],
    ["round(1.2345, 2)", "1.23"],
    ["sqrt(16)", "4.0"],
    ["log10(100)", "2.0"],
    ["degrees(pi())", "180.0"],
    ["atan2(0, 1)", "0.0"],
    ["isNaN(0.0 / 0.0)", "true"],
    ["toInteger('12')", "12"],
    ["toInteger('12.9')", "12"],
    ["toInteger(-12.9)", "-12"],
    ["toInteger('x')", "null"],
    ["toInteger('99999999999999999999')", "null"],
    ["toFloat('1.5')", "1.5"],
    ["toFloat(2)", "2.0"],
    ["toFloat('')", "null"],
    ["toBoolean('TRUE')", "true"],
    ["toBoolean('yes')", "null"],
    ["toString(1.0)", "'1.0'"],
    ["toString(1)", "'1'"],
    ["toString(true)", "'true'"],
    ["toIntegerOrNull([])", "null"],
    ["toIntegerList(['1', 2.5, []])", "[1, 2, null]"],
    ["size('a😀')", "2"],
    ["size([1, null])", "2"],
    ["size(null)", "null"],
    ["reverse('ab😀')", "'😀ba'"],
    ["reverse([1, 2])", "[2, 1]"],
    ["head([])", "null"],
    ["last([1, 2])", "2"],
    ["tail([1, 2, 3])", "[2, 3]"],
    ["range(1, 3)", "[1, 2, 3]"],
    ["range(5, 0, -2)", "[5, 3, 1]"],
    ["range(3, 1)", "[]"],
    ["coalesce(null, 2, 3)", "2"],
    ["nullIf(1, 1)", "null"],
    ["keys({b: 1, a: 2})", "['b', 'a']"],
    ["isEmpty('')", "true"],
    ["exists({a: 1}.a)", "true"],
    ["toUpper('aß')", "'ASS'"],
    ["toLower('ÀB')", "'àb'"],
    ["trim('  a ')", "'a'"],
    ["lTrim('  a ')", "'a '"],
    ["rTrim('xxaxx', 'x')", "'xxa'"],
    ["left('abc', 2)", "'ab'"],
    ["right('abc', 5)", "'abc'"],
    ["substring('a😀bc', 1, 2)", "'😀b'"],
    ["replace('a.b.c', '.', '$&')", "'a$&b$&c'"],
    ["split('a,b,', ',')", "['a', 'b', '']"],
    ["split('ab', '')", "['a', 'b']"],
  ])("%s is %s", async (expression, value) => {
    expect(await evaluateCypher(expression)).toBe(value);
  });

  test("rand() comes from the environment, from 0 up to 1", async () => {
    const [row = ""] = await new CypherGraph().rows("RETURN rand() >= 0 AND rand() < 1, rand() <> rand()");
    expect(row).toBe("true | true");
  });
});

describe("errors while a query runs", () => {
  test.each([
    ["[1]['a']", "TypeError", "InvalidArgumentType"],
    ["{a: 1}[$n]", "TypeError", "MapElementAccessByNonString"],
    ["$n[0]", "TypeError", "InvalidArgumentType"],
    ["$n.x", "TypeError", "InvalidArgumentType"],
    ["$n IN $n", "TypeError", "InvalidArgumentType"],
    ["$n AND true", "TypeError", "InvalidArgumentType"],
    ["-$s", "TypeError", "InvalidArgumentType"],
    ["[x IN $n | x]", "TypeError", "InvalidArgumentType"],
    ["size($n)", "TypeError", "InvalidArgumentValue"],
    ["toFloat($list)", "TypeError", "InvalidArgumentValue"],
    ["labels($n)", "TypeError", "InvalidArgumentValue"],
    ["startNode($n)", "TypeError", "InvalidArgumentValue"],
    ["[x IN [1] | $n.y]", "TypeError", "InvalidArgumentType"],
    ["reduce(a = 1, x IN [1] | a + $list.y)", "TypeError", "InvalidArgumentType"],
    ["substring('abc', -1)", "ArgumentError", "NumberOutOfRange"],
    ["range(1, 2, 0)", "ArgumentError", "NumberOutOfRange"],
    ["range(1.0, 2)", "ArgumentError", "InvalidArgumentType"],
  ])("%s: %s %s", async (expression, kind, detail) => {
    await expect(evaluateCypher(expression, { n: 1, s: "a", list: [] })).rejects.toMatchObject({
      code: "InvalidQuery",
      details: { kind, phase: "runtime", detail, line: 1, column: expect.any(Number) },
    });
  });

  test("a parameter that is missing is named, with its place, before anything runs", async () => {
    const error = await new CypherGraph().error("CREATE () RETURN 1 + $missing");
    expect(error.details).toMatchObject({ kind: "ParameterMissing", detail: "MissingParameter", column: 22 });
    expect(error.message).toContain("missing");
  });
});
