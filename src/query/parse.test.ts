// From text to tree: what each part of a query becomes, and the message of each mistake.
import { describe, expect, test } from "vitest";
import { refusal, withoutPlaces } from "../../test/query/refusal.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Query } from "./ast.ts";
import { readForms } from "./edn.ts";
import { parseQuery } from "./parse.ts";
import { readQuery } from "./query.ts";

/** Reads EDN, with inputs as EDN too. */
function parse(text: string, inputs = ""): Query {
  const [form] = readForms(text);
  if (form === undefined) throw new Error("no query");
  return parseQuery(form, readForms(inputs));
}

const BODY = ":where [?e :a/x ?x] [?e :a/y ?y]";

describe("a query", () => {
  test.each<[string, string, unknown]>([
    ["rows", "[:find ?x ?y", { shape: "relation", elements: [{ name: "?x" }, { name: "?y" }] }],
    ["a list", "[:find [?x ...]", { shape: "collection", elements: [{ name: "?x" }] }],
    ["one row", "[:find [?x ?y]", { shape: "tuple", elements: [{ name: "?x" }, { name: "?y" }] }],
    ["one value", "[:find ?x .", { shape: "scalar", elements: [{ name: "?x" }] }],
    ["one row of one", "[:find [?x]", { shape: "tuple", elements: [{ name: "?x" }] }],
    [
      "an aggregate of a group",
      "[:find ?x (count-distinct ?y)",
      { shape: "relation", elements: [{ name: "?x" }, { kind: "aggregate", name: "count-distinct", of: "?y" }] },
    ],
    [
      "one aggregate",
      "[:find (max ?x) .",
      { shape: "scalar", elements: [{ kind: "aggregate", name: "max", of: "?x" }] },
    ],
    [
      "a pull",
      "[:find [(pull $ ?e [:a/x]) ...]",
      { shape: "collection", elements: [{ kind: "pull", of: "?e", pattern: { wildcard: false } }] },
    ],
  ])("QU2 can find %s", (_, find, wanted) => {
    expect(parse(`${find} ${BODY}]`).find).toMatchObject(wanted as object);
  });

  test("QU2 is the same as a vector and as a map", () => {
    const vector = `[:find ?x :with ?y :in $ ?z ${BODY} [(< ?x ?z)] :order-by [[?x :desc] ?y] :limit 10 :offset 5]`;
    const map = `{:find [?x] :with [?y] :in [$ ?z] :where [[?e :a/x ?x] [?e :a/y ?y] [(< ?x ?z)]]
      :order-by [[?x :desc] ?y] :limit 10 :offset 5}`;
    expect(withoutPlaces(parse(vector, "7"))).toEqual(withoutPlaces(parse(map, "7")));
    expect(parse(vector, "7")).toMatchObject({
      with: ["?y"],
      orderBy: [
        { by: { find: 0 }, direction: "desc" },
        { by: { with: "?y" }, direction: "asc" },
      ],
      limit: 10,
      offset: 5,
    });
  });

  test("QU2 can be ordered by an aggregate, and may have no :where", () => {
    const query = parse(`[:find ?x (count ?y) ${BODY} :order-by [[(count ?y) :desc]]]`);
    expect(query.orderBy).toMatchObject([{ by: { find: 1 }, direction: "desc" }]);
    expect(parse("[:find ?x :in [?x ...]]", "[1 2]").where).toEqual([]);
  });

  test.each<[string, string, string, unknown]>([
    ["a scalar", "?x", '"a"', { shape: "scalar", columns: ["?x"], rows: [[{ type: "string", value: "a" }]] }],
    [
      "a collection",
      "[?x ...]",
      "[1 2.5]",
      { shape: "collection", columns: ["?x"], rows: [[{ value: 1 }], [{ value: 2.5 }]] },
    ],
    ["an empty collection", "[?x ...]", "[]", { shape: "collection", rows: [] }],
    ["a set", "[?x ...]", "#{:a}", { rows: [[{ type: "keyword", value: ":a" }]] }],
    ["a tuple", "[?x _]", "[true 2]", { columns: ["?x", null], rows: [[{ value: true }, { value: 2 }]] }],
    [
      "a relation",
      "[[?x ?z]]",
      "[[1 2] [3 4]]",
      {
        columns: ["?x", "?z"],
        rows: [
          [{ value: 1 }, { value: 2 }],
          [{}, {}],
        ],
      },
    ],
    ["a time", "?x", '#inst "1970-01-01T00:00:01Z"', { rows: [[{ type: "inst", value: 1000 }]] }],
    ["a character", "?x", "\\a", { rows: [[{ type: "string", value: "a" }]] }],
  ])("QU2 takes %s", (_, binding, input, wanted) => {
    expect(parse(`[:find ?x :in $ ${binding} ${BODY}]`, input).inputs).toMatchObject([wanted]);
  });

  test.each<[string, string, unknown]>([
    ["[?e :a/b]", "[?e :a/b]", { kind: "pattern", value: { kind: "blank" }, binds: ["?e"] }],
    ["$ in a pattern", "[$ ?e :a/b 5]", { kind: "pattern", value: { value: { value: 5 } } }],
    ["a blank entity", "[_ :a/b ?v]", { entity: { kind: "blank" }, binds: ["?v"] }],
    ["one variable twice", "[?v :a/b ?v]", { binds: ["?v"] }],
    [
      "lookup refs",
      '[[:session/id "s"] :a/b [:a/id 1]]',
      {
        entity: { kind: "lookup", attribute: { name: ":session/id" } },
        value: { kind: "lookup", value: { value: 1 } },
      },
    ],
    ["a predicate", "[(<= 1 ?x ?y)]", { kind: "predicate", name: "<=", needs: ["?x", "?y"], binds: [] }],
    ["!= as not=", "[(!= ?x ?y)]", { kind: "predicate", name: "not=" }],
    ["Clojure's names", '[(clojure.string/includes? ?x "a")]', { kind: "predicate", name: "includes?" }],
    ["a function", "[(- ?x) ?z]", { kind: "function", name: "-", to: "?z", needs: ["?x"], binds: ["?z"] }],
    ["a function of constants", "[(str 1 2) ?z]", { kind: "function", needs: [], binds: ["?z"] }],
    [
      "get-else",
      '[(get-else $ ?e :a/b "none") ?z]',
      { kind: "get-else", attribute: { name: ":a/b" }, otherwise: { value: "none" }, to: "?z", needs: ["?e"] },
    ],
    ["missing? without $", "[(missing? ?e :a/b)]", { kind: "missing", entity: { name: "?e" }, needs: ["?e"] }],
    ["ground of one", "[(ground 5) ?z]", { kind: "ground", table: { shape: "scalar", rows: [[{ value: 5 }]] } }],
    [
      "ground of a relation",
      "[(ground [[1 2] [3 4]]) [[?z _]]]",
      { kind: "ground", table: { shape: "relation", columns: ["?z", null] }, binds: ["?z"] },
    ],
  ])("QU2 can say %s", (_, clause, wanted) => {
    const { where } = parse(`[:find ?e ${BODY} ${clause}]`);
    expect(where.at(-1)).toMatchObject(wanted as object);
  });
});

