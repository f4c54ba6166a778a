// Which variable is bound where: order does not matter, scopes hold, and what nothing binds is refused.
import { describe, expect, test } from "vitest";
import { HoldfastError } from "../contracts/errors.ts";
import type { Clause, Not, Or, Query } from "./ast.ts";
import { readQuery } from "./query.ts";

function messageOf(text: string, inputs: unknown[] = []): string {
  try {
    readQuery(text, inputs);
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "InvalidQuery") return error.message;
    throw error;
  }
  return "accepted";
}

function kinds(clauses: readonly Clause[]): string[] {
  return clauses.map((clause) => ("name" in clause ? clause.name : clause.kind));
}

function only<K extends "not" | "or">(query: Query, kind: K): K extends "not" ? Not : Or {
  const found = query.where.find((clause) => clause.kind === kind);
  if (found === undefined) throw new Error(`no ${kind}`);
  return found as K extends "not" ? Not : Or;
}

describe("the order of clauses", () => {
  test("QU3 does not matter: each finds its variables bound before it", () => {
    const query = readQuery(`[:find ?c :where [(< ?c 10)] (not [?e :x/gone ?b]) [(+ ?a ?b) ?c] [(* ?a 2) ?b]
      [(missing? $ ?e :x/y)] [?e :x/a ?a]]`);
    expect(kinds(query.where)).toEqual(["pattern", "*", "not", "+", "<", "missing"]);
  });

  test("QU3 stays as it was written when it can", () => {
    const text = "[:find ?c :in ?c :where [(< ?c 10)] [?e :x/a ?a] [(ground 5) ?b] [(< ?a ?b)] [?e :x/b ?b]]";
    expect(kinds(readQuery(text, [1]).where)).toEqual(["<", "pattern", "ground", "<", "pattern"]);
  });

  test("QU3 cannot help functions that wait for each other", () => {
    const text = "[:find ?a :where [(+ ?a 1) ?b] [(- ?b 1) ?a]]";
    expect(messageOf(text)).toBe("?a in (+ …) would be bound only by clauses that wait for each other (at 1:18)");
    expect(messageOf("[:find ?a :where [(+ ?a 1) ?a]]")).toContain("wait for each other");
  });
});

describe("a variable", () => {
  test.each<[string, string, string]>([
    ["a predicate", "[(< ?e ?n)]", "?n in (< …) is not bound"],
    ["a predicate, twice", "[(< ?m ?n)]", "?m and ?n in (< …) are not bound"],
    ["a function", "[(+ ?n 1) ?m]", "?n in (+ …) is not bound"],
    ["get-else", "[(get-else $ ?n :x/y 0) ?m]", "?n in get-else is not bound"],
    ["missing?", "[(missing? $ ?n :x/y)]", "?n in missing? is not bound"],
    ["not-join", "(not-join [?n] [?n :x/y 1])", "?n in not is not bound"],
    ["not", "(not [?n :x/y 1])", "not shares no variable with the other clauses: it names only ?n"],
    [
      "not without variables",
      '(not [[:x/id "a"] :x/y 1])',
      "not shares no variable with the other clauses: it names no variable",
    ],
    ["a predicate in a not", "(not [?e :x/y 1] [(< ?n 1)])", "?n in (< …) is not bound"],
    ["a predicate in not-join", "(not-join [?e] [?e :x/y 1] [(< ?v 1)])", "?v in (< …) is not bound"],
    ["a predicate in an or", "(or [?e :x/y 1] (and [?e :x/y 2] [(< ?n 1)]))", "?n in (< …) is not bound"],
    ["an or-join that requires it", "(or-join [[?n]] [?n :x/y 1])", "?n in or is not bound"],
    ["an or-join that tests it", "(or-join [?e ?n] (and [?e :x/y 1] [(< ?n 1)]))", "?n in (< …) is not bound"],
    ["what only a not names", "(not [?e :x/y ?n]) [(< ?n 1)]", "?n in (< …) is not bound"],
    ["what only one branch binds", "(or-join [?e] [?e :x/y ?n]) [(< ?n 1)]", "?n in (< …) is not bound"],
  ])("QU3 that nothing binds is refused in %s", (_, clause, message) => {
    expect(messageOf(`[:find ?e :where [?e :x/a ?v] ${clause}]`)).toContain(message);
  });

  test.each<[string, string]>([
    ["an input", "[:find ?n :in ?n :where [(< ?n 5)]]"],
    ["a function", "[:find ?n :in ?m :where [(+ ?m 1) ?n]]"],
    ["get-else", "[:find ?n :in ?m :where [(get-else $ ?m :x/y 0) ?n]]"],
    ["ground", "[:find ?n :in ?m :where [(< ?n ?m)] [(ground [1 2]) [?n ...]]]"],
    ["a rule", "[:find ?n :in ?m :where [(< ?n ?m)] (r ?n) :rules [[(r ?x) [?x :x/y 1]]]]"],
    ["an or", "[:find ?n :in ?m :where [(< ?n ?m)] (or [?n :x/y ?m] [?n :x/z ?m])]"],
    ["an or-join", "[:find ?n :in ?m :where [(< ?n ?m)] (or-join [?n] [?n :x/y] [_ :x/z ?n])]"],
  ])("QU3 is bound by %s", (_, text) => expect(messageOf(text, [1])).toBe("accepted"));
});

