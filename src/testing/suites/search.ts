// The suite of conversation search: what is found and shown here; filters, branches and erasure in the files beside.
import assert from "node:assert/strict";
import type { SearchHit, SearchOptions } from "../../contracts/search.ts";
import { present, refuses } from "../expect.ts";
import { type Case, type CaseContext, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { SEARCH_FILTER_CASES } from "./search-filters.ts";
import { SEARCH_LINEAGE_CASES } from "./search-lineage.ts";

export function runSearchSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(`search: ${name}`, [...HIT_CASES, ...SEARCH_FILTER_CASES, ...SEARCH_LINEAGE_CASES], make, options);
}

const ALL = ["sessions", "history", "search"] as const;
type Nouns = Pick<CaseContext, (typeof ALL)[number]>;

const TEXTS: Readonly<Record<string, readonly string[]>> = {
  boats: [
    "Where is the anchor of the boat?",
    "The anchor is in the locker.",
    "And the ropes?",
    "On deck, all of them.",
  ],
  trains: ["When does the train leave?", "At nine, from platform two.", "Is there an anchor point for bikes?"],
};

async function fill({ sessions, history }: Nouns): Promise<void> {
  await sessions.create({ id: "boats", title: "A trip by boat", request: "r-1" });
  for (const [session, texts] of Object.entries(TEXTS)) {
    for (const [index, content] of texts.entries()) {
      await history.append({ session, agent: "helper" }, { role: index % 2 === 0 ? "user" : "assistant", content });
    }
  }
}

async function search(nouns: Nouns, query: string, options?: SearchOptions): Promise<readonly SearchHit[]> {
  return (await nouns.search(query, options)).hits;
}

const shown = ({ snippet: { text, highlights } }: SearchHit) =>
  highlights.map(([start, end]) => text.slice(start, end));
const ids = (hits: readonly SearchHit[]) => hits.map(({ id }) => id);

