// Rules: heads and bodies, what callers must bind, the graph of calls, and no recursion through a negation.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Query, Rule } from "./ast.ts";
import { readQuery } from "./query.ts";
import { stratify } from "./strata.ts";

function withRules(rules: string, clause = "(r ?e ?v)"): Query {
  return readQuery(`[:find ?e :in $ % :where [?e :x/a ?v] ${clause}]`, [`[${rules}]`]);
}

function messageOf(rules: string, clause = "[?e :x/b 1]"): string {
  try {
    withRules(rules, clause);
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "InvalidQuery") return error.message;
    throw error;
  }
  return "accepted";
}

const ANCESTOR = "[(r ?a ?b) [?a :x/up ?b]] [(r ?a ?b) [?a :x/up ?c] (r ?c ?b)]";

describe("rules", () => {
  test("QU2 of one name are branches of one rule", () => {
    const { rules, where } = withRules(ANCESTOR);
    expect(where.at(-1)).toMatchObject({ kind: "rule", name: "r", needs: [], binds: ["?e", "?v"] });
    expect(rules.rules).toMatchObject([
      { name: "r", arity: 2, required: 0, needs: [], calls: [{ name: "r", negated: false }] },
    ]);
    expect(rules.rules[0]?.branches.map((branch) => branch.params)).toEqual([
      ["?a", "?b"],
      ["?a", "?b"],
    ]);
    expect(rules.components).toEqual([{ rules: ["r"], recursive: true, linear: true }]);
  });

  test("QU2 can stand in the query itself, and are the same", () => {
    const inside = readQuery(`[:find ?e :where [?e :x/a ?v] (r ?e ?v) :rules [${ANCESTOR}]]`);
    const strip = (query: Query) => JSON.stringify(query, (key, value) => (key === "at" ? undefined : value));
    expect(strip(inside)).toBe(strip(withRules(ANCESTOR)));
  });

  test("QU3 say what their callers must bind, and what they really need of it", () => {
    const rules = "[(r [?a ?b] ?c) [?a :x/y ?c] [(< ?c ?b)]]";
    const { rules: book, where } = withRules(rules, "(r ?e ?v ?w)");
    expect(book.rules).toMatchObject([{ arity: 3, required: 2, needs: [1] }]);
    expect(where.at(-1)).toMatchObject({ needs: ["?e", "?v"], binds: ["?w"] });
    expect(messageOf(rules, "(r ?e ?nowhere ?w)")).toContain("?nowhere in the call of r is not bound");
    expect(messageOf(rules, "(r ?e _ ?w)")).toContain("the rule r requires a value where _ stands");
    expect(withRules(rules, "(r ?e 5 ?e)").where.at(-1)).toMatchObject({ needs: ["?e"], binds: [] });
    const circle = "[(r [?a] ?b) [(+ ?a 1) ?b] [(- ?b 1) ?a]]";
    expect(withRules(circle).rules.rules).toMatchObject([{ required: 1, needs: [0] }]);
    expect(withRules(rules, "(r ?e 5 _)").where.at(-1)).toMatchObject({ needs: ["?e"], binds: [] });
  });

  test.each<[string, string, string]>([
    ["no rule", "5", "5 is no rule"],
    ["a rule without a head", "[[?e :x/a 1]]", "is no rule"],
    ["a rule without a name", "[(?x ?y) [?y :x/a 1]]", "is no rule"],
    ["a rule without parameters", "[(r) [?y :x/a 1]]", "the rule r has no parameters"],
    ["a rule without clauses", "[(r ?x)]", "the rule r has no clauses"],
    ["a constant in a head", "[(r 5) [?y :x/a 1]]", "the head of r must be a variable, not 5"],
    ["a parameter twice", "[(r ?x ?x) [?x :x/a 1]]", "the head of r names ?x twice"],
    ["a required parameter twice", "[(r [?x] ?x) [?x :x/a 1]]", "the head of r names ?x twice"],
    ["nothing required", "[(r [] ?x) [?x :x/a 1]]", "the head of r requires no variable"],
    ["the name of a clause", "[(or ?x) [?x :x/a 1]]", "a rule cannot be called or"],
    ["the name of a function", "[(count ?x) [?x :x/a 1]]", "a rule cannot be called count"],
    ["the name of pull", "[(pull ?x) [?x :x/a 1]]", "a rule cannot be called pull"],
    ["the name of the database", "[($ ?x) [?x :x/a 1]]", "a rule cannot be called $"],
    [
      "two arities",
      "[(r ?x) [?x :x/a 1]] [(r ?x ?y) [?x :x/a ?y]]",
      "has 2 parameters, 0 of them required, before it had 1",
    ],
    ["two requirements", "[(r ?x) [?x :x/a 1]] [(r [?x]) [?x :x/a 1]]", "1 of them required, before it had"],
    ["a head that is not bound", "[(r ?x ?y) [?x :x/a 1]]", "?y in the head of r is not bound by its clauses"],
    ["a head that is only tested", "[(r ?x) [(< ?x 1)]]", "?x in (< …) is not bound"],
    ["a head bound in a not only", "[(r ?x ?y) [?x :x/a 1] (not [?x :x/b ?y])]", "?y in the head of r is not bound"],
    ["a variable of the query", "[(r ?x) [?x :x/a 1] [(< ?e 1)]]", "?e in (< …) is not bound"],
    ["an unknown rule", "[(r ?x) (s ?x)]", "there is no rule s"],
    ["the wrong arity", "[(r ?x) (r ?x ?x)]", "the rule r takes 1 arguments, not 2"],
  ])("QU3 that are wrong are refused, used or not: %s", (_, rules, message) => {
    expect(messageOf(rules)).toContain(message);
  });

  test("QU2 rules in an input that is none are refused", () => {
    for (const bad of ["5", "{}", 5, null, {}]) {
      expect(() => readQuery("[:find ?e :in % :where [?e :x/a 1]]", [bad])).toThrow(/rules are/);
    }
  });

  test("QU3 the variables of a rule are its own", () => {
    expect(messageOf("[(r ?e) [?e :x/b ?v]]", "(r ?v)")).toBe("accepted");
  });
});

