// Search and branches: by default what sessions show now, and never what was erased.
import assert from "node:assert/strict";
import type { SearchOptions } from "../../contracts/search.ts";
import { present } from "../expect.ts";
import { type Case, type CaseContext, prove } from "../suite.ts";

const ALL = ["sessions", "history", "lineage", "search"] as const;
type Nouns = Pick<CaseContext, (typeof ALL)[number]>;

const scope = { session: "chat", agent: "ada" };

const say = ({ history }: Pick<Nouns, "history">, session: string, content: string) =>
  history.append({ session, agent: "ada" }, { role: "user", content });

/** Two messages, a head, and one more that a rewind leaves; then one on the new branch. */
async function rewind(nouns: Nouns): Promise<{ readonly kept: string; readonly left: string; readonly next: string }> {
  const { lineage } = nouns;
  const kept = (await say(nouns, "chat", "harbour first")).id;
  const head = await lineage.heads.publish("chat");
  const left = (await say(nouns, "chat", "harbour left behind")).id;
  await lineage.heads.publish("chat");
  await lineage.sessions.rewind({ session: "chat", head: head.id });
  const next = (await say(nouns, "chat", "harbour next")).id;
  return { kept, left, next };
}

async function found(nouns: Pick<Nouns, "search">, query: string, options?: SearchOptions): Promise<readonly string[]> {
  return (await nouns.search(query, options)).hits.map(({ id }) => id).sort();
}

export const SEARCH_LINEAGE_CASES: readonly Case[] = [
  prove("SR2 finds what a session shows now, and what was rewound on request", ALL, async (nouns) => {
    const { kept, left, next } = await rewind(nouns);
    assert.deepEqual(await found(nouns, "harbour"), [kept, next].sort());
    assert.deepEqual(await found(nouns, "harbour", { session: "chat" }), [kept, next].sort());
    assert.deepEqual(await found(nouns, "harbour", { rewound: true }), [kept, left, next].sort());
    assert.deepEqual(await found(nouns, "harbour", { rewound: true, session: "chat" }), [kept, left, next].sort());
    const { hits } = await nouns.search("left behind", { rewound: true, neighbours: 3 });
    const hit = present(hits.find(({ id }) => id === left));
    assert.equal(hit.shownIn, null);
    assert.deepEqual(
      present(hit.before).map(({ id }) => id),
      [kept],
    );
    assert.deepEqual(hit.after, []);
  }),

  prove("SR2 words that were rewound, or that another agent said, bring no message beside them", ALL, async (nouns) => {
    const { history, lineage } = nouns;
    const start = await say(nouns, "chat", "start");
    const head = await lineage.heads.publish("chat");
    await say(nouns, "chat", "platypus");
    assert.deepEqual(await found(nouns, "platypus"), [start.id, "chat#4"]);
    await lineage.heads.publish("chat");
    await lineage.sessions.rewind({ session: "chat", head: head.id });
    await say(nouns, "chat", "next");
    assert.deepEqual(await found(nouns, "platypus"), []);
    assert.deepEqual(await found(nouns, "platypus", { rewound: true }), ["chat#4"]);
    await history.append({ session: "chat", agent: "bob" }, { role: "user", content: "bluebird" });
    assert.deepEqual(await found(nouns, "bluebird", { agent: "ada" }), []);
    assert.equal((await found(nouns, "bluebird")).length > 1, true);
  }),

  prove("SR2 finds what a session showed at a head", ALL, async (nouns) => {
    const { lineage } = nouns;
    const first = await say(nouns, "chat", "harbour one");
    const head = await lineage.heads.publish("chat");
    await say(nouns, "chat", "harbour two");
    assert.deepEqual(await found(nouns, "harbour", { session: `chat@${head.id}` }), [first.id]);
    assert.deepEqual(await found(nouns, "harbour", { session: { session: "chat", head: head.id } }), [first.id]);
  }),

  prove("SR2 a fork shows what it inherits, and each message is found once", ALL, async (nouns) => {
    const { lineage } = nouns;
    const { kept, left, next } = await rewind(nouns);
    await lineage.heads.publish("chat");
    const fork = await lineage.sessions.fork("chat", { id: "fork" });
    const own = (await say(nouns, fork.id, "harbour in the fork")).id;
    const later = (await say(nouns, "chat", "harbour later")).id;
    assert.deepEqual(await found(nouns, "harbour", { session: "fork" }), [kept, next, own].sort());
    assert.deepEqual(await found(nouns, "harbour"), [kept, next, own, later].sort());
    const { hits } = await nouns.search("harbour next", { session: "fork", neighbours: 1, limit: 1 });
    assert.deepEqual([hits[0]?.id, hits[0]?.session, hits[0]?.shownIn], [next, "chat", "fork"]);
    assert.deepEqual(
      present(hits[0]?.after).map(({ id }) => id),
      [own],
    );
    assert.ok(!(await found(nouns, "harbour")).includes(left));
  }),

  prove("SR2 a fork still shows what its source rewound or deleted", ALL, async (nouns) => {
    const { lineage, sessions } = nouns;
    const first = await say(nouns, "chat", "harbour one");
    const head = await lineage.heads.publish("chat");
    const second = await say(nouns, "chat", "harbour two");
    await lineage.heads.publish("chat");
    await lineage.sessions.fork("chat", { id: "fork" });
    await lineage.sessions.rewind({ session: "chat", head: head.id });
    assert.deepEqual(await found(nouns, "harbour"), [first.id, second.id]);
    const { hits } = await nouns.search("two", { limit: 1 });
    assert.deepEqual([hits[0]?.id, hits[0]?.shownIn], [second.id, "fork"]);
    await sessions.delete("chat");
    assert.deepEqual(await found(nouns, "harbour"), [first.id, second.id]);
    assert.deepEqual(
      (await nouns.search("harbour")).hits.map(({ shownIn, title }) => [shownIn, title]),
      [
        ["fork", null],
        ["fork", null],
      ],
    );
    await sessions.delete("fork");
    assert.deepEqual(await found(nouns, "harbour", { rewound: true }), []);
  }),

  prove("SR2 what a fork cleared is not found in it", ALL, async (nouns) => {
    const { lineage, history } = nouns;
    const first = await say(nouns, "chat", "harbour one");
    await lineage.sessions.fork("chat", { id: "fork" });
    await history.clear({ session: "fork", agent: "ada" });
    assert.deepEqual(await found(nouns, "harbour", { session: "fork" }), []);
    assert.deepEqual(await found(nouns, "harbour"), [first.id]);
  }),

  prove("SR2 what was cleared or deleted is found no more, by no snippet and no neighbour", ALL, async (nouns) => {
    const { history, sessions } = nouns;
    await history.append(scope, { role: "user", content: "the secret harbour" }, { run: "r" });
    const second = await history.append(scope, { role: "user", content: "an open harbour" });
    await say(nouns, "other", "a deleted harbour");
    assert.equal((await found(nouns, "harbour")).length, 3);
    await history.clearRun(scope, "r");
    await sessions.delete("other");
    for (const options of [{}, { rewound: true }, { neighbours: 5 }, { rewound: true, neighbours: 5 }]) {
      const { hits } = await nouns.search("secret deleted harbour", options);
      assert.deepEqual(
        hits.map(({ id }) => id),
        [second.id],
      );
      assert.ok(!/secret|deleted/.test(JSON.stringify(hits)));
    }
    await history.clear(scope);
    assert.deepEqual(await found(nouns, "harbour secret", { rewound: true }), []);
  }),
];
