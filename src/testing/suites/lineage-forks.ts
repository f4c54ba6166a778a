// Forks: what they share with their source, what they count and page through, and what erasing does to both.
import assert from "node:assert/strict";
import { present, range, refuses } from "../expect.ts";
import { scaled } from "../scale.ts";
import { type Case, prove } from "../suite.ts";
import { AGENT, NEEDS, say, shown, shownAt, texts } from "./lineage-fixture.ts";

export const forkCases: readonly Case[] = [
  prove("SE3 a session counts the messages it shows, its own and those it inherits", NEEDS, async (nouns) => {
    const { heads, sessions } = nouns.lineage;
    await say(nouns, "chat", "one", "two");
    const first = await heads.publish("chat");
    await say(nouns, "chat", "three");
    assert.equal((await sessions.fork("chat", { id: "fork" })).messages, 2);
    assert.equal((await sessions.fork("chat", { id: "at", message: "chat#2" })).messages, 1);
    await say(nouns, "fork", "four");
    await sessions.fork("fork", { id: "deep" });
    await sessions.rewind(`chat@${first.id}`);
    const counted = async () => {
      const found: Record<string, number> = {};
      for (const { id, messages } of (await nouns.sessions.list()).items) {
        assert.equal((await nouns.sessions.get(id))?.messages, messages);
        assert.equal((await sessions.update(id, { title: "t" })).messages, messages);
        assert.equal((await sessions.at(id)).session.messages, messages);
        assert.equal((await shown(nouns, id)).length, messages, id);
        found[id] = messages;
      }
      return found;
    };
    assert.deepEqual(await counted(), { chat: 2, fork: 3, at: 1, deep: 3 });
    await nouns.history.clear({ session: "fork", agent: AGENT });
    assert.deepEqual(await counted(), { chat: 2, fork: 0, at: 1, deep: 2 });
    await say(nouns, "fork", "five");
    assert.deepEqual(await counted(), { chat: 2, fork: 1, at: 1, deep: 2 });
  }),

  prove("SE3 fork makes a session that shares what was before and goes its own way", NEEDS, async (nouns) => {
    const { sessions, heads } = nouns.lineage;
    await say(nouns, "chat", "one", "two");
    const head = await heads.publish("chat");
    await say(nouns, "chat", "three");
    const events = (await nouns.sessions.get("chat"))?.seq;
    const fork = await sessions.fork(`chat@${head.id}`, { id: "fork", title: "Other" });
    assert.equal(fork.title, "Other");
    assert.equal(fork.cacheId, "chat");
    assert.equal((await nouns.sessions.get("chat"))?.seq, events, "the source gains no event");
    assert.deepEqual(await shown(nouns, "fork"), ["one", "two"]);
    await say(nouns, "fork", "own");
    await say(nouns, "chat", "four");
    assert.deepEqual(await shown(nouns, "fork"), ["one", "two", "own"]);
    assert.deepEqual(await shown(nouns, "chat"), ["one", "two", "three", "four"]);
    const own = await heads.publish("fork");
    assert.equal(own.basis, null);
    assert.equal(own.counts.messages, 3);
    assert.equal((await nouns.log.verify("fork")).ok, true);
  }),

  prove(
    "SE3 a fork is made at a message, from the current head, or from where a session without one stands",
    NEEDS,
    async (nouns) => {
      const { sessions, heads } = nouns.lineage;
      const [, two] = await say(nouns, "chat", "one", "two", "three");
      await sessions.fork("chat", { id: "tip" });
      assert.deepEqual(await shown(nouns, "tip"), ["one", "two", "three"]);
      await sessions.fork("chat", { id: "at", message: present(two).id });
      assert.deepEqual(await shown(nouns, "at"), ["one", "two"]);
      await heads.publish("chat");
      await say(nouns, "chat", "unpublished");
      await sessions.fork("chat", { id: "head" });
      assert.deepEqual(await shown(nouns, "head"), ["one", "two", "three"]);
      await sessions.fork("tip", { id: "inherited", message: present(two).id });
      assert.deepEqual(await shown(nouns, "inherited"), ["one", "two"]);
      const [own] = await say(nouns, "tip", "own");
      await refuses("NotFound", () => sessions.fork("chat", { message: present(own).id }));
      await refuses("NotFound", () => sessions.fork("nobody"));
    },
  ),

  prove("HI1 limit, offset, last, after and count go through what a fork inherits", NEEDS, async (nouns) => {
    const { sessions } = nouns.lineage;
    const all: string[] = [];
    let session = "s0";
    for (const n of range(6)) {
      if (n > 0) {
        await sessions.fork(session, { id: `s${n}` });
        session = `s${n}`;
      }
      const words = range(3).map((i) => `${n}.${i}`);
      await say(nouns, session, ...words);
      all.push(...words);
    }
    const scope = { session, agent: AGENT };
    const { history } = nouns;
    assert.deepEqual(texts(await history.get(scope)), all);
    assert.equal(await history.count(scope), all.length);
    for (const last of [1, 3, 4, 10, 18, 30])
      assert.deepEqual(texts(await history.get(scope, { last })), all.slice(-last));
    for (const offset of [0, 2, 3, 7, 17, 18, 40]) {
      assert.deepEqual(texts(await history.get(scope, { offset, limit: 5 })), all.slice(offset, offset + 5));
      assert.deepEqual(texts(await history.session(session, { offset })), all.slice(offset));
    }
    const read = await history.get(scope);
    for (const [i, message] of read.entries()) {
      assert.deepEqual(texts(await history.get(scope, { after: message.id })), all.slice(i + 1));
    }
    assert.deepEqual(texts(await history.get(scope, { after: present(read.at(-2)).seq })), all.slice(-1));
    await refuses("InvalidArgument", () => history.get(scope, { after: "elsewhere#3" }));
    await refuses("InvalidArgument", () => history.get(scope, { after: "no id" }));
  }),

  prove("LG6 a fork that clears hides what it inherited; the source keeps it", NEEDS, async (nouns) => {
    const { sessions, heads } = nouns.lineage;
    await say(nouns, "chat", "one", "two");
    await sessions.fork("chat", { id: "fork" });
    const before = await heads.publish("fork");
    await say(nouns, "fork", "own");
    await nouns.history.clear({ session: "fork", agent: AGENT });
    await say(nouns, "fork", "after");
    assert.deepEqual(await shown(nouns, "fork"), ["after"]);
    assert.equal(await nouns.history.count({ session: "fork", agent: AGENT }), 1);
    assert.deepEqual(await shown(nouns, "chat"), ["one", "two"]);
    assert.deepEqual(await shownAt(nouns, `fork@${before.id}`), ["one", "two"]);
    await sessions.fork("fork", { id: "fork of it" });
    assert.deepEqual(await shown(nouns, "fork of it"), ["one", "two"], "from its head, which is older than the clear");
    const later = await heads.publish("fork");
    await sessions.fork(`fork@${later.id}`, { id: "later" });
    assert.deepEqual(await shown(nouns, "later"), ["after"]);
  }),

  prove(
    "LG6 what a live fork inherits stays when its source is deleted, and goes with the last fork",
    NEEDS,
    async (nouns) => {
      const { sessions } = nouns.lineage;
      await say(nouns, "chat", "one", "two");
      await sessions.fork("chat", { id: "a" });
      await say(nouns, "chat", "three");
      await sessions.fork("a", { id: "b" });
      await say(nouns, "b", "own");
      const gone = present(await nouns.sessions.delete("chat"));
      assert.equal(gone.removed.messages, 1);
      assert.equal(gone.kept.inherited, 2);
      assert.deepEqual([gone.removed.events, gone.kept.events], [1, 3], "only what nobody inherits went");
      const { message } = await refuses("SessionDeleted", () => nouns.log.anchor("chat"));
      assert.match(message, /"chat" was deleted, except 2 messages of it that "a" inherit/);
      assert.equal(await nouns.sessions.get("chat"), null);
      assert.deepEqual(await shown(nouns, "chat"), []);
      assert.deepEqual(await shown(nouns, "a"), ["one", "two"]);
      await nouns.sessions.delete("a");
      assert.deepEqual(await shown(nouns, "b"), ["one", "two", "own"]);
      const last = present(await nouns.sessions.delete("b"));
      assert.equal(last.removed.messages, 3, "its own and what was kept for it");
      assert.deepEqual([last.removed.events, last.kept.events], [3 + 2 + 3, undefined], "of all three");
    },
  ),

  prove(
    "LG6 a fork that is made while its source and another fork are deleted keeps what it inherits",
    [...NEEDS, "another"],
    async (nouns) => {
      const [one, two] = [await nouns.another(), await nouns.another()];
      for (const round of range(scaled({ short: 4, long: 20 }))) {
        const [source, old, fork] = [`source ${round}`, `old ${round}`, `fork ${round}`];
        const [first, last] = await say(nouns, source, "one", "two");
        await nouns.lineage.sessions.fork(source, { id: old, message: present(first).id });
        const [made] = await Promise.allSettled([
          one.sessions.fork(source, { id: fork, message: present(last).id }),
          nouns.sessions.delete(old),
          two.sessions.delete(source),
        ]);
        if (made.status === "fulfilled") assert.deepEqual(await shown(nouns, fork), ["one", "two"], fork);
        else await refuses(["SessionDeleted", "NotFound"], () => Promise.reject(made.reason));
      }
    },
  ),

  prove("LG6 everywhere: what forks inherit goes too, and they show that it was there", NEEDS, async (nouns) => {
    const { sessions } = nouns.lineage;
    await say(nouns, "chat", "one", "two");
    await sessions.fork("chat", { id: "fork" });
    await say(nouns, "fork", "own");
    const gone = present(await nouns.sessions.delete("chat", { everywhere: true }));
    assert.equal(gone.removed.messages, 2);
    assert.deepEqual(await shown(nouns, "fork"), ["own"]);
  }),
];
