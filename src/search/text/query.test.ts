// What a search query means, and that any text is one.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseQuery, type SearchQuery, toIndexQuery } from "./query.ts";
import { TEXT_LANGUAGES } from "./stem.ts";

const FIELDS = ["role", "tool", "session", "agent"];
const EMPTY: SearchQuery = { terms: [], phrases: [], prefixes: [], excluded: [], filters: [] };

const parse = (text: string) => parseQuery(text, FIELDS);
const index = (text: string) => toIndexQuery(parse(text), "english");

describe("a query", () => {
  test.each<[name: string, text: string, expected: Partial<SearchQuery>]>([
    ["bare words", " kill   the worker ", { terms: ["kill", "the", "worker"] }],
    ["phrases", 'a "b c" d', { terms: ["a", "d"], phrases: ["b c"] }],
    ["phrases in typographic quotation marks", "“b c” «d»", { phrases: ["b c", "d"] }],
    ["a phrase that touches a word", 'a"b c"d', { terms: ["a", "d"], phrases: ["b c"] }],
    ["an unbalanced quotation mark as text", 'a 5" disk', { terms: ["a", "5", "disk"] }],
    ["an empty phrase as nothing", '"" " "', {}],
    ["prefixes", "organ* foo_ba*", { prefixes: ["organ", "foo_ba"] }],
    ["other asterisks as text", "* ** *.ts src/* a*b*", { terms: ["*", "**", "*.ts", "src/*", "a*b*"] }],
    [
      "exclusions",
      '-draft -"old plan" -temp*',
      {
        excluded: [
          { kind: "word", text: "draft" },
          { kind: "phrase", text: "old plan" },
          { kind: "prefix", text: "temp" },
        ],
      },
    ],
    ["other minus signs as text", "a - b --force x-y", { terms: ["a", "-", "b", "--force", "x-y"] }],
    [
      "filters",
      'role:user tool:"My Tool" -agent:bob session:chat-1:2',
      {
        filters: [
          { field: "role", value: "user", isExcluded: false },
          { field: "tool", value: "My Tool", isExcluded: false },
          { field: "agent", value: "bob", isExcluded: true },
          { field: "session", value: "chat-1:2", isExcluded: false },
        ],
      },
    ],
    ["a filter without a value as text", "role: tool:", { terms: ["role:", "tool:"] }],
    [
      "words with a colon as text",
      "https://example.com error:timeout Role:user",
      { terms: ["https://example.com", "error:timeout", "Role:user"] },
    ],
  ])("has %s", (_, text, expected) => {
    expect(parse(text)).toEqual({ ...EMPTY, ...expected });
  });

  test("has no filter by a field that the caller did not allow, whatever its name", () => {
    const names = ["__proto__", "constructor", "toString", "id; DROP TABLE", "1=1 OR role", "owner"];
    for (const name of names)
      expect(parse(`${name}:x`).filters.map(({ field }) => field)).toEqual(name.endsWith("role") ? ["role"] : []);
    expect(parseQuery("role:user", [])).toEqual({ ...EMPTY, terms: ["role:user"] });
  });

  test("can be any text: nothing throws, fields come from the list, and no value is made up", () => {
    const piece = fc.constantFrom(
      '"',
      "“",
      "-",
      "*",
      ":",
      " ",
      "role",
      "tool",
      "x",
      "中",
      "\ud800",
      "\0",
      "'",
      "\n",
      "%",
      "\\",
    );
    const anyText = fc.oneof(fc.string({ unit: piece, maxLength: 40 }), fc.string({ unit: "binary", maxLength: 40 }));
    fc.assert(
      fc.property(anyText, fc.constantFrom(...TEXT_LANGUAGES), (text, language) => {
        const query = parse(text);
        for (const { field, value } of query.filters) {
          expect(FIELDS).toContain(field);
          expect(value).not.toBe("");
          expect(text).toContain(value);
        }
        const texts = [...query.terms, ...query.phrases, ...query.prefixes, ...query.excluded.map((one) => one.text)];
        for (const one of texts) expect(text).toContain(one);
        const found = toIndexQuery(query, language);
        const sequences = [...found.compounds, ...found.phrases, ...found.excluded.phrases];
        const prefixes = [...found.prefixes, ...found.excluded.prefixes].flatMap(({ prefix, stem }) => [prefix, stem]);
        for (const term of [...found.terms, ...sequences.flat(), ...prefixes])
          expect(term).toMatch(/^[\p{L}\p{N}\p{M}']+$/u);
        for (const sequence of sequences) expect(sequence).not.toEqual([]);
      }),
      { numRuns: 600 },
    );
  });

  test("of millions of characters is read in linear time", () => {
    for (const text of ["a", '"', "“", 'role:"', "-", "a:", "*", "a* ", "-a "]) {
      expect(parse(text.repeat(1_000_000))).toBeDefined();
    }
  });
});

describe("the terms of a query", () => {
  test("are stemmed, each once, and without stop words", () => {
    expect(index("How do I resume the resumed runs? I don’t know").terms).toEqual(["resum", "run", "know"]);
  });

  test("are its stop words when it has no others", () => {
    expect(index("the who").terms).toEqual(["the", "who"]);
    expect(index('the "who"').terms).toEqual([]);
  });

  test("are the parts of a word that the index has in parts, which is better if they stand together", () => {
    expect(index("src/open.ts fooBar")).toMatchObject({
      terms: ["src", "open", "ts", "foobar", "foo", "bar"],
      compounds: [["src", "open", "ts"]],
    });
  });

  test("keep the stop words of a phrase, and leave out the parts of camel case", () => {
    expect(index('"state of the art" "run fooBar"').phrases).toEqual([
      ["state", "of", "the", "art"],
      ["run", "foobar"],
    ]);
  });

  test("give a prefix as it was written, without accents, and its stem", () => {
    expect(index("Résumé* connections* foo_ba*")).toMatchObject({
      terms: ["foo"],
      prefixes: [
        { prefix: "resume", stem: "resum" },
        { prefix: "connections", stem: "connect" },
        { prefix: "ba", stem: "ba" },
      ],
    });
  });

  test("give a lone letter of a script without spaces as a prefix of its pairs", () => {
    expect(index("中 中文")).toMatchObject({ terms: ["中文"], prefixes: [{ prefix: "中", stem: "中" }] });
  });

  test("exclude words, phrases and prefixes", () => {
    expect(index('-drafts -"old plans" -temp* -foo_ba*').excluded).toEqual({
      phrases: [["draft"], ["old", "plan"], ["foo", "ba"]],
      prefixes: [{ prefix: "temp", stem: "temp" }],
    });
  });
});

test("a prefix with a contraction is the whole word, and excludes only what begins with it", () => {
  expect(toIndexQuery(parseQuery("don't*", []), "english").prefixes).toEqual([{ prefix: "don't", stem: "don't" }]);
  expect(toIndexQuery(parseQuery("-john's*", []), "english").excluded.prefixes).toEqual([
    { prefix: "john", stem: "john" },
  ]);
});

test("a word of very many marks is read in a moment", () => {
  const word = `a${"\u0301\u0316".repeat(200_000)}`;
  expect(toIndexQuery(parseQuery(word, []), "english").terms).toHaveLength(1);
});
