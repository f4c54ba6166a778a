// The suite of queries: what Datalog says of sessions, messages, state, tasks and agents, on whatever keeps them. That
// the answers are right in general is shown against DataScript; here are the promises around them.
import assert from "node:assert/strict";
import { isHoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, type CaseContext, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { LARGE_QUERIES } from "./query-large.ts";

export function runQuerySuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  const cases = [...factCases, ...shapeCases, ...pullCases, ...ruleCases, ...hostileCases, ...LARGE_QUERIES];
  runCases(`query: ${name}`, cases, make, options);
}

const ALL = ["sessions", "history", "state", "tasks", "agents", "query"] as const;
type Nouns = Pick<CaseContext, (typeof ALL)[number]>;

const scope = (session: string) => ({ agent: "ada", session });

/** Two sessions, one with three messages of which one is erased, the other without any. */
async function fill({ sessions, history, state, tasks, agents }: Omit<Nouns, "query">): Promise<void> {
  await agents.create({ id: "ada", name: "Ada", tags: ["calm", "kind"] });
  await agents.saveBlocks("ada", [{ label: "persona", value: "calm", readOnly: true }]);
  await sessions.create({ id: "one", title: "First", tags: ["x", "y"], agent: "ada" });
  await sessions.create({ id: "two" });
  await sessions.setAlias("one", "uno");
  await history.append(scope("one"), { role: "user", content: "gone" }, { run: "r1" });
  await history.clearRun(scope("one"), "r1");
  await history.append(scope("one"), { role: "user", content: "hello" });
  await history.append(scope("one"), { role: "assistant", content: "a longer answer" });
  await state.set("one", { colour: "blue" });
  await tasks.create("one", ["first", "second"]);
}

async function ask(nouns: Nouns, text: string, ...inputs: unknown[]) {
  await fill(nouns);
  return nouns.query(text, inputs);
}

const sorted = (answer: unknown) => (Array.isArray(answer) ? answer.map((one) => JSON.stringify(one)).sort() : answer);

function gives(name: string, text: string, expected: unknown, ...inputs: unknown[]): Case {
  return prove(`QU1 ${name}`, ALL, async (nouns) => {
    assert.deepEqual(sorted(await ask(nouns, text, ...inputs)), sorted(expected));
  });
}

