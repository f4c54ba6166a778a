// The reader and writer of EDN: what is read, what is written reads back, and what is refused is refused with a place.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refusal, withoutPlaces } from "../../test/query/refusal.ts";
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import { isInstant, parseInstant, printInstant } from "../core/instant.ts";
import { readEdn, readForms } from "./edn.ts";
import { type Form, KEYWORD, SYMBOL } from "./form.ts";
import { writeEdn } from "./write.ts";

const name = fc.stringMatching(/^[-A-Za-z0-9.*+!_?$%&=<>]{1,8}(\/[-A-Za-z0-9.*+!_?$%&=<>]{1,8})?$/);
const text = fc.string({ unit: "binary", maxLength: 12 });
const atoms: fc.Arbitrary<Form> = fc.oneof(
  fc.constant<Form>({ kind: "nil" }),
  fc.boolean().map((value): Form => ({ kind: "boolean", value })),
  fc.maxSafeInteger().map((value): Form => ({ kind: "int", value: value + 0 })),
  fc
    .double({ noNaN: true, min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER })
    .map((value): Form => ({ kind: "float", value: value + 0 })),
  text.map((value): Form => ({ kind: "string", value })),
  fc.string({ unit: "binary", minLength: 1, maxLength: 1 }).map((value): Form => ({ kind: "char", value })),
  fc.uuid().map((value): Form => ({ kind: "uuid", value })),
  fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 }).map((value): Form => ({ kind: "inst", value })),
  name.filter((one) => KEYWORD.test(`:${one}`)).map((one): Form => ({ kind: "keyword", name: `:${one}` })),
  fc
    .oneof(name, fc.constantFrom("/", ".", "...", "_", "$", "%", "?x", "<=", "-", "a/b"))
    .filter((one) => SYMBOL.test(one) && !["nil", "true", "false"].includes(one))
    .map((one): Form => ({ kind: "symbol", name: one })),
);

const forms: fc.Arbitrary<Form> = fc.letrec<{ form: Form }>((tie) => {
  const items = fc.array(tie("form"), { maxLength: 5 });
  const unique = fc.uniqueArray(tie("form"), { maxLength: 5, selector: writeEdn });
  return {
    form: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      atoms,
      items.map((list): Form => ({ kind: "list", items: list })),
      items.map((list): Form => ({ kind: "vector", items: list })),
      unique.map((list): Form => ({ kind: "set", items: list })),
      unique.map((keys): Form => ({ kind: "map", entries: keys.map((key) => [key, { kind: "nil" }] as const) })),
    ),
  };
}).form;

