// parseObject() accepts the same lines as JSON.parse.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseObject } from "./json-line.ts";

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

describe("an object on a line", () => {
  const signs = fc.constantFrom(
    ...['{"a":', '"a"', ":", ",", "{", "}", "[", "]", "1", "-0.5e+3", "01", "1.", "-", "true", "nul", " ", "\t"],
    ...['"\\u00e9"', '"\\x"', '"\\', '"é😀"', '"\u0001"', "\u00a0", "\ufeff", '"\ud800"', '"\u2028"'],
  );

  test("is what JSON.parse returns, whatever the line is", () => {
    const lines = fc.oneof(
      fc.array(signs, { maxLength: 12 }).map((all) => all.join("")),
      fc.array(signs, { maxLength: 8 }).map((all) => `{"a":${all.join("")}}`),
      fc.json(),
      fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)),
      fc.string(),
    );
    fc.assert(
      fc.property(lines, (line) => {
        expect(parseObject(line)).toEqual(parsed(line));
      }),
      { numRuns: 3000 },
    );
  });
});