const factCases: readonly Case[] = [
  gives(
    "a session is known by its facts",
    '[:find ?t ?st :where [?s :session/id "one"] [?s :session/title ?t] [?s :session/status ?st]]',
    [["First", "open"]],
  ),
  gives("what is NULL is no fact", "[:find [?id ...] :where [?s :session/id ?id] [(missing? $ ?s :session/title)]]", [
    "two",
  ]),
  gives("an erased message is no message", '[:find (count ?m) . :where [?m :message/session [:session/id "one"]]]', 2),
  gives("that it was erased is a fact", "[:find [?m ...] :where [?m :message/erased true]]", ["one#3"]),
  gives(
    "a payload is a ref and never a text",
    '[:find ?n ?c :where [?m :message/id "one#5"] [?m :message/content-ref ?r] [(starts-with? ?r "sha256:")] [(count ?r) ?n] ' +
      "[?m :message/char-count ?c]]",
    [[71, 5]],
  ),
  gives(
    "a message has its role, and an enumeration can be a keyword",
    "[:find [?m ...] :where [?m :message/role :assistant]]",
    ["one#6"],
  ),
  gives("tags are many", '[:find [?t ...] :where [?s :session/tag ?t] [?s :session/id "one"]]', ["x", "y"]),
  gives(
    "an alias leads to its session",
    '[:find ?id . :where [[:alias/name "uno"] :alias/session ?s] [?s :session/id ?id]]',
    "one",
  ),
  gives("flags are true or false", "[:find ?l ?r :where [?b :block/label ?l] [?b :block/read-only ?r]]", [
    ["persona", true],
  ]),
  gives(
    "an agent has blocks",
    '[:find [?l ...] :where [?a :agent/id "ada"] [?a :agent/block ?b] [?b :block/label ?l]]',
    ["persona"],
  ),
  gives(
    "state keys and tasks are facts",
    "[:find ?k ?t :where [?x :state/session ?s] [?x :state/key ?k] [?b :board/session ?s] [?e " +
      ":task/board ?b] [?e :task/title ?t]]",
    [
      ["colour", "first"],
      ["colour", "second"],
    ],
  ),
  gives("an event names the row it wrote", '[:find ?e . :where [?e :event/message-id "one#6"]]', "one#6"),

  prove("QU1 an unknown attribute is InvalidQuery that says what there is", ALL, async (nouns) => {
    const error = await nouns.query("[:find ?x :where [?s :session/tittle ?x]]").catch((caught) => caught);
    assert.ok(isHoldfastError(error) && error.code === "InvalidQuery");
    assert.match(error.message, /:session\/tittle.*:session\/title/);
    assert.match(present(error.hint), /:session\/id .*:session\/tag/);
  }),

  prove(
    "QU1 a fork's message count is of its whole history, as sessions.list has it",
    [...ALL, "lineage"],
    async (nouns) => {
      const { history, query } = nouns;
      const { sessions, heads } = nouns.lineage;
      await fill(nouns);
      await sessions.fork("one", { id: "fork" });
      await history.append(scope("fork"), { role: "user", content: "and now?" });
      await history.append({ agent: "bob", session: "fork" }, { role: "user", content: "I am here" }, { run: "r2" });
      await sessions.fork("fork", { id: "of-fork" });
      await sessions.fork("one", { id: "emptied" });
      await history.clear(scope("emptied"));
      await sessions.fork("fork", { id: "without-run" });
      await history.clearRun({ agent: "bob", session: "without-run" }, "r2");
      const head = await heads.publish("two");
      await history.append(scope("two"), { role: "user", content: "on the branch that is left" });
      await sessions.resume({ session: "two", head: head.id });
      await history.append(scope("two"), { role: "user", content: "on its own branch" });
      await history.append(scope("one"), { role: "user", content: "after the forks" });
      const told = await query("[:find ?id ?n :where [?s :session/id ?id] [?s :session/message-count ?n]]");
      const listed = (await nouns.sessions.list()).items.map(({ id, messages }) => [id, messages]);
      assert.deepEqual(sorted(told), sorted(listed));
      assert.deepEqual(
        sorted(told),
        sorted([
          ["one", 3],
          ["two", 1],
          ["fork", 4],
          ["of-fork", 4],
          ["emptied", 0],
          ["without-run", 3],
        ]),
      );
      assert.deepEqual(
        await query('[:find ?n . :where [?s :session/id "fork"] [?s :session/message-count ?n] [(> ?n 3)]]'),
        4,
      );
    },
  ),

  prove("QU1 a query sees what was acknowledged before it", ALL, async (nouns) => {
    for (const n of range(3)) {
      await nouns.sessions.create({ id: `s${n}` });
      assert.equal(await nouns.query("[:find (count ?s) . :where [?s :session/id]]"), n + 1);
    }
  }),
];

const shapeCases: readonly Case[] = [
  gives("a relation", "[:find ?id ?n :where [?s :session/id ?id] [?s :session/message-count ?n]]", [
    ["one", 2],
    ["two", 0],
  ]),
  gives("one row", "[:find [?id ?n] :where [?s :session/id ?id] [?s :session/message-count ?n] [(> ?n 0)]]", [
    "one",
    2,
  ]),
  gives(
    "no row is null",
    "[:find [?id ?n] :where [?s :session/id ?id] [?s :session/message-count ?n] [(> ?n 9)]]",
    null,
  ),
  gives(
    "inputs",
    "[:find [?id ...] :in $ ?least [?id ...] [[?role ?x]] :where [?s :session/id ?id] [?m " +
      ":message/session ?s] [?m :message/role ?role] [?m :message/char-count ?n] [(>= ?n ?least)] [(= ?x " +
      "1)]]",
    ["one"],
    6,
    ["one", "two", "none"],
    [
      ["assistant", 1],
      ["user", 2],
    ],
  ),
  gives("an empty collection gives nothing", "[:find [?id ...] :in $ [?id ...] :where [?s :session/id ?id]]", [], []),
  gives(
    "aggregates over sets, and :with",
    "[:find (count ?r) (sum ?n) (min ?n) (max ?n) (avg ?n) (count-distinct ?s) :with ?m :where [?m " +
      ":message/role ?r] [?m :message/char-count ?n] [?m :message/session ?s]]",
    [[2, 20, 5, 15, 10, 1]],
  ),
  gives(
    "order, limit and offset",
    "[:find [?n ...] :where [?m :message/char-count ?n] :order-by [[?n :desc]] :limit 1 :offset 1]",
    [5],
  ),
  gives("a large input", "[:find (count ?x) . :in $ [?x ...] :where [(< ?x 50000)]]", 50_000, range(60_000)),

  prove("QU1 explain shows the SQL and the plan", ["explain"], async ({ explain }) => {
    const { sql, plan, params } = await explain('[:find ?s :where [?s :session/id "one"]]');
    assert.match(sql, /^SELECT .* FROM sessions AS t0 WHERE /);
    assert.ok(plan.length > 0 && params.includes("one") && !sql.includes("one"));
  }),
];

