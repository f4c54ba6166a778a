// The semantics of values: equality with null, comparison, the order of all values, integers and floats.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { evaluateCypher } from "../../../../test/query/cypher-graph.ts";
import { scaled } from "../../../testing/scale.ts";
import { compareValues, orderValues } from "./compare.ts";
import { equalValues, valueKey } from "./equality.ts";
import { readParameters } from "./parameters.ts";
import type { CypherValue } from "./value.ts";

describe("equality", () => {
  test.each([
    ["1 = 1.0", "true"],
    ["9007199254740993 = 9007199254740992.0", "false"],
    ["1 = '1'", "false"],
    ["null = null", "null"],
    ["null <> 1", "null"],
    ["[1, 2] = [1, 2.0]", "true"],
    ["[1, null] = [1, 2]", "null"],
    ["[1, null] = [2, null]", "false"],
    ["[1, null] = [1]", "false"],
    ["[[null]] = [[1]]", "null"],
    ["{a: 1, b: null} = {b: null, a: 1}", "null"],
    ["{a: 1, b: null} = {a: 2, b: null}", "false"],
    ["{a: 1} = {b: 1}", "false"],
    ["0.0 / 0.0 = 0.0 / 0.0", "false"],
    ["0.0 = -0.0", "true"],
    ["[1] = 1", "false"],
    ["{} = []", "false"],
  ])("%s is %s", async (expression, value) => {
    expect(await evaluateCypher(expression)).toBe(value);
  });
});

describe("comparison", () => {
  test.each([
    ["1 < 1.5", "true"],
    ["9223372036854775807 > 9223372036854775806", "true"],
    ["'a' < 'b'", "true"],
    ["'Z' < 'a'", "true"],
    ["false < true", "true"],
    ["1 < 'a'", "null"],
    ["1 < null", "null"],
    ["[1, 2] < [1, 3]", "true"],
    ["[1, null] < [2]", "true"],
    ["[1, null] < [1, 2]", "null"],
    ["[1] < [1, 0]", "true"],
    ["0.0 / 0.0 < 1", "false"],
    ["0.0 / 0.0 >= 1", "false"],
    ["{a: 1} < {a: 2}", "null"],
    ["1 < 2 < 3", "true"],
    ["1 < 3 < 2", "false"],
    ["3 < 2 < null", "false"],
    ["1 < 2 < null", "null"],
    ["'\\uFFFD' < '\\U0001F600'", "true"],
  ])("%s is %s", async (expression, value) => {
    expect(await evaluateCypher(expression)).toBe(value);
  });
});

describe("logic with null", () => {
  test.each([
    ["null AND false", "false"],
    ["null AND true", "null"],
    ["null OR true", "true"],
    ["null OR false", "null"],
    ["null XOR true", "null"],
    ["true XOR true XOR true", "true"],
    ["NOT null", "null"],
    ["1 IN [1, null]", "true"],
    ["2 IN [1, null]", "null"],
    ["2 IN [1]", "false"],
    ["null IN []", "false"],
    ["null IN [1]", "null"],
    ["[1] IN [[1.0]]", "true"],
    ["1 IN null", "null"],
    ["null IS NULL", "true"],
    ["1 IS NOT NULL", "true"],
  ])("%s is %s", async (expression, value) => {
    expect(await evaluateCypher(expression)).toBe(value);
  });
});