describe("a mistake", () => {
  test.each<[string, string, string]>([
    ["no query", "5", "5 is no query (at 1:1)"],
    ["a list", "(:find ?x)", "is no query"],
    ["no :find", "[:where [?e :a ?x]]", "the query has no :find (at 1:1)"],
    ["an empty :find", `[:find ${BODY}]`, ":find is empty (at 1:2)"],
    ["a start without a part", "[?x :find ?x]", "the query begins with ?x (at 1:2)"],
    ["an unknown part", `[:find ?x :when [] ${BODY}]`, "a query has no :when (at 1:11)"],
    ["a part twice", "[:find ?x :where [?e :a ?x] :where [?e :a ?x]]", ":where is in the query twice (at 1:29)"],
    ["a key of a map that is no part", "{:find [?x] 5 []}", "5 is no part of a query (at 1:13)"],
    ["a part of a map that is no vector", "{:find ?x}", ":find must be a vector, not ?x (at 1:8)"],
    ["a list of a map", "{:find [?x ...] :where [[?e :a ?x]]}", ":find cannot hold ... (at 1:12)"],
    ["a name as a variable", "[:find x]", ":find cannot hold x (at 1:8)"],
    ["a bare ?", "[:find ?]", ":find cannot hold ?"],
    ["an unknown aggregate", `[:find (median ?x) ${BODY}]`, ":find cannot hold (median ?x) (at 1:8)"],
    ["an aggregate of two", `[:find (sum ?x ?y) ${BODY}]`, "sum takes one variable"],
    ["the n greatest", `[:find (max 3 ?x) ${BODY}]`, "max takes one variable"],
    ["a tuple and more", `[:find [?x ?y] ?e ${BODY}]`, ":find holds ?e beside a vector"],
    ["a value and more", `[:find ?x . ?y ${BODY}]`, ":find cannot hold ."],
    ["an unbound variable in :find", `[:find ?z ${BODY}]`, "?z in :find is not bound (at 1:8)"],
    ["an unbound variable in an aggregate", `[:find (sum ?z) ${BODY}]`, "?z in :find is not bound"],
    ["an unbound variable in a pull", `[:find (pull ?z [*]) ${BODY}]`, "?z in :find is not bound"],
    ["an unbound variable in :with", `[:find ?x :with ?z ${BODY}]`, "?z in :with is not bound (at 1:17)"],
    ["a variable in :find and :with", `[:find ?x :with ?x ${BODY}]`, "?x is in :find and in :with"],
    ["a constant in :with", `[:find ?x :with 5 ${BODY}]`, ":with must be a variable, not 5"],
    ["an order by what is not found", `[:find ?x ${BODY} :order-by [?y]]`, "?y is not in :find"],
    ["an order by an aggregate not found", `[:find ?x ${BODY} :order-by [(count ?y)]]`, "(count ?y) is not in :find"],
    ["an order by what is summed up", `[:find (sum ?x) :with ?y ${BODY} :order-by [?y]]`, "?y is in :with, which"],
    ["an order that is no vector", `[:find ?x ${BODY} :order-by ?x]`, ":order-by must be a vector"],
    ["an order in several forms", `[:find ?x ${BODY} :order-by [?x] [?y]]`, ":order-by holds 2 forms, not one"],
    ["an order of another kind", `[:find ?x ${BODY} :order-by [[?x :up]]]`, "[?x :up] is no order"],
    ["a flat order", `[:find ?x ${BODY} :order-by [?x :desc]]`, ":desc is no order"],
    ["a limit below 0", `[:find ?x ${BODY} :limit -1]`, ":limit must be a whole number from 0, not -1"],
    ["half a limit", `[:find ?x ${BODY} :limit 1.5]`, ":limit must be a whole number"],
    ["no limit", `[:find ?x ${BODY} :limit]`, ":limit holds 0 forms, not one"],
    ["an offset that is a variable", `[:find ?x ${BODY} :offset ?x]`, ":offset must be a whole number"],
  ])("QU2 in the parts of a query is named: %s", (_, text, message) => {
    const error = refusal(() => parse(text));
    expect([error.code, error.message]).toEqual(["InvalidQuery", expect.stringContaining(message)]);
  });

  test.each<[string, string, string, string]>([
    ["too few inputs", ":in $ ?a ?b", "1", "the query takes 2 inputs (?a ?b), and 1 are given (at 1:11)"],
    ["too many inputs", ":in $", "1", "takes 0 inputs (nothing), and 1 are given"],
    ["inputs without :in", "", "1", "takes 0 inputs"],
    ["a binding that is none", ":in 5", "1", "an input must not be 5"],
    ["an empty binding", ":in []", "[]", "an input binds nothing"],
    ["a collection and more", ":in [?a ... ?b]", "[]", "an input must not be [?a ... ?b]"],
    ["two relations in one", ":in [[?a] [?b]]", "[]", "an input must not be [[?a] [?b]]"],
    ["a binding too deep", ":in [[?a [?b ...]]]", "[]", "an input must not be [?b ...]"],
    ["a variable twice in a binding", ":in [?a ?a]", "[1 1]", "an input binds ?a twice"],
    ["a variable twice in :in", ":in ?a [?a ...]", "1 [1]", ":in binds ?a twice"],
    ["rules twice", ":in % %", "[] []", ":in names the rules % twice"],
    ["rules in two places", ":rules [] :in %", "[]", "has rules of its own and is given % as well"],
    ["a collection for a scalar", ":in ?a", "[1 2]", "input 1 must be one value, not [1 2]"],
    ["a scalar for a collection", ":in [?a ...]", "1", "input 1 must be a collection, not 1"],
    ["a tuple that is too short", ":in [?a ?b]", "[1]", "input 1 has 1 values, its binding has 2"],
    ["a tuple that is too long", ":in [?a ?b]", "[1 2 3]", "input 1 has 3 values, its binding has 2"],
    ["a relation with a hole", ":in [[?a ?b]]", "[[1 2] [3]]", "a tuple of input 1 has 1 values, its binding has 2"],
    ["nil as an input", ":in ?a", "nil", "input 1 is nil, which no fact is"],
    ["a lookup ref as an input", ":in ?a", '[:session/id "x"]', "cannot be given"],
    ["a map as an input", ":in ?a", "{:a 1}", "input 1 must be a constant"],
    ["a symbol as an input", ":in ?a", "?b", "input 1 must be a constant, not ?b"],
    ["NUL in an input", ":in ?a", '"a\\u0000"', "a text holds a NUL character"],
  ])("QU2 in the inputs is named: %s", (_, section, inputs, message) => {
    const error = refusal(() => parse(`[:find ?x ${section} ${BODY}]`, inputs));
    expect([error.code, error.message]).toEqual(["InvalidQuery", expect.stringContaining(message)]);
  });

  test.each<[string, string, string]>([
    ["a clause that is none", "5", "5 is no clause (at 1:44)"],
    ["a map as a clause", "{:a 1}", "is no clause"],
    ["an empty clause", "[]", "the pattern [] names no attribute"],
    ["a pattern of an entity", "[?e]", "the pattern [?e] names no attribute"],
    ["a variable as attribute", "[?e ?a ?x]", "the second of a pattern must be an attribute, not ?a"],
    ["a blank as attribute", "[?e _ ?x]", "must be an attribute, not _"],
    ["a string as attribute", '[?e "a" ?x]', 'must be an attribute, not "a"'],
    ["a reverse attribute", "[?e :message/_session ?x]", "the reverse attribute :message/_session is only for pull"],
    ["a transaction", "[?e :a ?x ?tx]", "the pattern [?e :a ?x ?tx] has 4 places (at 1:54)"],
    ["another database", "[$2 ?e :a ?x]", "there is no database $2"],
    ["an ident as entity", "[:a :b ?x]", "must be an entity, not the keyword :a"],
    ["nil as a value", "[?e :a nil]", "the third of a pattern is nil, which no fact is"],
    ["a list as a value", "[?e :a (f)]", "not the call (f)"],
    ["a vector as a value", "[?e :a [1 2]]", "the third of a pattern must not be [1 2]"],
    ["a variable in a lookup ref", "[?e :a [:b ?x]]", "a lookup ref holds a constant, not ?x"],
    ["NUL in a string", '[?e :a "\\u0000"]', "a text holds a NUL character"],
    ["an unknown function", "[(frobnicate ?x) ?z]", "there is no function frobnicate (at 1:46)"],
    ["a regular expression", '[(re-find "x" ?x)]', "re-find is refused: a regular expression can take forever"],
    ["a name of Object", "[(constructor ?x)]", "there is no function constructor"],
    ["a call without a name", "[(?x 1)]", "there is no function ?x"],
    ["an empty call", "[()]", "calls nothing"],
    ["too few arguments", "[(< ?x)]", "< takes 2 or more arguments, not 1"],
    ["too many arguments", "[(mod ?x 1 2) ?z]", "mod takes 2 arguments, not 3"],
    ["other than two or three", "[(subs ?x) ?z]", "subs takes 2 to 3 arguments, not 1"],
    ["a nested call", "[(< (+ ?x 1) ?y)]", "not the call (+ ?x 1)"],
    ["a blank argument", "[(< ?x _)]", "an argument of < must be a variable or a constant, not _"],
    ["nil as an argument", "[(= ?x nil)]", "an argument of = is nil, which no fact is"],
    ["a predicate with a binding", "[(< ?x ?y) ?z]", "the predicate < returns no value to bind to ?z"],
    ["a function without a binding", "[(+ ?x ?y)]", "the value of + is not bound"],
    ["a function with a tuple", "[(+ ?x ?y) [?a ?b]]", "what + is bound to must be a variable, not [?a ?b]"],
    ["a function with two bindings", "[(+ ?x ?y) ?a ?b]", "has 2 bindings"],
    ["get-else without a default", "[(get-else $ ?e :a) ?z]", "get-else does not fit"],
    ["get-else of nil", "[(get-else $ ?e :a nil) ?z]", "the default of get-else is nil"],
    ["missing? of another database", "[(missing? $2 ?e :a)]", "missing? does not fit"],
    ["ground of a variable", "[(ground ?x) ?z]", "the argument of ground must be a constant, not ?x"],
    ["ground of nothing bound", "[(ground [1]) [_]]", "ground binds no variable"],
    ["ground that does not fit", "[(ground 1) [?z ...]]", "the argument of ground must be a collection, not 1"],
    ["a predicate without its vector", "(< ?x ?y)", "(< ?x ?y) is no clause"],
    ["a list with a variable", "(?x ?y)", "(?x ?y) is no clause"],
    ["a clause of a database", "($ not [?e :a 1])", "is no clause"],
    ["an empty not", "(not)", "(not) holds no clause"],
    ["an empty or", "(or)", "(or) holds no branch"],
    ["not-join without variables", "(not-join [?e :a 1])", "the vector of not-join must be a variable, not :a"],
    ["not-join of nothing", "(not-join [] [?e :a 1])", "has no vector of variables"],
    ["or-join that requires nothing", "(or-join [[] ?e] [?e :a 1])", "the vector of or-join requires no variable"],
    ["or-join with one twice", "(or-join [[?e] ?e] [?e :a 1])", "the vector of or-join names ?e twice"],
    ["an unknown rule", "(ancestor ?e ?x)", "there is no rule ancestor"],
  ])("QU2 in a clause is named: %s", (_, clause, message) => {
    const error = refusal(() => parse(`[:find ?x ${BODY} ${clause}]`));
    expect([error.code, error.message]).toEqual(["InvalidQuery", expect.stringContaining(message)]);
    expect(error.details).toMatchObject({ line: 1, column: expect.any(Number) });
  });

  test("QU2 comes with what is allowed, for people and for programs", () => {
    const error = refusal(() => parse(`[:find ?x\n ${BODY}\n [(< ?x ?nowhere)]]`));
    expect(error.toJSON()).toEqual({
      code: "InvalidQuery",
      message: "?nowhere in (< …) is not bound (at 3:2)",
      retryable: false,
      hint: expect.stringContaining("bound here: ?e ?x ?y"),
      details: { line: 3, column: 2 },
    });
    const unknown = refusal(() => parse(`[:find ?x ${BODY} [(lower ?x) ?z]]`));
    expect(unknown.hint).toContain("lower-case");
  });

  test.each<[string, string, string]>([
    ["columns", `[:find ${"?x ".repeat(LIMITS.queryColumns + 1)} ${BODY}]`, "queryColumns"],
    ["arguments of a rule", `[:find ?x ${BODY} (r ${"?x ".repeat(1000)}) :rules [[(r ?x) [?x :a 1]]]]`, "queryColumns"],
    ["parameters of a rule", `[:find ?x ${BODY} :rules [[(r ${"?x ".repeat(1000)}) [?x :a 1]]]]`, "queryColumns"],
    ["clauses", `[:find ?x ${BODY} ${"[?e :a 1] ".repeat(LIMITS.queryClauses)}]`, "queryClauses"],
    [
      "clauses within clauses",
      `[:find ?x ${BODY} (or ${"(and [?e :a 1] [?e :b 1]) ".repeat(LIMITS.queryClauses / 2)})]`,
      "queryClauses",
    ],
    ["rules", `[:find ?x ${BODY} :rules [${"[(r ?x) [?x :a 1]]".repeat(LIMITS.queryClauses + 1)}]]`, "queryClauses"],
  ])("ST8 too many %s are LimitExceeded", (_, text, limit) => {
    const error = refusal(() => parse(text));
    expect([error.code, error.details.limit]).toEqual(["LimitExceeded", limit]);
  });

  test("ST8 too many or too long inputs are LimitExceeded, and many are fine", () => {
    const limitOf = (inputs: unknown[], text = `[:find ?x :in [?z ...] ${BODY}]`) =>
      refusal(() => readQuery(text, inputs)).details.limit;
    expect(readQuery(`[:find ?x :in [?z ...] ${BODY}]`, [new Array(90_000).fill(1)]).inputs[0]?.rows).toHaveLength(
      90_000,
    );
    expect(limitOf([new Array(LIMITS.queryInputValues).fill(1)])).toBe("queryInputValues");
    expect(limitOf(new Array(LIMITS.queryColumns + 1).fill(1))).toBe("queryColumns");
    expect(limitOf(["x".repeat(LIMITS.queryInputChars + 1)])).toBe("queryInputChars");
    expect(limitOf(["a", "x".repeat(LIMITS.queryInputChars)])).toBe("queryInputChars");
  });

  test("ST7 inputs that are no array are InvalidArgument", () => {
    expect(refusal(() => readQuery(`[:find ?x ${BODY}]`, "x" as never)).code).toBe("InvalidArgument");
  });
});
