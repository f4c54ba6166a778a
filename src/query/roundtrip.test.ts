// Properties over generated queries: text and JSON give one tree, the order of clauses does not matter, and whatever is
// done to a query it is parsed or refused with a typed error.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HoldfastError } from "../contracts/errors.ts";
import type { Clause, Query } from "./ast.ts";
import { readEdn, readForms } from "./edn.ts";
import { inputForms, inputJson, queryForm, queryJson } from "./json.ts";
import { parseQuery } from "./parse.ts";
import { printQuery } from "./print.ts";
import { readQuery } from "./query.ts";
import { writeEdn } from "./write.ts";

interface Source {
  readonly head: string;
  readonly clauses: readonly string[];
  readonly tail: string;
  readonly inputs: string;
}

const VARIABLES = ["?a", "?b", "?c", "?d"];
const variable = fc.constantFrom(...VARIABLES);
const attribute = fc.constantFrom(":t/x", ":t/y", ":t/name", ":u/z-1");
const text = fc.oneof(
  fc.constantFrom("?x", ":k", "_", "$", "%", ".", "...", "*", "not", "count", "", 'a"b\\c\n', "é😀"),
  fc.string({ unit: "grapheme", maxLength: 6 }),
);
const constant = fc.oneof(
  text.map((value) => writeEdn({ kind: "string", value: value.replaceAll("\0", "") })),
  fc.integer().map(String),
  fc.double({ noNaN: true, min: -1e6, max: 1e6 }).map((value) => writeEdn({ kind: "float", value: value + 0 })),
  fc.constantFrom("true", "false", ":k", ":k/v", "\\a", '#inst "2026-01-31T12:00:00Z"'),
  fc.uuid().map((value) => `#uuid "${value}"`),
);
const lookup = fc.tuple(attribute, constant).map(([name, value]) => `[${name} ${value}]`);
const argument = fc.oneof(variable, constant);
const args = (min: number, max: number) =>
  fc.array(argument, { minLength: min, maxLength: max }).map((all) => all.join(" "));
const entity = fc.oneof({ weight: 4, arbitrary: variable }, fc.constantFrom("_", "5", '"an id"'), lookup);
const value = fc.oneof({ weight: 3, arbitrary: variable }, fc.constant("_"), constant, lookup);
const pattern = fc.oneof(
  fc.tuple(entity, attribute, value).map(([e, a, v]) => `[${e} ${a} ${v}]`),
  fc.tuple(entity, attribute).map(([e, a]) => `[$ ${e} ${a}]`),
);
const rows = fc.array(constant, { maxLength: 3 });
const target = fc.constantFrom("?a", "?f", "?g");
const call = fc.oneof(
  fc.tuple(fc.constantFrom("<", "<=", ">", ">=", "=", "not=", "!="), args(2, 3)).map(([f, list]) => `[(${f} ${list})]`),
  fc
    .tuple(fc.constantFrom("starts-with?", "ends-with?", "includes?"), args(2, 2))
    .map(([f, list]) => `[(${f} ${list})]`),
  fc
    .tuple(fc.constantFrom("+", "-", "*", "/", "str"), args(2, 3), target)
    .map(([f, list, to]) => `[(${f} ${list}) ${to}]`),
  fc
    .tuple(fc.constantFrom("count", "lower-case", "upper-case", "-"), args(1, 1), target)
    .map((p) => `[(${p[0]} ${p[1]}) ${p[2]}]`),
  fc.tuple(variable, attribute, constant, target).map(([e, a, c, to]) => `[(get-else $ ${e} ${a} ${c}) ${to}]`),
  fc.tuple(variable, attribute).map(([e, a]) => `[(missing? $ ${e} ${a})]`),
  fc.tuple(constant, target).map(([c, to]) => `[(ground ${c}) ${to}]`),
  fc.tuple(rows, target).map(([list, to]) => `[(ground [${list.join(" ")}]) [${to} ...]]`),
  fc.tuple(constant, constant, target).map(([c, d, to]) => `[(ground [${c} ${d}]) [${to} _]]`),
  fc.array(fc.tuple(constant, constant), { maxLength: 3 }).map((list) => {
    return `[(ground [${list.map(([c, d]) => `[${c} ${d}]`).join("")}]) [[?a ?f]]]`;
  }),
);
const ruleCall = fc.oneof(
  fc.tuple(value, value).map(([a, b]) => `(up ${a} ${b})`),
  fc.tuple(variable, value).map(([a, b]) => `(near ${a} ${b})`),
  value.map((a) => `(odd ${a})`),
);
/** Branches over the same two variables, whatever else they hold. */
const branch = (a: string, b: string) =>
  fc.tuple(attribute, fc.subarray([`[${b} :t/x]`, `[(< ${a} ${b})]`, `(not [${a} :t/y ?own])`])).map(([name, more]) => {
    return more.length === 0 ? `[${a} ${name} ${b}]` : `(and ${more.join(" ")} [${a} ${name} ${b}])`;
  });