describe("numbers", () => {
  test.each([
    ["7 / 2", "3"],
    ["-7 / 2", "-3"],
    ["-7 % 3", "-1"],
    ["7 / 2.0", "3.5"],
    ["1 + 1", "2"],
    ["1 + 1.0", "2.0"],
    ["2 ^ 3", "8.0"],
    ["9223372036854775806 + 1", "9223372036854775807"],
    ["9007199254740993 * 3", "27021597764222979"],
    ["1.0 / 0.0", "Infinity"],
    ["5.5 % 2", "1.5"],
    ["1 + null", "null"],
  ])("%s is %s", async (expression, value) => {
    expect(await evaluateCypher(expression)).toBe(value);
  });

  test.each([
    ["9223372036854775807 + 1", "IntegerOverflow"],
    ["-9223372036854775807 - 2", "IntegerOverflow"],
    ["9223372036854775807 * 2", "IntegerOverflow"],
    ["-(-9223372036854775807 - 1)", "IntegerOverflow"],
    ["1 / 0", "DivideByZero"],
    ["1 % 0", "DivideByZero"],
    ["$x - 'a'", "InvalidArgumentType"],
  ])("%s fails: %s", async (expression, detail) => {
    await expect(evaluateCypher(expression, { x: "b" })).rejects.toMatchObject({
      details: { phase: expect.any(String), detail },
    });
  });
});

describe("the order of all values", () => {
  const ascending: readonly CypherValue[] = [
    new Map(),
    new Map([["a", 1n]]),
    [],
    ["a"],
    [1n],
    [1n, "a"],
    [1n, null],
    [null],
    "",
    "A",
    "a",
    "\uffff",
    "\u{10000}",
    false,
    true,
    Number.NEGATIVE_INFINITY,
    -1n,
    0.5,
    1n,
    1.5,
    Number.POSITIVE_INFINITY,
    Number.NaN,
    null,
  ];

  test("puts maps first, numbers and null last", () => {
    for (const [index, one] of ascending.entries()) {
      for (const [other, two] of ascending.entries()) {
        expect(Math.sign(orderValues(one, two)), `${index} and ${other}`).toBe(Math.sign(index - other));
      }
    }
  });

  const anyValue: fc.Arbitrary<CypherValue> = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom<CypherValue>(null, true, false, Number.NaN, -0),
      fc.bigInt({ min: -3n, max: 3n }),
      fc.double(),
      fc.integer({ min: -3, max: 3 }),
      fc.string({ maxLength: 2 }),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b"), tie("value")).map((object) => new Map(Object.entries(object))),
    ),
  })).value as fc.Arbitrary<CypherValue>;

  test("agrees with the keys of DISTINCT, with equality and with comparison", () => {
    fc.assert(
      fc.property(anyValue, anyValue, (left, right) => {
        const isSame = valueKey(left) === valueKey(right);
        expect(orderValues(left, right) === 0).toBe(isSame);
        expect(Math.sign(orderValues(left, right))).toBe(-Math.sign(orderValues(right, left)) || 0);
        const equal = equalValues(left, right);
        expect(equal).toBe(equalValues(right, left));
        if (equal === true) expect(isSame).toBe(true);
        if (compareValues("<", left, right) === true) expect(orderValues(left, right)).toBeLessThan(0);
      }),
      { numRuns: scaled({ short: 300, long: 20_000 }) },
    );
  });
});

describe("parameters", () => {
  test("whole numbers are integers, all others floats; maps and lists nest", () => {
    const values = readParameters({ a: 1, b: 1.5, c: 2n, d: [null, { e: "f" }], g: -0, h: new Map([["i", true]]) });
    expect([...values]).toEqual([
      ["a", 1n],
      ["b", 1.5],
      ["c", 2n],
      ["d", [null, new Map([["e", "f"]])]],
      ["g", -0],
      ["h", new Map([["i", true]])],
    ]);
  });

  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["a function", () => 1],
    ["a date", new Date(0)],
    ["half of a surrogate pair", "\ud800"],
    ["more than 64 bits", 2n ** 63n],
    [
      "a circle",
      Object.assign([], {
        get 0() {
          return this;
        },
        length: 1,
      }),
    ],
  ])("%s is refused", (_, value) => {
    expect(() => readParameters({ x: value })).toThrow(expect.objectContaining({ code: "InvalidArgument" }));
  });

  test("keys such as __proto__ are only keys", async () => {
    expect(await evaluateCypher("$x.`__proto__`", { x: JSON.parse('{"__proto__": 1}') })).toBe("1");
    expect(await evaluateCypher("$x.constructor", { x: {} })).toBe("null");
  });
});
