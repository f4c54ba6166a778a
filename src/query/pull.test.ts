// Pull patterns: what each item becomes, and what is refused.
import { describe, expect, test } from "vitest";
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { PullPattern } from "./ast.ts";
import { readEdn } from "./edn.ts";
import { parsePull } from "./pull.ts";

function pull(text: string): PullPattern {
  return parsePull(readEdn(text));
}

function refusal(text: string): HoldfastError {
  try {
    pull(text);
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

const PLAIN = { reverse: false, limit: LIMITS.page, otherwise: undefined, nested: { kind: "none" } };

describe("a pull", () => {
  test.each<[string, object]>([
    ["[:a/b]", { ...PLAIN, attribute: { name: ":a/b" }, key: ":a/b" }],
    ["[:a/_b]", { ...PLAIN, attribute: { name: ":a/b" }, reverse: true, key: ":a/_b" }],
    ["[:a/_]", { ...PLAIN, attribute: { name: ":a/_" } }],
    ["[:_a]", { ...PLAIN, attribute: { name: ":_a" } }],
    ["[(limit :a/b 10)]", { ...PLAIN, limit: 10 }],
    ["[(default :a/b 0)]", { ...PLAIN, otherwise: { type: "number", value: 0 } }],
    ['[[:a/b :limit 10 :as "x" :default "d"]]', { limit: 10, key: "x", otherwise: { value: "d" } }],
    ["[(:a/b :as :x :default nil)]", { key: ":x", otherwise: null }],
    ["[{:a/b [*]}]", { nested: { kind: "pattern", pattern: { wildcard: true, items: [] } } }],
    ["[{:a/_b ...}]", { reverse: true, nested: { kind: "again", depth: LIMITS.pullDepth } }],
    ["[{(limit :a/b 5) 3}]", { limit: 5, nested: { kind: "again", depth: 3 } }],
    ["[{[:a/b :limit 5] [:c/d]}]", { limit: 5, nested: { pattern: { items: [{ key: ":c/d" }] } } }],
  ])("QU2 %s is read", (text, item) => expect(pull(text).items).toMatchObject([item]));

  test("QU2 takes everything, and more beside it", () => {
    const pattern = pull('[* :a/b {:c/d [:e/f] :g/_h [*]} [:a/b :as "again"]]');
    expect(pattern.wildcard).toBe(true);
    expect(pattern.items.map((item) => item.key)).toEqual([":a/b", ":c/d", ":g/_h", "again"]);
  });

  test.each<[string, string]>([
    [":a/b", "a pull pattern is a vector, not :a/b"],
    ["[]", "a pull pattern is empty"],
    ["[?x]", "?x is no item of a pull pattern"],
    ['["a"]', '"a" is no item of a pull pattern'],
    ["[[]]", "[] is no item of a pull pattern"],
    ["[(limit :a/b)]", "(limit :a/b) is no item of a pull pattern"],
    ["[(first :a/b 1)]", "is no item of a pull pattern"],
    ["[(limit :a/b 0)]", "the limit of a pull must be a whole number from 1, not 0"],
    ["[(limit :a/b nil)]", "the limit of a pull must be a whole number from 1, not nil"],
    ["[[:a/b :limit 1.5]]", "must be a whole number"],
    ["[[:a/b :limit]]", "[:a/b :limit] has an odd option"],
    ["[[:a/b limit 5]]", "has an odd option"],
    ["[[:a/b :xform f]]", "a pull has no option :xform (at 1:8)"],
    ["[[:a/b :as 5]]", ":as must be a string or a keyword, not 5"],
    ["[[:a/b :as :x :as :y]]", "the option :as is given twice"],
    ["[[:a/b :default [1]]]", "the default of a pull must be a constant, not [1]"],
    ["[{}]", "a map in a pull pattern is empty"],
    ["[{:a/b :c/d}]", "a reference cannot be followed by :c/d"],
    ["[{:a/b 0}]", "a reference cannot be followed by 0"],
    ["[{:a/b []}]", "a pull pattern is empty"],
    ["[{* [:a/b]}]", "* is no item of a pull pattern"],
    ["[:a/b {:a/b [*]}]", "two items of a pull pattern have the key :a/b"],
    ["[:a/b [:c/d :as :a/b]]", "two items of a pull pattern have the key :a/b"],
  ])("QU2 %s is refused", (text, message) => {
    const error = refusal(text);
    expect([error.code, error.message]).toEqual(["InvalidQuery", expect.stringContaining(message)]);
  });

  test.each([
    ["[{:a/b 65}]", "pullDepth"],
    ["[(limit :a/b 10001)]", "pullValues"],
  ])("ST8 %s is LimitExceeded", (text, limit) => {
    expect(refusal(text)).toMatchObject({ code: "LimitExceeded", details: { limit } });
  });
});