const pair = fc.tuple(variable, variable).filter(([a, b]) => a !== b);

const clause: fc.Arbitrary<string> = fc.letrec<{ clause: string }>((tie) => ({
  clause: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    pattern,
    call,
    ruleCall,
    fc.tuple(pattern, fc.array(tie("clause"), { maxLength: 2 })).map(([p, more]) => `(not ${p} ${more.join(" ")})`),
    fc.tuple(variable, attribute, fc.array(pattern, { maxLength: 2 })).map(([v, a, more]) => {
      return `(not-join [${v}] [${v} ${a} ?own] ${more.join(" ")} [(< ?own ${v})])`;
    }),
    pair.chain(([a, b]) =>
      fc.array(branch(a, b), { minLength: 1, maxLength: 3 }).map((all) => `(or ${all.join(" ")})`),
    ),
    pair.chain(([a, b]) => {
      const branches = fc.array(branch(a, b), { minLength: 1, maxLength: 3 });
      const heads = fc.constantFrom(`[${a} ${b}]`, `[[${a}] ${b}]`, `[[${a} ${b}]]`, `[${a}]`);
      return fc.tuple(heads, branches).map(([head, all]) => `(or-join ${head} ${all.join(" ")})`);
    }),
  ),
})).clause;

const pullOptions = fc.constantFrom(
  "",
  ":limit 5",
  ':as "k"',
  ":as :kw",
  ":default 0",
  ":default nil",
  ':limit 7 :as "*" :default "?"',
);
const pull: fc.Arbitrary<string> = fc.letrec<{ pull: string }>((tie) => {
  const nested = fc.oneof({ maxDepth: 2, depthSize: "small" }, fc.constantFrom("...", "3", "[*]"), tie("pull"));
  const item = (name: string) =>
    fc.oneof(
      fc.constant(name),
      pullOptions.map((options) => `[${name} ${options}]`),
      fc.constantFrom(`(limit ${name} 3)`, `(default ${name} "*")`),
      nested.map((pattern) => `{${name} ${pattern}}`),
      fc.tuple(pullOptions, nested).map(([options, pattern]) => `{[${name} ${options}] ${pattern}}`),
    );
  const items = fc.tuple(item(":t/x"), item(":t/_y"), item(":u/z-1"));
  return { pull: fc.tuple(fc.constantFrom("", "*"), items).map(([star, all]) => `[${star} ${all.join(" ")}]`) };
}).pull;

const element = fc.oneof(
  { weight: 3, arbitrary: variable },
  fc
    .tuple(fc.constantFrom("count", "count-distinct", "sum", "min", "max", "avg"), variable)
    .map(([f, v]) => `(${f} ${v})`),
  fc.tuple(variable, pull).map(([v, p]) => `(pull ${v} ${p})`),
);
const find = fc.oneof(
  fc.array(element, { minLength: 1, maxLength: 3 }).map((all) => all.join(" ")),
  fc.array(element, { minLength: 1, maxLength: 3 }).map((all) => `[${all.join(" ")}]`),
  element.map((one) => `[${one} ...]`),
  element.map((one) => `${one} .`),
);

const RULES = `[[(up ?x ?y) [?x :t/up ?y]] [(up ?x ?y) [?x :t/up ?z] (up ?z ?y)]
  [(near [?x] ?y) [?y :t/x ?n] [(< ?n ?x)]] [(odd ?x) [?x :t/next ?y] (even ?y)] [(even ?x) [?x :t/next ?y] (odd ?y)]
  [(even ?x) [?x :t/end true] (not (up ?x _))]]`;

const source: fc.Arbitrary<Source> = fc
  .record({
    find,
    order: fc.constantFrom("", ":order-by [[?a :desc]]", ":order-by [?b]"),
    clauses: fc.array(clause, { maxLength: 5 }),
  })
  .chain(({ find: what, order, clauses }) => {
    const tail = fc.constantFrom("", ":limit 10", ":limit 0 :offset 3");
    const inputs = fc.tuple(constant, rows, fc.tuple(constant, constant));
    const withs = fc.constantFrom("", ":with ?c");
    return fc.tuple(tail, inputs, withs).map(([end, [one, many, both], kept]): Source => {
      const canOrder = what.split(/[\s[\]]+/).includes(order.includes("?a") ? "?a" : "?b");
      const hasC = what.split(/[\s[\]]+/).includes("?c");
      return {
        head: `[:find ${what} ${hasC ? "" : kept} :in $ ?i [?j ...] [[?k _]] :where`,
        clauses: ["[?a :t/ab ?b]", "[?c :t/cd ?d]", ...clauses],
        tail: `${canOrder ? order : ""} ${end} :rules ${RULES}]`,
        inputs: `${one} [${many.join(" ")}] [[${both.join(" ")}]]`,
      };
    });
  });

