// Compaction beside others: what a summary does not cover stays in the context, however often it is tried again.
import assert from "node:assert/strict";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, type CaseContext, type ContextName, prove } from "../suite.ts";

const NEEDS = ["history", "lineage", "check"] as const satisfies ContextName[];
type Nouns = Pick<CaseContext, (typeof NEEDS)[number]>;

async function say(history: Holdfast["history"], session: string, ...texts: string[]): Promise<readonly string[]> {
  const added = await history.appendMany(
    { session, agent: "ada" },
    texts.map((content) => ({ role: "user", content })),
  );
  return added.map(({ id }) => id);
}

async function shown({ lineage }: Nouns, session: string): Promise<readonly string[]> {
  const { messages } = await lineage.sessions.context(session);
  return messages.map(({ content: [block] }) => (block?.type === "text" ? block.text : "?"));
}

export const compactCases: readonly Case[] = [
  prove("SE6 a summary covers what there was up to the message named, and nothing behind it", NEEDS, async (nouns) => {
    const { heads, sessions } = nouns.lineage;
    const [, second, third] = await say(nouns.history, "chat", "one", "two", "three", "four");
    const head = await heads.compact("chat", { agent: "ada", summary: "in short", upTo: present(second) });
    assert.equal(head.compaction?.upTo, second);
    assert.deepEqual(await shown(nouns, "chat"), ["in short", "three", "four"]);

    // Of what a fork inherits as well, and of a summary that covers less than the one before.
    await sessions.fork("chat", { id: "fork" });
    await say(nouns.history, "fork", "five");
    await heads.compact("fork", { agent: "ada", summary: "more", upTo: present(third) });
    assert.deepEqual(await shown(nouns, "fork"), ["more", "four", "five"]);
    await heads.compact("fork", { agent: "ada", summary: "less", upTo: present(second) });
    assert.deepEqual(await shown(nouns, "fork"), ["less", "three", "four", "five", "more"]);
    assert.deepEqual((await nouns.check()).issues, []);
  }),

  prove("SE6 a summary goes with the next only when that covers all it says", NEEDS, async (nouns) => {
    const { heads } = nouns.lineage;
    const [first] = await say(nouns.history, "chat", "one");
    await nouns.history.append({ session: "chat", agent: "bob" }, { role: "user", content: "two" });
    await heads.compact("chat", { agent: "ada", summary: "of both" });
    await nouns.history.clear({ session: "chat", agent: "bob" });
    await heads.compact("chat", { agent: "ada", summary: "of the first", upTo: present(first) });
    assert.deepEqual(await shown(nouns, "chat"), ["of the first", "of both"]);
    await heads.compact("chat", { agent: "ada", summary: "again", upTo: present(first) });
    assert.deepEqual(await shown(nouns, "chat"), ["again", "of both"]);
  }),

  prove("ST7 a summary of what the session does not show is refused, and nothing is written", NEEDS, async (nouns) => {
    const { heads, sessions } = nouns.lineage;
    const { history } = nouns;
    const [first] = await say(history, "chat", "one");
    const start = await heads.publish("chat");
    const [left] = await say(history, "chat", "left");
    await heads.publish("chat");
    await sessions.rewind(`chat@${start.id}`);
    const [other] = await say(history, "other", "elsewhere");
    const [gone] = await history.appendMany({ session: "chat", agent: "bob" }, [{ role: "user", content: "gone" }]);
    await history.clear({ session: "chat", agent: "bob" });
    await say(history, "chat", "two");
    const before = await sessions.get("chat");
    const missing = ["chat#1", "chat#9999", "nobody#1"];
    for (const upTo of [...missing, present(left), present(other), present(gone?.id)]) {
      const error = await refuses("NotFound", () => heads.compact("chat", { agent: "ada", summary: "s", upTo }), upTo);
      assert.deepEqual([error.details.kind, error.details.id, error.hint !== undefined], ["message", upTo, true]);
    }
    for (const upTo of ["", "chat", "chat#0", 7, null]) {
      await refuses("InvalidArgument", () => heads.compact("chat", { agent: "ada", summary: "s", upTo } as never));
    }
    const both = { agent: "ada", summary: "s", keep: 0, upTo: present(first) };
    await refuses("InvalidArgument", () => heads.compact("chat", both));
    assert.deepEqual(await sessions.get("chat"), before);
  }),

  prove(
    "SE6 messages that are added during a compaction stay in the context, also when the compaction is retried",
    [...NEEDS, "another"],
    async (nouns) => {
      const other = await nouns.another();
      for (const round of range(12)) {
        const session = `s${round}`;
        const ids = await say(nouns.history, session, "one", "two", "three");
        const summary = "in short ".repeat(round % 2 === 0 ? 1 : 20_000);
        const upTo = present(ids[2]);
        await Promise.all([
          nouns.lineage.heads.compact(session, { agent: "ada", summary, upTo }),
          say(other.history, session, "late").then(() => other.heads.publish(session)),
          other.heads.publish(session),
        ]);
        assert.deepEqual(await shown(nouns, session), [summary, "late"]);
      }
      assert.deepEqual((await nouns.check()).issues, []);
    },
  ),

  prove("SE6 a summary that was erased stands for nothing any more", NEEDS, async (nouns) => {
    await nouns.history.append({ session: "s", agent: "bob" }, { role: "user", content: "of bob" });
    await nouns.lineage.heads.compact("s", { agent: "ada", summary: "in short" });
    await nouns.history.append({ session: "s", agent: "bob" }, { role: "user", content: "later" });
    assert.deepEqual(await shown(nouns, "s"), ["in short", "later"]);
    await nouns.history.clear({ session: "s", agent: "ada" });
    assert.deepEqual(await shown(nouns, "s"), ["of bob", "later"]);
    const { compaction } = await nouns.lineage.sessions.context("s");
    assert.equal(compaction, null);
  }),

  prove("SE6 what a fork hides is no end of what it shows, however much it is", NEEDS, async (nouns) => {
    const { heads, sessions } = nouns.lineage;
    const [first] = await say(nouns.history, "s", "first");
    const hidden = range(600).map((n) => ({ role: "user", content: `${n}` }) as const);
    await nouns.history.appendMany({ session: "s", agent: "bob" }, hidden);
    await say(nouns.history, "s", "behind");
    await sessions.fork("s", { id: "f" });
    await nouns.history.clear({ session: "f", agent: "bob" });
    for (const summary of ["one", "two"]) {
      await heads.compact("f", { agent: "ada", summary, upTo: present(first) });
      assert.deepEqual(await shown(nouns, "f"), [summary, "behind"]);
    }
  }),

  prove("SE6 how many are kept is counted without the summary there is", NEEDS, async (nouns) => {
    const { heads } = nouns.lineage;
    await say(nouns.history, "s", "0", "1", "2", "3", "4");
    for (const summary of ["first", "second", "third"]) {
      await heads.compact("s", { agent: "ada", summary, keep: 2 });
      assert.deepEqual(await shown(nouns, "s"), [summary, "3", "4"]);
      const { messages, leftOut } = await nouns.lineage.sessions.context("s", { budget: 0 });
      assert.deepEqual([messages.length, leftOut.messages], [1, 2], "no older summary is counted");
    }
    await say(nouns.history, "s", "5");
    await heads.compact("s", { agent: "ada", summary: "fourth", keep: 1 });
    assert.deepEqual(await shown(nouns, "s"), ["fourth", "5"]);
    await heads.compact("s", { agent: "ada", summary: "fifth" });
    assert.deepEqual(await shown(nouns, "s"), ["fifth"]);
  }),

  prove("SE6 of two compactions at once neither takes what no summary covers", [...NEEDS, "another"], async (nouns) => {
    const both = [nouns.lineage.heads, (await nouns.another()).heads];
    for (const round of range(10)) {
      const session = `s${round}`;
      const ids = await say(nouns.history, session, "0", "1", "2", "3", "4");
      const made = await Promise.all(
        both.map((one, who) => one.compact(session, { agent: "ada", summary: `sum ${who}`, keep: 2 })),
      );
      for (const { compaction } of made) assert.equal(compaction?.upTo, ids[2]);
      assert.deepEqual((await shown(nouns, session)).slice(1), ["3", "4"]);
      // Three compactions that name the same message: the last summary stands for the others.
      const upTo = present(ids[3]);
      await say(nouns.history, session, "5");
      const again = [...both, ...both.slice(0, 1)];
      await Promise.all(again.map((one, who) => one.compact(session, { agent: "ada", summary: `new ${who}`, upTo })));
      assert.deepEqual((await shown(nouns, session)).slice(1), ["4", "5"]);
    }
    assert.deepEqual((await nouns.check()).issues, []);
  }),

  prove(
    "SE6 of several compactions at once the last stands for all before it",
    [...NEEDS, "another"],
    async (nouns) => {
      const both = [nouns.lineage.heads, (await nouns.another()).heads];
      for (const named of [false, true]) {
        const session = `named ${named}`;
        const ids = await say(nouns.history, session, "0", "1");
        const upTo = named ? { upTo: present(ids[1]) } : {};
        const all = range(4).map((who) =>
          present(both[who % 2]).compact(session, { agent: "ada", summary: `sum ${who}`, ...upTo }),
        );
        await Promise.all(all);
        assert.equal((await shown(nouns, session)).length, 1, "one summary");
      }
    },
  ),

  prove(
    "SE6 a session that left the line which was summed up says so, and keeps its context",
    [...NEEDS, "another"],
    async (nouns) => {
      const other = await nouns.another();
      let left = 0;
      for (const round of range(4)) {
        const session = `s${round}`;
        await say(nouns.history, session, "one");
        const start = await nouns.lineage.heads.publish(session);
        const [, last] = await say(nouns.history, session, "two", "three");
        await nouns.lineage.heads.publish(session);
        const input = { agent: "ada", summary: "in short ".repeat(600_000), upTo: present(last) };
        const [, made] = await Promise.allSettled([
          other.sessions.rewind(`${session}@${start.id}`),
          nouns.lineage.heads.compact(session, input),
        ]);
        if (made.status === "fulfilled") continue;
        left += 1;
        await refuses(["Conflict", "NotFound"], () => Promise.reject(made.reason));
        assert.deepEqual(await shown(nouns, session), ["one"]);
      }
      assert.notEqual(left, 0, "none was overtaken");
    },
  ),
];
