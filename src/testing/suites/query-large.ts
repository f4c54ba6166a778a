// Queries of a size no hand writes, and inputs no honest caller gives: an answer, or an error that says which limit it
// is.
import assert from "node:assert/strict";
import { isHoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { refuses } from "../expect.ts";
import { type Case, type CaseContext, prove } from "../suite.ts";

const times = (n: number, make: (i: number) => string) => Array.from({ length: n }, (_, i) => make(i)).join(" ");
const nest = (depth: number, open: string, inner: string) => `${open.repeat(depth)}${inner}${")".repeat(depth)}`;

/** ?v0 and ?v1 are given; every later one is the sum of the two before it. */
const sums = (n: number) => times(n, (i) => `[(+ ?v${i} ?v${i + 1}) ?v${i + 2}]`);

function sum(n: number): number {
  let [a, b] = [1, 2];
  for (let i = 0; i < n; i++) [a, b] = [b, a + b];
  return b;
}

const GIVEN = "[(ground 1) ?v0] [(ground 2) ?v1]";

/** A chain of functions in every place that has its own SELECT, and what it gives for the sessions a and b. */
const CHAINS: readonly (readonly [text: string, expected: unknown])[] = [
  [`[:find ?v61 . :where ${GIVEN} ${sums(60)}]`, sum(60)],
  [`[:find ?d40 . :where [(ground 1) ?d0] ${times(40, (i) => `[(+ ?d${i} ?d${i}) ?d${i + 1}]`)}]`, 2 ** 40],
  [
    `[:find ?id ?v61 :where [?s :session/id ?id] ${GIVEN} ${sums(60)} :order-by [?id]]`,
    [
      ["a", sum(60)],
      ["b", sum(60)],
    ],
  ],
  [
    // What comes after the chain still joins with what came before it.
    `[:find ?id ?t :where [?s :session/id ?id] [(count ?id) ?v0] [(+ ?v0 1) ?v1] ${sums(60)} (or [?s :session/tag ?t]
      [?s :session/title ?t]) [(> ?v61 ?v60)] :order-by [?id ?t]]`,
    [
      ["a", "A"],
      ["b", "x"],
    ],
  ],
  [
    // A negation sees the row around it.
    `[:find [?id ...] :where [?s :session/id ?id] (not [(str ?id ?id) ?d0] ${times(
      12,
      (i) => `[(str ?d${i} ?d${i}) ?d${i + 1}]`,
    )} [(starts-with? ?d12 "ab")]) (not [(str ?id ?id) ?e0] ${times(
      12,
      (i) => `[(str ?e${i} ?e${i}) ?e${i + 1}]`,
    )} [(starts-with? ?e12 "bb")])]`,
    ["a"],
  ],
  [`[:find ?x . :where (r ?x) :rules [[(r ?x) ${GIVEN} ${sums(60)} [(- ?v61 0) ?x]]]]`, sum(60)],
  [
    `[:find [?x ...] :where (r ?x) :rules [[(r ?x) ${GIVEN} ${sums(60)} [(- ?v61 0) ?x]] [(r ?y) (r ?x) [(* ?x 0) ?y]]]
      :order-by [?x]]`,
    [0, sum(60)],
  ],
  [
    // A rule that is asked of one session: where it began goes along.
    `[:find ?x . :where [?s :session/id "b"] (r ?s ?x) :rules [
      [(r ?s ?x) [?s :session/tag ?t] [(count ?t) ?v0] [(+ ?v0 1) ?v1] ${sums(60)} [(- ?v61 0) ?x]]
      [(r ?s ?x) [?d :derivation/target-session ?s] [?d :derivation/source-session ?o] (r ?o ?x)]]]`,
    sum(60),
  ],
];

const NEEDING = nest(20, "(or-join [[?s] ?t] [?s :session/tag ?t] ", "[?s :session/title ?t]");

const WIDE: readonly (readonly [name: string, text: string, expected: unknown])[] = [
  [
    `${LIMITS.queryJoins} tables`,
    `[:find ?s0 :where ${times(LIMITS.queryJoins, (i) => `[?s${i} :session/id "a"]`)}]`,
    [["a"]],
  ],
  [
    "900 facts of one row",
    `[:find ?i :where [?s :session/id ?i] ${times(900, () => '[?s :session/title "A"]')}]`,
    [["a"]],
  ],
  ["998 conditions", `[:find ?i :where [_ :session/id ?i] ${times(998, (i) => `[(not= ?i "b${i || ""}")]`)}]`, [["a"]]],
  [
    "990 alternatives",
    `[:find ?i :where [_ :session/id ?i] (or ${times(990, (i) => `[(= ?i "${i || "b"}")]`)})]`,
    [["b"]],
  ],
  [
    "900 alternatives that bind",
    `[:find ?s :where (or ${times(900, (i) => `[?s :session/tag "${i || "x"}"]`)})]`,
    [["b"]],
  ],
  [
    "a rule of 900 branches",
    `[:find ?s :where (r ?s) :rules [${times(900, (i) => `[(r ?x) [?x :session/tag "${i || "x"}"]]`)}]]`,
    [["b"]],
  ],
  [
    "300 negations",
    `[:find ?i :where [?s :session/id ?i] ${times(300, (i) => `(not [?s :session/tag "${i || "x"}"])`)}]`,
    [["a"]],
  ],
  [
    "alternatives that need what alternatives around them need",
    `[:find ?s ?t :where [?s :session/id] ${NEEDING} :order-by [?s]]`,
    [
      ["a", "A"],
      ["b", "x"],
    ],
  ],
];

const LIMITED: readonly (readonly [limit: string, text: string])[] = [
  ["queryJoins", `[:find ?s0 :where ${times(LIMITS.queryJoins + 1, (i) => `[?s${i} :session/id "a"]`)}]`],
  ["queryJoins", `[:find ?s0 :where ${times(300, (i) => `[?s${i} :session/id "a"]`)}]`],
  ["queryJoins", `[:find ?i :where [?s :session/id ?i] (not ${times(70, (i) => `[?m${i} :message/session ?s]`)})]`],
  [
    "queryBranches",
    `[:find ?a :where (r ?a ?b) :rules [[(r ?x ?y) [?x :head/basis ?y]] ${times(
      LIMITS.queryBranches + 1,
      (i) => `[(r ?x ?y) [?x :head/basis ?z] [?z :head/status "s${i}"] (r ?z ?y)]`,
    )}]]`,
  ],
  [
    "queryParams",
    `[:find ?v0 :where ${times(220, (i) => `[(str ${'"z" '.repeat(98)}) ?v${i}] [(starts-with? ?v${i} "z")]`)}]`,
  ],
  [
    "querySql",
    `[:find ?v :where [(ground 1) ?v0] ${times(800, (i) => `[(+ ?v${i} ${"1 ".repeat(98)}) ?v${i + 1}]`)} [(+ ?v800 1) ?v]]`,
  ],
  [
    // A rule that calls itself cannot be cut into levels.
    "querySql",
    `[:find ?n :where (r ?n) :rules [[(r ?n) [(ground 3) ?n]] [(r ?m) (r ?n) [(+ ?n ?n) ?v0] ${times(
      40,
      (i) => `[(+ ?v${i} ?v${i}) ?v${i + 1}]`,
    )} [(mod ?v40 7) ?m]]]]`,
  ],
];

async function fill({ sessions }: Pick<CaseContext, "sessions">): Promise<void> {
  await sessions.create({ id: "a", title: "A" });
  await sessions.create({ id: "b", tags: ["x"] });
}

function throwing(target: object): object {
  const fail = () => {
    throw new Error("the caller's own");
  };
  return new Proxy(target, { get: fail, ownKeys: fail, getPrototypeOf: fail, getOwnPropertyDescriptor: fail });
}

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

/** The same list, that says something else when it is read again. */
function changing(first: unknown, then: unknown): readonly unknown[] {
  let read = 0;
  return new Proxy([first], { get: (target, name) => (name === "0" && read++ > 0 ? then : Reflect.get(target, name)) });
}

export const LARGE_QUERIES: readonly Case[] = [
  prove("QU1 a chain of functions costs as much as it has steps", ["sessions", "query", "explain"], async (nouns) => {
    await fill(nouns);
    for (const [text, expected] of CHAINS) {
      assert.deepEqual(await nouns.query(text), expected, text);
      const { sql } = await nouns.explain(text);
      assert.ok(sql.length < 40_000, `${sql.length} characters: ${text}`);
    }
  }),

  ...WIDE.map(([name, text, expected]) =>
    prove(`QU1 a large query is answered: ${name}`, ["sessions", "query"], async (nouns) => {
      await fill(nouns);
      assert.deepEqual(await nouns.query(text), expected);
    }),
  ),

  prove("ST8 what is too large for an engine is refused before it is asked", ["query", "explain"], async (nouns) => {
    for (const [limit, text] of LIMITED) {
      for (const ask of [nouns.query, nouns.explain]) {
        const error = await refuses("LimitExceeded", () => ask(text), `${limit}: ${text.slice(0, 200)}`);
        assert.equal(error.details.limit, limit, text.slice(0, 200));
      }
    }
  }),

  prove("QU1 many inputs are many, not too many", ["query"], async ({ query }) => {
    const text = `[:find (count ?x0) . :in ${times(50, (i) => `[?x${i} ...]`)} :where ${times(50, (i) => `[(< ?x${i} 2)]`)}]`;
    const inputs = Array.from({ length: 50 }, () => [1, ...Array.from({ length: 800 }, (_, i) => i + 2)]);
    assert.equal(await query(text, inputs), 1);
  }),

  prove("ST7 what only the engine can tell is too much is InvalidQuery", ["query"], async ({ query }) => {
    const squares = `[:find ?v12 :where [(ground 3) ?v0] ${times(12, (i) => `[(* ?v${i} ?v${i}) ?v${i + 1}]`)}]`;
    const { message } = await refuses("InvalidQuery", () => query(squares));
    assert.match(message, /larger than a double/);
    const deep = nest(50, "(not-join [?s] [?m :message/session ?s] ", "[?s :session/title]");
    const answer = await query(`[:find ?s :where [?s :session/id] ${deep}]`).catch((error: unknown) => error);
    assert.ok(Array.isArray(answer) || (isHoldfastError(answer) && answer.code === "InvalidQuery"), String(answer));
  }),

  prove("ST7 a query or an input that cannot be read is the caller's mistake", ["query", "explain"], async (nouns) => {
    const codes = ["InvalidQuery", "InvalidArgument"] as const;
    const text = "[:find ?x :in $ ?x]";
    for (const ask of [nouns.query, nouns.explain]) {
      for (const spoil of [throwing, revoked]) {
        const asked: readonly (readonly unknown[])[] = [
          [spoil({ find: ["?x"] })],
          [spoil([])],
          [{ find: spoil(["?x"]) }],
          [{ find: ["?x"], where: [spoil(["?x", ":session/id"])] }],
          [{ find: ["?x"], where: [["?x", ":session/id", spoil({ string: "x" })]] }],
          [text, spoil(["x"])],
          [text, [spoil({ keyword: ":x" })]],
          [text, [spoil(["x"])]],
          ["[:find ?x :in $ % :where (r ?x)]", [spoil([])]],
          [text, ["x"], spoil({})],
        ];
        for (const [query, inputs, options] of asked) {
          await refuses(codes, () => ask(query as string, inputs as readonly unknown[], options as object));
        }
      }
    }
  }),

  prove("QU1 what an input says when it is read first is what is asked, and kept", ["query"], async ({ query }) => {
    const text = "[:find ?x . :in $ ?x]";
    assert.equal(await query(text, changing("first", "then")), "first");
    assert.equal(await query(text, ["first"]), "first");
  }),
];