describe("which rule calls which", () => {
  test("QU3 components come callees first, and only those the query reaches", () => {
    const rules = `[(top ?x) (even ?x) (not (leaf ?x))] [(even ?x) [?x :x/next ?y] (odd ?y)]
      [(odd ?x) [?x :x/next ?y] (even ?y)] [(odd ?x) (leaf ?x)] [(leaf ?x) [?x :x/end true]] [(unused ?x) (top ?x)]`;
    const { rules: book } = withRules(rules, "(top ?e)");
    expect(book.components).toEqual([
      { rules: ["leaf"], recursive: false, linear: true },
      { rules: ["even", "odd"], recursive: true, linear: true },
      { rules: ["top"], recursive: false, linear: true },
    ]);
    expect(book.rules.map((rule) => rule.name)).toEqual(["top", "even", "odd", "leaf", "unused"]);
    expect(withRules(rules, "[?e :x/b 1]").rules.components).toEqual([]);
  });

  test("QU3 what recurs twice on one way is not linear; once in each branch of an or is", () => {
    const twice = "[(r ?a ?b) [?a :x/up ?b]] [(r ?a ?b) (r ?a ?c) (r ?c ?b)]";
    expect(withRules(twice).rules.components).toMatchObject([{ recursive: true, linear: false }]);
    const hidden = "[(r ?a ?b) (or-join [?a ?b] [?a :x/up ?b] (and (r ?a ?c) (r ?c ?b)))]";
    expect(withRules(hidden).rules.components).toMatchObject([{ recursive: true, linear: false }]);
    const once =
      "[(r ?a ?b) (or-join [?a ?b] [?a :x/up ?b] (and [?a :x/up ?c] (r ?c ?b)) (and [?c :x/up ?b] (r ?a ?c)))]";
    expect(withRules(once).rules.components).toMatchObject([{ recursive: true, linear: true }]);
  });

  test.each<[string, string]>([
    ["itself", "[(r ?a) [?a :x/b 1] (not (r ?a))]"],
    ["another that leads back", "[(r ?a) [?a :x/b 1] (not (s ?a))] [(s ?a) (r ?a)]"],
    ["itself within an or", "[(r ?a) [?a :x/b ?c] (or [?c :x/b 1] (not-join [?c] [?c :x/d ?e] (r ?e)))]"],
    ["itself twice", "[(r ?a) [?a :x/b ?c] (not (not (r ?c)))]"],
  ])("QU3 a rule that negates %s is refused, used or not", (_, rules) => {
    expect(messageOf(rules)).toMatch(/depends on its own negation through \w \(at 1:\d+\)/);
  });

  test("QU3 a long chain and a long circle of rules do not exhaust the stack", () => {
    const count = LIMITS.queryClauses - 10;
    const chain = (last: string) =>
      Array.from({ length: count }, (_, i) => `[(r${i} ?x) (${i === count - 1 ? last : `r${i + 1}`} ?x)]`).join(" ");
    const end = "[(end ?x) [?x :x/a 1]]";
    expect(withRules(`${chain("end")} ${end}`, "(r0 ?e)").rules.components).toHaveLength(count + 1);
    expect(withRules(`${chain("r0")} ${end}`, "(r0 ?e)").rules.components).toHaveLength(1);
  });

  test("QU3 components are what reachability says", () => {
    const edges = fc.uniqueArray(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 20, selector: (edge) => edge.join() });
    fc.assert(
      fc.property(edges, (pairs) => {
        const calls = (i: number) =>
          pairs.filter(([from]) => from === i).map(([, to]) => ({ name: `r${to}`, negated: false }));
        const rules = Array.from({ length: 8 }, (_, i): Rule => {
          return { name: `r${i}`, arity: 1, required: 0, needs: [], branches: [], calls: calls(i) };
        });
        const reach = closure(pairs, 8);
        const components = stratify(rules, ["r0"]);
        const place = new Map(components.flatMap((one, i) => one.rules.map((name) => [name, i] as const)));
        for (let i = 0; i < 8; i++) {
          expect(place.has(`r${i}`)).toBe(i === 0 || reach[0]?.[i] === true);
          for (let j = 0; j < 8; j++) {
            const [a, b] = [place.get(`r${i}`), place.get(`r${j}`)];
            if (a === undefined || b === undefined || i === j) continue;
            const circle = reach[i]?.[j] === true && reach[j]?.[i] === true;
            expect(a === b).toBe(circle);
            if (reach[i]?.[j] === true) expect(a).toBeGreaterThanOrEqual(b);
          }
        }
        for (const one of components) {
          const itself = one.rules.some((name) => reach[Number(name.slice(1))]?.[Number(name.slice(1))] === true);
          expect(one.recursive).toBe(itself);
        }
      }),
    );
  });
});

/** Warshall's: what is reached in one step or more. */
function closure(pairs: readonly (readonly [number, number])[], size: number): boolean[][] {
  const reach = Array.from({ length: size }, (_, i) =>
    Array.from({ length: size }, (_, j) => pairs.some(([from, to]) => from === i && to === j)),
  );
  for (let k = 0; k < size; k++) {
    for (const row of reach) {
      if (row[k] === true) for (let j = 0; j < size; j++) row[j] = row[j] === true || reach[k]?.[j] === true;
    }
  }
  return reach;
}