describe("EDN", () => {
  test("QU2 what is written reads back as the same form", () => {
    fc.assert(
      fc.property(forms, (form) => {
        expect(withoutPlaces(readEdn(writeEdn(form)))).toEqual(withoutPlaces(form));
      }),
      { numRuns: 1000 },
    );
  });

  test.each<[string, unknown]>([
    ["nil", { kind: "nil" }],
    ["-0", { kind: "int", value: 0 }],
    ["+7", { kind: "int", value: 7 }],
    ["9007199254740991", { kind: "int", value: Number.MAX_SAFE_INTEGER }],
    ["-2.5e-3", { kind: "float", value: -0.0025 }],
    ['"a\\t\\"\\u00e9\\\\"', { kind: "string", value: 'a\t"é\\' }],
    ['"two\nlines, ; no comment"', { kind: "string", value: "two\nlines, ; no comment" }],
    ["\\a", { kind: "char", value: "a" }],
    ["\\newline", { kind: "char", value: "\n" }],
    ["\\u0041", { kind: "char", value: "A" }],
    ["\\(", { kind: "char", value: "(" }],
    ["\\😀", { kind: "char", value: "😀" }],
    [":session/id", { kind: "keyword", name: ":session/id" }],
    ["?x", { kind: "symbol", name: "?x" }],
    ["...", { kind: "symbol", name: "..." }],
    ["/", { kind: "symbol", name: "/" }],
    ["clojure.string/ends-with?", { kind: "symbol", name: "clojure.string/ends-with?" }],
    ['#inst "1970-01-02"', { kind: "inst", value: 86_400_000 }],
    ['#inst "2026-01-31T12:00:00.5+02:00"', { kind: "inst", value: Date.UTC(2026, 0, 31, 10, 0, 0, 500) }],
    ['#uuid "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"', { kind: "uuid", value: "f81d4fae-7dec-11d0-a765-00a0c91e6bf6" }],
    ["[1,, #_ 2 #_ #_ 3 [4] 5 ; six\n]", { kind: "vector", items: [1, 5].map((value) => ({ kind: "int", value })) }],
    ["()", { kind: "list", items: [] }],
    ["#{}", { kind: "set", items: [] }],
    [
      "{:a 1}",
      {
        kind: "map",
        entries: [
          [
            { kind: "keyword", name: ":a" },
            { kind: "int", value: 1 },
          ],
        ],
      },
    ],
    [
      '[a"b"]',
      {
        kind: "vector",
        items: [
          { kind: "symbol", name: "a" },
          { kind: "string", value: "b" },
        ],
      },
    ],
  ])("QU2 %s is read", (source, wanted) => expect(withoutPlaces(readEdn(source))).toEqual(wanted));

  test("QU2 minus nothing is nothing: it would print as another number than it equals", () => {
    for (const text of ["-0", "-0.0", "-0e5"]) {
      expect(Object.is((readEdn(text) as { value?: number }).value, 0)).toBe(true);
    }
  });

  test("QU2 every form knows its line and column", () => {
    const form = readEdn('[:a\n  "x\ny" (b)]');
    expect(form.at).toEqual({ line: 1, column: 1 });
    const items = form.kind === "vector" ? form.items : [];
    expect(items.map((item) => item.at)).toEqual([
      { line: 1, column: 2 },
      { line: 2, column: 3 },
      { line: 3, column: 4 },
    ]);
  });

  test.each<[string, string, string]>([
    ["nothing", " ; only a comment", "has no form"],
    ["a second form", "[] []", "second one (at 1:4)"],
    ["a ratio", "[1/2]", "1/2 is not a number (at 1:2)"],
    ["a big integer", "1N", "1N is not a number"],
    ["a big decimal", "1.5M", "1.5M is not a number"],
    ["an octal", "017", "017 is not a number"],
    ["one beyond what is exact", "9007199254740992", "too large a number"],
    ["a float beyond what is exact", "1e300", "too large a number"],
    ["an infinity in disguise", "-1e999", "too large a number"],
    ["a hundred digits", "9".repeat(100), "too large a number"],
    ["a symbolic value", "##Inf", "the tag ##Inf is not known"],
    ["an unknown tag", "[#db/id 1]", "the tag #db/id is not known (at 1:2)"],
    ["a namespaced map", "#:a{:b 1}", "the tag #:a is not known"],
    ["a tag before nothing", "[#inst]", "#inst has no form after it"],
    ["a time that is none", '#inst "2026-02-30"', "is not a time"],
    ["a time of microseconds", '#inst "2026-01-01T00:00:00.123456Z"', "is not a time"],
    ["a number as a time", "#inst 5", "takes a string, not 5"],
    ["a UUID that is none", '#uuid "x"', "is not a UUID"],
    ["a discard before nothing", "[#_]", "#_ has no form after it (at 1:2)"],
    ["an unterminated string", '\n ["a', "a string is never closed (at 2:3)"],
    ["an unterminated escape", '"a\\', "is no escape"],
    ["an unknown escape", '"\\x41"', "is no escape (at 1:2)"],
    ["half an escape", '"\\u00"', "is no escape"],
    ["an escaped lone surrogate", '"\\ud800"', "lone surrogate"],
    ["a lone surrogate", "[\n\ud800]", "lone surrogate is not Unicode (at 2:1)"],
    ["a character of a lone surrogate", "\\ud800", "is no character"],
    ["a character that is a word", "\\word", "\\word is no character"],
    ["a character that is not there", "\\", "is no character"],
    ["an unclosed vector", "[1 (2)", '"[" is never closed (at 1:1)'],
    ["a stray closer", ")", '")" closes nothing (at 1:1)'],
    ["the wrong closer", "(1\n]", '"]" does not close the "(" at 1:1 (at 2:1)'],
    ["a set closed wrongly", "#{1)", 'does not close the "#{"'],
    ["a key without a value", "{:a}", "a key without a value"],
    ["a key twice", "{:a 1 :a 2}", ":a is twice in a map (at 1:7)"],
    ["an item twice in a set", "#{[1] [1]}", "[1] is twice in a set"],
    ["a quote", "'a", "'a is no EDN"],
    ["metadata", "^:a b", "^:a is no EDN"],
    ["an auto-resolved keyword", "::a", "::a is no EDN"],
    ["an empty keyword", ":", ": is no EDN"],
    ["a name with two slashes", "a/b/c", "is no EDN"],
    ["a name that is too long", `[?${"x".repeat(255)}]`, "is no EDN"],
    ["NUL", "[\0]", "U+0000"],
    ["a no-break space", "[\u00a01]", "U+00A0"],
    ["a byte order mark", "\ufeff[]", "U+FEFF"],
    ["bytes that are no UTF-8", Buffer.from([0x5b, 0xff, 0xfe, 0x5d]).toString(), "U+FFFD"],
  ])("QU2 %s is refused with a reason and a place", (_, source, message) => {
    const error = refusal(() => readEdn(source));
    expect([error.code, error.message]).toEqual(["InvalidQuery", expect.stringContaining(message)]);
  });

  test.each<[string, string, string]>([
    ["100,000 brackets", "[".repeat(100_000), "queryDepth"],
    ["100,000 mixed brackets", "[({#{".repeat(25_000), "queryDepth"],
    ["100,000 discards", "#_".repeat(100_000), "queryDepth"],
    ["100,000 tags", "#inst ".repeat(100_000), "queryDepth"],
    ["one level too deep", `${"[".repeat(LIMITS.queryDepth + 1)}${"]".repeat(LIMITS.queryDepth + 1)}`, "queryDepth"],
    ["too many forms", `[${"1 ".repeat(LIMITS.queryForms)}]`, "queryForms"],
    ["too many discarded forms", "#_1 ".repeat(LIMITS.queryForms + 1), "queryForms"],
    ["10 MB of text", " ".repeat(10_000_000), "queryBytes"],
    ["too many bytes in fewer characters", `"${"€".repeat(LIMITS.queryBytes / 2)}"`, "queryBytes"],
  ])("ST8 %s is LimitExceeded", (_, source, limit) => {
    const error = refusal(() => readForms(source));
    expect([error.code, error.details.limit]).toEqual(["LimitExceeded", limit]);
  });

  test("ST8 what is just within the limits is read in linear time", () => {
    const deep = `${"[".repeat(LIMITS.queryDepth)}${"]".repeat(LIMITS.queryDepth)}`;
    expect(readEdn(deep).kind).toBe("vector");
    const wide = `[${"a ".repeat(LIMITS.queryForms - 1)}]`;
    expect(readEdn(wide).kind).toBe("vector");
    expect(readEdn(`[${"a\n".repeat(LIMITS.queryForms - 1)}]`).kind).toBe("vector");
    expect(readEdn(`"${"\\n".repeat(LIMITS.queryBytes / 2 - 1)}"`).kind).toBe("string");
  });

  test("ST7 whatever the text is, it is read or refused with a typed error", () => {
    const pieces = fc.constantFrom(
      ..."[](){}\"\\#_;:?/ \n'^~@`+-.e0 9,N",
      "#inst",
      "#{",
      "\\u",
      "nil",
      "\0",
      "\ud800",
      "é",
    );
    const garbage = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(pieces, { maxLength: 30 }).map((all) => all.join("")),
    );
    fc.assert(
      fc.property(garbage, (source) => {
        try {
          readForms(source);
        } catch (error) {
          if (!(error instanceof HoldfastError) || error.code !== "InvalidQuery") throw error;
        }
      }),
      { numRuns: 5000 },
    );
    for (const value of [undefined, null, 5, {}, Buffer.from("[]")]) {
      expect(refusal(() => readForms(value as string)).code).toBe("InvalidArgument");
    }
  });
});

describe("instants", () => {
  test("QU2 an instant prints as its ISO text and reads back", () => {
    fc.assert(
      fc.property(fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 }), (ms) => {
        expect(printInstant(ms)).toBe(new Date(ms).toISOString());
        expect(parseInstant(printInstant(ms))).toBe(ms);
      }),
    );
    expect([isInstant(-62_167_219_200_001), isInstant(253_402_300_800_000), isInstant(0.5)]).toEqual([
      false,
      false,
      false,
    ]);
  });

  test.each([
    "2026-13-01",
    "2026-00-10",
    "2025-02-29",
    "2026-01-01T24:00",
    "2026-01-01T00:60",
    "0000-01-01T00:00+01:00",
  ])("QU2 %s is no instant", (source) => expect(parseInstant(source)).toBeNull());
});