function textOf({ head, clauses, tail }: Source): string {
  return `${head} ${clauses.join("\n  ")} ${tail}`;
}

/** Undefined when the generator made something that is refused, which is not often. */
function parsed(one: Source): Query | undefined {
  try {
    return parseQuery(readEdn(textOf(one)), readForms(one.inputs));
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "InvalidQuery") return undefined;
    throw error;
  }
}

/** Without places. */
function bare(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, part) => (key === "at" ? undefined : part)));
}

/** What the tree promises about variables, checked by itself. */
function checkBody(clauses: readonly Clause[], bound: Iterable<string>): ReadonlySet<string> {
  const have = new Set(bound);
  for (const one of clauses) {
    expect([...have]).toEqual(expect.arrayContaining([...one.needs]));
    if (one.kind === "not") {
      expect([one.needs, one.binds]).toEqual([one.join, []]);
      checkBody(one.body, one.join);
    } else if (one.kind === "or") {
      expect(one.join).toEqual([...one.needs, ...one.binds]);
      for (const body of one.branches) {
        expect([...checkBody(body, one.needs)]).toEqual(expect.arrayContaining([...one.join]));
      }
    }
    for (const name of one.binds) have.add(name);
  }
  return have;
}

describe("generated queries", () => {
  test("QU2 are mostly accepted, or the properties below would prove nothing", () => {
    const samples = fc.sample(source, 500);
    const accepted = samples.filter((one) => parsed(one) !== undefined);
    expect(accepted.length).toBeGreaterThan(350);
    const kinds = new Set(accepted.flatMap((one) => parsed(one)?.where ?? []).map((one) => one.kind));
    expect([...kinds].sort()).toEqual(
      ["function", "get-else", "ground", "missing", "not", "or", "pattern", "predicate", "rule"].sort(),
    );
  });

  test("QU2 printed as EDN and as JSON parse to the same tree", () => {
    fc.assert(
      fc.property(source, (one) => {
        const query = parsed(one);
        fc.pre(query !== undefined);
        const { form, inputs } = printQuery(query);
        const again = parseQuery(readEdn(writeEdn(form)), readForms(inputs.map(writeEdn).join(" ")));
        expect(bare(again)).toEqual(bare(query));
        const json: unknown = JSON.parse(JSON.stringify([queryJson(form), inputs.map(inputJson)]));
        const [body, given] = json as [unknown, unknown[]];
        expect(bare(readQuery(body, given))).toEqual(bare(query));
        // The forms themselves are the same, so that no parser can treat the two differently.
        expect(bare(queryForm(body))).toEqual(bare(form));
        expect(bare(inputForms(given))).toEqual(bare(inputs));
      }),
      { numRuns: 600 },
    );
  });

  test("QU3 every clause finds its variables bound, in whatever order they were written", () => {
    const shuffled = source.chain((one) =>
      fc
        .shuffledSubarray([...one.clauses], { minLength: one.clauses.length })
        .map((clauses) => [one, { ...one, clauses }] as const),
    );
    fc.assert(
      fc.property(shuffled, ([one, other]) => {
        const query = parsed(one);
        const again = parsed(other);
        expect(again === undefined).toBe(query === undefined);
        fc.pre(query !== undefined && again !== undefined);
        const sorted = (clauses: readonly Clause[]) => clauses.map((each) => JSON.stringify(bare(each))).sort();
        expect(sorted(again.where)).toEqual(sorted(query.where));
        checkBody(again.where, ["?i", "?j", "?k"]);
        for (const rule of query.rules.rules) {
          for (const { params, body } of rule.branches) {
            const needs = rule.needs.map((place) => params[place] ?? "");
            expect([...checkBody(body, needs)]).toEqual(expect.arrayContaining([...params]));
          }
        }
      }),
      { numRuns: 600 },
    );
  });

  test("ST7 that were damaged are parsed or refused with a typed error", () => {
    const junk = fc.constantFrom(
      "",
      "(",
      ")",
      "[",
      "]",
      "{",
      "}",
      "#{",
      '"',
      "?a",
      ":t/x",
      "_",
      "$",
      "%",
      "...",
      ".",
      "nil",
      "not",
      "or",
      "and",
      "5",
      "\\",
      "\0",
    );
    const damaged = fc.tuple(source, fc.nat(), fc.nat(8), junk).map(([one, at, length, put]) => {
      const whole = textOf(one);
      const from = at % whole.length;
      return [whole.slice(0, from) + put + whole.slice(from + length), one.inputs] as const;
    });
    fc.assert(
      fc.property(damaged, ([whole, inputs]) => {
        try {
          parseQuery(readEdn(whole), readForms(inputs));
        } catch (error) {
          if (!(error instanceof HoldfastError)) throw error;
          expect(["InvalidQuery", "LimitExceeded"]).toContain(error.code);
          expect(error.message).not.toBe("");
        }
      }),
      { numRuns: 2000 },
    );
  });
});
