// Search with filters, as options and in the text of the query.
import assert from "node:assert/strict";
import type { SearchOptions } from "../../contracts/search.ts";
import { present, refuses } from "../expect.ts";
import { type Case, type CaseContext, prove } from "../suite.ts";

const ALL = ["sessions", "history", "search", "clock"] as const;
type Nouns = Pick<CaseContext, (typeof ALL)[number]>;

async function found(nouns: Nouns, query: string, options?: SearchOptions): Promise<readonly string[]> {
  return (await nouns.search(query, { limit: 100, ...options })).hits.map(({ id }) => id).sort();
}

/** Each message has the word "rope". */
async function fill({ sessions, history, clock }: Nouns): Promise<number> {
  const long = "an agent with a long id ".repeat(20);
  await sessions.create({ id: "one", request: "r-1", tags: ["work", "boats"] });
  await sessions.create({ id: "two", request: "r-2", tags: ["boats"] });
  await history.append({ session: "one", agent: "ada" }, { role: "user", content: "rope one" });
  const use = (name: string) => ({ type: "tool_use", id: "t", name, input: { q: "rope" } }) as const;
  await history.append({ session: "one", agent: "ada" }, { role: "assistant", content: [use("Bash"), use("Read")] });
  await clock.advance(90_000);
  const at = present(await history.append({ session: "two", agent: "bob" }, { role: "user", content: "a rope" })).at;
  await clock.advance(20_000);
  await history.append({ session: "two", agent: `${long}a` }, { role: "assistant", content: [use("Bash")] });
  await history.append({ session: "two", agent: `${long}b` }, { role: "system", content: "the rope" });
  await sessions.setAlias("two", "zwei");
  return at;
}

const ONE = ["one#2", "one#3"];
const TWO = ["two#2", "two#3", "two#4"];

export const SEARCH_FILTER_CASES: readonly Case[] = [
  prove("SR1 filters by session, request, tag, agent, role and tool", ALL, async (nouns) => {
    await fill(nouns);
    const cases: readonly [SearchOptions, string, readonly string[]][] = [
      [{ session: "one" }, "session:one", ONE],
      [{ request: "r-2" }, "request:r-2", TWO],
      [{ tag: "boats" }, "tag:boats", [...ONE, ...TWO]],
      [{ tag: "work" }, "tag:work", ONE],
      [{ agent: "bob" }, "agent:bob", ["two#2"]],
      [{ role: "user" }, "role:user", ["one#2", "two#2"]],
      [{ tool: "Bash" }, "tool:Bash", ["one#3", "two#3"]],
      [{ tool: "Read" }, "tool:Read", ["one#3"]],
      [{ tool: "Bash", agent: "ada" }, "tool:Bash agent:ada", ["one#3"]],
      [{ request: "r-1", tag: "boats", role: "user" }, "request:r-1 tag:boats role:user", ["one#2"]],
      [{ request: "none" }, "request:none", []],
      [{ tag: "none" }, "session:none", []],
      [{ tool: "none" }, "role:none", []],
    ];
    for (const [options, text, expected] of cases) {
      assert.deepEqual(await found(nouns, "rope", options), expected, text);
      assert.deepEqual(await found(nouns, `rope ${text}`), expected, text);
    }
    assert.deepEqual(await found(nouns, "rope session:zwei"), TWO);
  }),

  prove("SR1 a minus excludes, and values of one field are alternatives", ALL, async (nouns) => {
    await fill(nouns);
    assert.deepEqual(await found(nouns, "rope -session:one"), TWO);
    assert.deepEqual(await found(nouns, "rope -tag:work -role:user"), ["two#3", "two#4"]);
    assert.deepEqual(await found(nouns, "rope -tool:Bash"), ["one#2", "two#2", "two#4"]);
    assert.deepEqual(await found(nouns, "rope role:system role:user"), ["one#2", "two#2", "two#4"]);
    assert.deepEqual(await found(nouns, "rope agent:ada agent:bob", { role: "user" }), ["one#2", "two#2"]);
  }),

  prove("SR1 filters by time to the millisecond", ALL, async (nouns) => {
    const at = await fill(nouns);
    assert.deepEqual(await found(nouns, "rope", { since: at }), TWO);
    assert.deepEqual(await found(nouns, "rope", { since: at + 1 }), ["two#3", "two#4"]);
    assert.deepEqual(await found(nouns, "rope", { until: at }), [...ONE, "two#2"]);
    assert.deepEqual(await found(nouns, "rope", { until: at - 1 }), ONE);
    assert.deepEqual(await found(nouns, "rope", { since: at, until: at }), ["two#2"]);
    await refuses("InvalidArgument", () => found(nouns, "rope", { since: at + 1, until: at }));
  }),

  prove("SR1 agents with long ids are told apart", ALL, async (nouns) => {
    await fill(nouns);
    const long = "an agent with a long id ".repeat(20);
    assert.deepEqual(await found(nouns, "rope", { agent: `${long}a` }), ["two#3"]);
    assert.deepEqual(await found(nouns, "rope", { agent: long }), []);
    assert.deepEqual(await found(nouns, `rope -agent:"${long}a"`), [...ONE, "two#2", "two#4"]);
  }),

  prove("SR1 filters follow a session when it is changed", ALL, async (nouns) => {
    await fill(nouns);
    await nouns.sessions.update("one", { request: "r-2", tags: [] });
    assert.deepEqual(await found(nouns, "rope", { request: "r-2" }), [...ONE, ...TWO]);
    assert.deepEqual(await found(nouns, "rope", { tag: "work" }), []);
  }),

  prove("SR1 a session that is not there is an error as an option", ALL, async (nouns) => {
    await refuses("NotFound", () => nouns.search("rope", { session: "none" }));
    await refuses("NotFound", () => nouns.search("", { session: "none" }));
  }),
];