describe("not", () => {
  test("QU3 joins on what it shares with the clauses beside it, and waits for that", () => {
    const query = readQuery("[:find ?e :where (not [?e :x/b ?v] [?v :x/c ?own]) [?e :x/a ?v]]");
    expect(only(query, "not")).toMatchObject({ join: ["?e", "?v"], needs: ["?e", "?v"], binds: [] });
    expect(kinds(query.where)).toEqual(["pattern", "not"]);
  });

  test("QU3 joins on what it only tests, and so does an or", () => {
    const query = readQuery("[:find ?e :where (not [(< ?v 5)]) (or [(< ?v 9)] [(> ?v 20)]) [?e :x/a ?v]]");
    expect(only(query, "not")).toMatchObject({ join: ["?v"], body: [{ kind: "predicate" }] });
    expect(only(query, "or")).toMatchObject({ join: ["?v"], needs: ["?v"], binds: [] });
  });

  test("QU3 keeps names to itself that only other nots use", () => {
    const query = readQuery("[:find ?e :where [?e :x/a 1] (not [?e :x/b ?v]) (not [?e :x/c ?v])]");
    expect(query.where.map((clause) => (clause.kind === "not" ? clause.join : []))).toEqual([[], ["?e"], ["?e"]]);
  });

  test("QU3 not-join hides every other name, even one that is spelt like one outside", () => {
    const query = readQuery("[:find ?e :where [?e :x/a ?v] (not-join [?e] [?e :x/b ?v])]");
    expect(only(query, "not")).toMatchObject({ join: ["?e"], body: [{ binds: ["?e", "?v"] }] });
  });

  test("QU3 nests: the inner one sees the names of the one around it", () => {
    const query = readQuery("[:find ?e :where [?e :x/a ?v] (not [?e :x/b ?w] (not [?w :x/c ?v]))]");
    const outer = only(query, "not");
    expect(outer.join).toEqual(["?e", "?v"]);
    expect(outer.body.at(-1)).toMatchObject({ kind: "not", join: ["?w", "?v"] });
  });
});

describe("or", () => {
  test("QU3 binds what every branch binds", () => {
    const query = readQuery("[:find ?e :where (or [?e :x/a ?v] (and [?e :x/b ?v] [?v :x/c 1]))]");
    expect(only(query, "or")).toMatchObject({ join: ["?e", "?v"], needs: [], binds: ["?e", "?v"] });
  });

  test("QU3 needs what some branch only tests", () => {
    const query = readQuery("[:find ?e :where (or [?e :x/a ?v] (and [?e :x/b 1] [(< ?v 5)])) [_ :x/v ?v]]");
    expect(only(query, "or")).toMatchObject({ join: ["?v", "?e"], needs: ["?v"], binds: ["?e"] });
    expect(kinds(query.where)).toEqual(["pattern", "or"]);
  });

  test("QU3 in a branch, a name that only a not uses is the not's own", () => {
    const query = readQuery("[:find ?e :where (or [?e :x/a 1] (and [?e :x/b 2] (not [?e :x/c ?v])))]");
    expect(only(query, "or").join).toEqual(["?e"]);
  });

  test.each<[string, string, string]>([
    ["a branch without a variable", "(or [?e :x/a ?v] [?e :x/b 1])", "branch 2 of or does not use ?v"],
    [
      "a not does not bind for another",
      "(or [?e :x/a ?n] (and [?e :x/b 1] (not [?e :x/c ?n])))",
      "branch 2 of or does not use ?n",
    ],
    ["two different variables", "(or [?e :x/a ?n] [?e :x/b ?m])", "branch 1 of or does not use ?m"],
    ["an or-join without", "(or-join [?e ?n] [?e :x/a ?n] [?e :x/b 1])", "branch 2 of or-join does not bind ?n"],
    ["needed and nowhere bound", "(or [?e :x/a ?n] (and [?e :x/b 1] [(< ?n 5)]))", "?n in (< …) is not bound"],
  ])("QU3 is refused: %s", (_, clause, message) => {
    expect(messageOf(`[:find ?e :where [?e :x/a ?v] ${clause}]`)).toContain(message);
  });

  test("QU3 or-join puts what it requires first, and lets a branch leave that out", () => {
    const text = "[:find ?e :where [?e :x/a ?v] (or-join [[?v] ?n] [_ :x/b ?n] (and [?v :x/c ?n] [(< ?n ?v)]))]";
    expect(only(readQuery(text), "or")).toMatchObject({ join: ["?v", "?n"], needs: ["?v"], binds: ["?n"] });
  });

  test("QU2 and is flat wherever it stands", () => {
    const flat = readQuery("[:find ?e :where [?e :x/a 1] [?e :x/b 2]]");
    const nested = readQuery("[:find ?e :where (and [?e :x/a 1] (and [?e :x/b 2]))]");
    expect(kinds(nested.where)).toEqual(kinds(flat.where));
  });
});