const pullCases: readonly Case[] = [
  gives(
    "pull gives a tree",
    '[:find (pull ?s [:session/title [:session/origin :default "none"] {[:message/_session :limit 1] ' +
      '[:message/role]} {:session/agent [:agent/name]}]) . :where [?s :session/id "one"]]',
    {
      ":session/title": "First",
      ":session/origin": "none",
      ":message/_session": [{ ":message/role": "user" }],
      ":session/agent": { ":agent/name": "Ada" },
    },
  ),
  gives("what is not there is left out", '[:find (pull ?s [:session/title]) . :where [?s :session/id "two"]]', null),

  prove("QU1 what a pull calls __proto__ is just a key", ALL, async (nouns) => {
    const answer = await ask(
      nouns,
      '[:find (pull ?s [[:session/title :as "__proto__"]]) . :in $ ?id :where [?s :session/id ?id]]',
      "one",
    );
    assert.deepEqual(Object.entries(answer as object), [["__proto__", "First"]]);
  }),

  prove("QU1 * is every fact of an entity", ALL, async (nouns) => {
    const all = await ask(nouns, '[:find (pull ?s [*]) . :where [?s :session/id "one"]]');
    const found = new Map(Object.entries(all ?? {}));
    assert.equal(found.get(":session/id"), "one");
    assert.deepEqual(found.get(":session/tag"), ["x", "y"]);
    assert.equal(found.has(":session/cache-id"), false);
  }),
];

const NUMBERS = "[[(n ?n) [(ground 1) ?n]] [(n ?m) (n ?n) [(+ ?n 1) ?m] [(<= ?m 5)]]]";
const NEXT =
  "[[(next ?a ?b) [?a :message/session ?s] [?b :message/session ?s] [?a :message/seq ?x] [?b :message/seq ?y] [(+ ?x 1) ?y]] " +
  "[(next ?a ?c) (next ?a ?b) (next ?b ?c)]]";

const ruleCases: readonly Case[] = [
  gives("a rule may call itself", "[:find [?n ...] :in $ % :where (n ?n)]", [1, 2, 3, 4, 5], NUMBERS),
  gives(
    "a closure is found from either end",
    '[:find [?b ...] :in $ % :where [?a :message/id "one#5"] (next ?a ?b)]',
    ["one#6"],
    NEXT,
  ),
  gives(
    "rules may call each other",
    "[:find [?n ...] :where (odd ?n) :rules [[(even ?n) [(ground 0) ?n]] [(even ?m) (odd ?n) [(+ ?n 1) " +
      "?m] [(< ?m 8)]] [(odd ?m) (even ?n) [(+ ?n 1) ?m] [(< ?m 8)]]]]",
    [1, 3, 5, 7],
  ),

  prove("QU1 a recursion that never ends is QueryTimeout", ["query"], async ({ query }) => {
    const bomb = "[:find (count ?n) . :where (n ?n) :rules [[(n ?n) [(ground 1) ?n]] [(n ?m) (n ?n) [(+ ?n 1) ?m]]]]";
    await refuses("QueryTimeout", () => query(bomb, [], { timeoutMs: 300 }));
    assert.equal(await query("[:find ?x . :in $ ?x]", [1]), 1, "and others go on");
  }),
];

const INJECTIONS = [
  "' OR 1=1 --",
  '"; DROP TABLE sessions; --',
  "?1",
  "$1",
  "x' UNION SELECT body FROM blobs --",
  "\\",
  "é\u{1F600}",
];

/** Rules that make more and more: by counting, by joining all with all, by calling each other. */
const BOMBS = [
  "[:find (count ?n) . :where (n ?n) :rules [[(n ?n) [(ground 1) ?n]] [(n ?m) (n ?n) [(+ ?n 1) ?m]]]]",
  "[:find (count ?n) . :where (n ?n) :rules [[(n ?n) [(ground 2) ?n]] [(n ?m) (n ?n) (n ?o) [(+ ?n ?o) ?m]]]]",
  "[:find (count ?n) . :where (a ?n) :rules [[(a ?n) [(ground 0) ?n]] [(a ?m) (b ?n) [(+ ?n 1) ?m]] " +
    "[(b ?m) (a ?n) [(+ ?n 1) ?m]]]]",
];

