// RFC 8785: its own test vectors, and the properties that a hash needs.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, NotCanonical } from "./hashing.ts";

describe("canonical JSON", () => {
  test("LG2 sorts keys by UTF-16 code units, as in the RFC's sorting example", () => {
    const value = {
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\u{1F600}": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis",
    };
    expect(Object.values(JSON.parse(canonicalJson(value)))).toHaveLength(7);
    const order = [...canonicalJson(value).matchAll(/:"([^"]+)"/g)].map((match) => match[1]);
    expect(order).toEqual([
      "Carriage Return",
      "One",
      "Control",
      "Latin Small Letter O With Diaeresis",
      "Euro Sign",
      "Emoji: Grinning Face",
      "Hebrew Letter Dalet With Dagesh",
    ]);
  });

  test("LG2 prints numbers and strings as the RFC's serialisation sample", () => {
    const value = {
      numbers: [Number("333333333.33333329"), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test("LG2 a text that looks like an escape is kept as a text", () => {
    expect(canonicalJson({ a: "\\ud800", b: "\u{1F600}" })).toBe('{"a":"\\\\ud800","b":"\u{1F600}"}');
    expect(canonicalJson({ a: 1, b: undefined, c: -0 })).toBe('{"a":1,"c":0}');
  });

  test("LG2 gives one text per value, whatever the order of insertion", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const reversed = Object.fromEntries(Object.entries(object).reverse());
        expect(canonicalJson(reversed)).toBe(canonicalJson(object));
        expect(JSON.parse(canonicalJson(object))).toEqual(JSON.parse(JSON.stringify(object)));
      }),
    );
  });

  test.each([
    ["NaN", Number.NaN],
    ["infinity", Number.POSITIVE_INFINITY],
    ["a function", () => 1],
    ["a BigInt", 1n],
    ["a lone surrogate", "\ud800"],
    ["a lone surrogate in a key", { "\udc00": 1 }],
    ["a lone surrogate in a field", { a: "\ud800" }],
    ["infinity in a field", { a: 1, b: Number.NEGATIVE_INFINITY }],
    ["a function in a field", { a: 1, b: () => 1 }],
    ["undefined in a list", [undefined]],
  ])("LG2 refuses %s", (_, value) => {
    expect(() => canonicalJson(value)).toThrow(NotCanonical);
  });

  test("LG2 refuses a cycle instead of overflowing the stack", () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(() => canonicalJson(cycle)).toThrow(NotCanonical);
  });
});