const HIT_CASES: readonly Case[] = [
  prove("SR1 finds messages of all sessions, best first, and shows where the words are", ALL, async (nouns) => {
    await fill(nouns);
    const { mode, hits } = await nouns.search("boat anchors");
    assert.equal(mode, "text");
    const first = present(hits[0]);
    assert.equal(first.id, "boats#2");
    const { session, title, request, shownIn, seq, agent, role } = first;
    const place = { session: "boats", title: "A trip by boat", request: "r-1", shownIn: "boats", seq: 2 };
    assert.deepEqual(
      { session, title, request, shownIn, seq, agent, role },
      { ...place, agent: "helper", role: "user" },
    );
    assert.deepEqual(shown(first), ["anchor", "boat"]);
    assert.equal(first.passage, TEXTS.boats?.[0]);
    assert.ok(ids(hits).includes("trains#4"));
    for (const [index, { score }] of hits.entries()) {
      assert.ok(score > 0 && score <= 1);
      assert.ok(index === 0 || score <= (hits[index - 1]?.score ?? 0));
    }
  }),

  prove("SR1 a hit says which signals made its score", ALL, async (nouns) => {
    await fill(nouns);
    const { signals, score } = present((await search(nouns, "anchor"))[0]);
    assert.deepEqual(
      signals.map(({ name }) => name),
      ["text", "session", "role"],
    );
    const value = (name: string) => present(signals.find((one) => one.name === name));
    const sum = ["text", "session"].reduce((total, name) => total + value(name).value * value(name).weight, 0);
    assert.ok(Math.abs(sum - score) < 1e-9);
    await nouns.history.append({ session: "talk", agent: "ada" }, { role: "assistant", content: "the anchor is lost" });
    const named = present((await search(nouns, "what did ada lose, the anchor?", { session: "talk" }))[0]);
    assert.ok(named.signals.some(({ name, weight }) => name === "speaker" && weight > 1));
  }),

  prove("SR1 nothing is found without a word of the query, and nothing for an empty one", ALL, async (nouns) => {
    assert.deepEqual(await search(nouns, "anchor"), []);
    await fill(nouns);
    for (const query of ["", " ", "submarine", "-anchor", "role:user", '"anchor boat"', "sub*", "!!!", '"', "*"]) {
      assert.deepEqual(await search(nouns, query), [], query);
    }
  }),

  prove("SR1 phrases must be there, prefixes match, and excluded words may not", ALL, async (nouns) => {
    await fill(nouns);
    assert.deepEqual(ids(await search(nouns, '"anchor of the boat"')), ["boats#2"]);
    assert.deepEqual(ids(await search(nouns, '"anchor point" boat')), ["trains#4"]);
    const prefixed = present((await search(nouns, "platf*"))[0]);
    assert.deepEqual([prefixed.id, shown(prefixed)], ["trains#3", ["platform"]]);
    assert.ok(!ids(await search(nouns, "anchor -locker")).includes("boats#3"));
    assert.ok(!ids(await search(nouns, "anchor -lock*")).includes("boats#3"));
    assert.ok(!ids(await search(nouns, 'anchor -"the locker"')).includes("boats#3"));
    assert.ok(ids(await search(nouns, 'anchor -"locker the"')).includes("boats#3"));
  }),

  prove("SR1 of a long message the passage is shown that matches", ALL, async ({ history, ...nouns }) => {
    const filler = "Nothing happens in this sentence at all. ".repeat(60);
    const content = `${filler}\n\nThe treasure lies under the palm tree.\n\n${filler}`;
    await history.append({ session: "long", agent: "a" }, { role: "user", content });
    const { passage, snippet } = present((await search({ history, ...nouns }, "treasure"))[0]);
    assert.ok(passage.includes("The treasure lies under the palm tree."));
    assert.ok(passage.length < 700 && snippet.text.length <= 240);
    assert.ok(snippet.text.includes("treasure"));
    assert.deepEqual([snippet.isCutBefore, snippet.isCutAfter], [true, true]);
  }),

  prove("SR1 tool calls and results are found by what they say", ALL, async ({ history, ...nouns }) => {
    const scope = { session: "code", agent: "coder" };
    const use = { type: "tool_use", id: "t1", name: "read_file", input: { path: "src/parser/lexer.ts" } } as const;
    await history.append(scope, { role: "assistant", content: [use] });
    const result = { type: "tool_result", toolUseId: "t1", content: "export function tokenizeSource() {}" } as const;
    await history.append(scope, { role: "tool", content: [result] });
    const all = { history, ...nouns };
    assert.equal(ids(await search(all, "lexer.ts"))[0], "code#2");
    assert.equal(ids(await search(all, "tokenizeSource"))[0], "code#3");
    assert.equal(ids(await search(all, "tokenize source"))[0], "code#3");
    assert.deepEqual(ids(await search(all, "lexer", { tool: "read_file" })), ["code#2"]);
  }),

  prove("SR1 shows neighbours on request, oldest first", ALL, async (nouns) => {
    await fill(nouns);
    const [hit] = await search(nouns, "ropes", { neighbours: 2, limit: 1 });
    assert.deepEqual(
      present(hit?.before).map(({ id }) => id),
      ["boats#2", "boats#3"],
    );
    assert.deepEqual(
      present(hit?.after).map(({ id }) => id),
      ["boats#5"],
    );
    assert.equal(hit?.before?.[1]?.snippet.text, TEXTS.boats?.[1]);
    assert.equal((await search(nouns, "ropes"))[0]?.before, undefined);
  }),

  prove("SR1 limits hits, hits of a session, and their tokens", ALL, async (nouns) => {
    await fill(nouns);
    assert.equal((await search(nouns, "anchor", { limit: 2 })).length, 2);
    const sessions = (await search(nouns, "anchor", { perSession: 1 })).map(({ session }) => session);
    assert.deepEqual(sessions.sort(), ["boats", "trains"]);
    const all = await search(nouns, "anchor", { limit: 100 });
    const tokens = (hits: readonly SearchHit[]) =>
      hits.reduce((sum, { passage }) => sum + Math.ceil(Buffer.byteLength(passage) / 4), 0);
    const some = await search(nouns, "anchor", { tokens: 18 });
    assert.ok(some.length > 0 && some.length < all.length && tokens(some) <= 18);
    assert.deepEqual(await search(nouns, "anchor", { tokens: 1 }), []);
  }),

  prove("SR1 a passed-in function orders the best hits anew", ALL, async (nouns) => {
    await fill(nouns);
    const plain = await search(nouns, "anchor", { limit: 100 });
    let given = 0;
    const reverse = (query: string, hits: readonly SearchHit[]) => {
      assert.equal(query, "anchor");
      given = hits.length;
      return hits.map((_, index) => index);
    };
    const found = await search(nouns, "anchor", { limit: 1, rerank: reverse });
    assert.equal(given, Math.min(4, plain.length));
    assert.deepEqual(ids(found), [plain[given - 1]?.id]);
    assert.deepEqual(found[0]?.signals.at(-1), { name: "rerank", value: given - 1, weight: 1 });
    await refuses("InvalidArgument", () => nouns.search("anchor", { rerank: () => [1] }));
    await refuses("InvalidArgument", () =>
      nouns.search("anchor", { limit: 1, rerank: (_, hits) => hits.map(() => Number.NaN) }),
    );
  }),

  prove("SR1 a message is found as soon as it is acknowledged", ALL, async (nouns) => {
    for (const word of ["alpha", "beta", "gamma", "delta"]) {
      await nouns.history.append({ session: "s", agent: "a" }, { role: "user", content: `the word ${word}` });
      assert.equal(shown(present((await search(nouns, word, { limit: 1 }))[0]))[0], word);
    }
  }),

  prove("SR1 other handles find it too", [...ALL, "another"], async ({ another, ...nouns }) => {
    await fill(nouns);
    const other = await another();
    assert.deepEqual(await other.search("anchor"), await nouns.search("anchor"));
    await nouns.history.append({ session: "boats", agent: "helper" }, { role: "user", content: "a buoy" });
    assert.deepEqual(ids((await other.search("buoy", { limit: 1 })).hits), ["boats#6"]);
  }),

  prove("SR1 any text is a query, and hostile text is only text", ALL, async (nouns) => {
    const texts = ["'; DROP TABLE events; --", "a\0b", "%_\\", "x".repeat(60_000), "(((", "NEAR(a b)"];
    for (const content of texts.filter((text) => !/\0/.test(text))) {
      await nouns.history.append({ session: "s", agent: "a" }, { role: "user", content });
    }
    const fields = texts.flatMap((text) => [`session:${text}`, `tag:${text}`, `agent:${text} a`, `-request:${text} a`]);
    const marks = ['"'.repeat(1000), "-".repeat(1000), "*".repeat(1000), 'a "'.repeat(500), "role:role:role:"];
    for (const query of [...texts, ...fields, ...marks]) await search(nouns, query);
    assert.equal(ids(await search(nouns, "DROP TABLE"))[0], "s#2");
    await refuses("InvalidText", () => nouns.search("\ud800 lone"));
    await refuses("LimitExceeded", () => nouns.search("x".repeat(65_537)));
    for (const [count, word] of [
      [2049, (n: number) => `w${n}`],
      [33, (n: number) => `w${n}*`],
      [65, (n: number) => `-w${n}`],
    ] as const)
      await refuses("LimitExceeded", () =>
        nouns.search(`rope ${Array.from({ length: count }, (_, n) => word(n)).join(" ")}`),
      );
  }),
];