const hostileCases: readonly Case[] = [
  prove(
    "QU1 bombs of rules end with their time, and leave the store as it is",
    ["query", "sessions"],
    async (nouns) => {
      await nouns.sessions.create({ id: "s" });
      for (const bomb of BOMBS) {
        const codes = ["QueryTimeout", "LimitExceeded", "InvalidQuery"] as const;
        const error = await refuses(codes, () => nouns.query(bomb, [], { timeoutMs: 300 }), bomb);
        if (error.code === "QueryTimeout") assert.equal(error.details.timeoutMs, 300);
      }
      assert.deepEqual(await nouns.query("[:find [?id ...] :where [?s :session/id ?id]]"), ["s"], "and others go on");
    },
  ),

  prove("ST8 a query that is too long, too deep or too much is LimitExceeded", ["query", "explain"], async (nouns) => {
    const nested = (open: string, close: string, depth: number) => `${open.repeat(depth)}${close.repeat(depth)}`;
    let list: unknown = [];
    for (let i = 0; i < 50_000; i++) list = [list];
    const rule = '[(r ?x) [?x :session/id "x"]] ';
    const asked: readonly (readonly [limit: string, text: unknown, inputs?: readonly unknown[]])[] = [
      ["queryBytes", `[:find ?x :where [?x :session/id "${"x".repeat(LIMITS.queryBytes)}"]]`],
      ["queryDepth", nested("[", "]", LIMITS.queryDepth + 1)],
      ["queryDepth", nested("[", "]", 200_000)],
      ["queryDepth", "(".repeat(200_000)],
      ["queryDepth", nested("{:a ", "}", 100_000)],
      ["queryDepth", nested("#{", "}", 100_000)],
      ["queryDepth", `[:find ?x :where ${nested("(not ", ")", 100_000)}]`],
      ["queryDepth", { find: list }],
      ["queryForms", `[:find ?x :where ${"a ".repeat(LIMITS.queryForms)}]`],
      ["queryClauses", `[:find ?x :where ${"[?x :session/id] ".repeat(LIMITS.queryClauses + 1)}]`],
      ["queryClauses", `[:find ?x :where (r ?x) :rules [${rule.repeat(LIMITS.queryClauses + 1)}]]`],
      ["queryColumns", `[:find ${"?x ".repeat(LIMITS.queryColumns + 1)} :where [?x :session/id]]`],
      ["queryInputValues", "[:find ?x :in $ [?x ...]]", [range(LIMITS.queryInputValues + 1)]],
      ["queryInputChars", "[:find ?x :in $ ?x]", ["x".repeat(LIMITS.queryInputChars + 1)]],
      ["pullDepth", `[:find (pull ?s [{:session/parent ${LIMITS.pullDepth + 1}}]) :where [?s :session/id]]`],
    ];
    for (const [limit, text, inputs] of asked) {
      for (const ask of [nouns.query, nouns.explain]) {
        const error = await refuses(
          "LimitExceeded",
          () => ask(text as string, inputs),
          `${limit} of ${String(text).slice(0, 40)}`,
        );
        assert.equal(error.details.limit, limit);
      }
    }
  }),

  prove("QU1 what a pull names is checked before anything is found", ["query", "explain"], async (nouns) => {
    for (const pull of ["[:no/such]", "[{:session/_no [*]}]", "[{:message/_session [:message/no]}]"]) {
      const text = `[:find (pull ?s ${pull}) :where [?s :session/id]]`;
      for (const ask of [nouns.query, nouns.explain]) await refuses("InvalidQuery", () => ask(text), text);
    }
  }),

  prove("QU1 nothing outside the catalogue can be read", ["sessions", "query"], async (nouns) => {
    await nouns.sessions.create({ id: "s", title: "secret" });
    const words = ["sqlite_master", "pg_catalog.pg_tables", "information_schema.tables", "sessions", "blobs", "meta"];
    for (const word of words) {
      const texts = [
        `[:find ?x :where [?x :${word}/sql ?y]]`,
        `[:find ?y :where [?x :session/id ?x] [(${word} ?x) ?y]]`,
        `[:find ?x :in ${word} :where [${word} ?x :session/id]]`,
        `[:find (${word} ?x) :where [?x :session/id]]`,
        `[:find ?x :where (${word} ?x)]`,
        `[:find (pull ?s [:${word}/body]) :where [?s :session/id]]`,
      ];
      for (const text of texts) await refuses("InvalidQuery", () => nouns.query(text), text);
    }
    for (const name of [
      "load_extension",
      "readfile",
      "writefile",
      "pg_read_file",
      "pg_sleep",
      "current_setting",
      "lo_export",
    ])
      await refuses("InvalidQuery", () => nouns.query(`[:find ?x :where [(${name} "x") ?x]]`), name);
  }),

  prove(
    "QU1 maxRows is about rows of the answer, not about what a pull or a plan takes",
    ["sessions", "query", "explain"],
    async (nouns) => {
      for (let i = 0; i < 3; i++) await nouns.sessions.create({ id: `s${i}`, tags: ["a", "b", "c", "d"] });
      const text = "[:find [(pull ?s [:session/id :session/tag]) ...] :where [?s :session/id]]";
      assert.equal(((await nouns.query(text, [], { maxRows: 3 })) as unknown[]).length, 3);
      assert.ok(
        (await nouns.explain("[:find ?a ?b :where [?a :session/id] [?b :session/id]]", [], { maxRows: 1 })).plan
          .length > 1,
      );
    },
  ),

  prove(
    "QU1 a value is never part of the SQL",
    ["sessions", "query", "explain"],
    async ({ sessions, query, explain }) => {
      for (const [i, text] of INJECTIONS.entries()) {
        await sessions.create({ id: `s${i}`, title: text });
        assert.deepEqual(
          await query("[:find [?id ...] :in $ ?t :where [?s :session/title ?t] [?s :session/id ?id]]", [text]),
          [`s${i}`],
        );
        const json = {
          find: ["?t", "."],
          where: [
            ["?s", ":session/title", { string: text }],
            ["?s", ":session/title", "?t"],
          ],
        };
        assert.equal(await query(json), text);
        assert.ok(!(await explain(json)).sql.includes(text.length > 2 ? text : "DROP"));
      }
    },
  ),

  prove("QU1 names of variables and rules never reach the SQL", ["sessions", "query", "explain"], async (nouns) => {
    await nouns.sessions.create({ id: "s" });
    const text = "[:find ?a*!$%&=<> :where (r!*$ ?a*!$%&=<>) :rules [[(r!*$ ?x>) [?y> :session/id ?x>]]]]";
    assert.deepEqual(await nouns.query(text), [["s"]]);
    assert.ok(!/[!&$%]/.test((await nouns.explain(text)).sql.replace(/\$\d+/g, "")));
  }),

  prove("QU1 what can never be equal is refused", ["query"], async ({ query }) => {
    for (const text of [
      "[:find ?s :where [?s :session/id] [?s :message/role]]",
      "[:find ?s :where [?s :session/title 5]]",
      "[:find ?m :where [?m :message/session ?s] [?s :call/model]]",
      "[:find (sum ?t) :where [?s :session/title ?t]]",
      "[:find (pull ?t [*]) :where [?s :session/title ?t]]",
      "[:find (pull ?s [:message/role]) :where [?s :session/id]]",
      '[:find ?s :where [[:session/title "x"] :session/id ?s]]',
      "[:find ?s :where [?s :session/title :open]]",
      "[:find ?s :where [?s :sqlite_master/sql]]",
      "[:find ?s :where [?s :message/content]]",
    ]) {
      await refuses("InvalidQuery", () => query(text), text);
    }
  }),

  prove("QU1 more rows than asked for is LimitExceeded", ["query"], async ({ query }) => {
    const text = "[:find ?x :in $ [?x ...]]";
    const { message, details } = await refuses("LimitExceeded", () => query(text, [range(11)], { maxRows: 10 }));
    assert.match(message, /more than 10 rows/, "the caller's limit, not ours");
    assert.deepEqual(details, { limit: "queryRows", max: 10, most: LIMITS.queryRows });
    const deep = await refuses("LimitExceeded", () => query(text, [range(3000)], { maxRows: 2999 }));
    assert.equal(deep.details.max, 2999);
    assert.equal(((await query(text, [range(10)], { maxRows: 10 })) as unknown[]).length, 10);
    await refuses("InvalidArgument", () => query(text, [[1]], { maxRows: LIMITS.queryRows + 1 }));
    await refuses("InvalidArgument", () => query(text, [[1]], { timeoutMs: 0 }));
  }),

  prove("QU1 a limit is the asker's own, also of a query that was asked before", ["query"], async ({ query }) => {
    const text = "[:find [?x ...] :where [(ground [1 2 3]) [?x ...]]]";
    const rows = async (options?: object) => ((await query(text, [], options)) as unknown[]).length;
    const wrong = [0, null, "", "2", false, -1, 1.5, LIMITS.queryRows + 1];
    for (const _ of ["first", "again"]) {
      for (const limit of wrong) await refuses("InvalidArgument", () => query(text, [], { limit } as object));
      assert.deepEqual(
        [await rows(), await rows({ limit: 2 }), await rows({ limit: 1 }), await rows({})],
        [3, 2, 1, 3],
      );
      assert.equal(await rows({ limit: undefined }), 3);
    }
  }),
];
