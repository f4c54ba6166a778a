// Lineage suite: what hides what, and which part of it is read. A clear hides what a fork inherited, and a value hides
// the ones before it, also when the session that held it is gone.
import assert from "node:assert/strict";
import type { View } from "../../contracts/lineage.ts";
import { refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

const NEEDS = ["lineage", "sessions", "history", "state"] as const;

export const hidingCases: readonly Case[] = [
  prove("SE3 resume goes back before a clear that hid what a fork inherited", NEEDS, async (nouns) => {
    const { sessions, heads } = nouns.lineage;
    await nouns.history.append({ session: "chat", agent: "ada" }, { role: "user", content: "one" });
    await sessions.fork("chat", { id: "fork" });
    const head = await heads.publish("fork");
    await nouns.history.clear({ session: "fork", agent: "ada" });
    assert.equal((await nouns.history.session("fork")).length, 0);
    assert.equal((await sessions.resume(`fork@${head.id}`)).branched, true);
    assert.equal((await nouns.history.session("fork")).length, 1);
  }),

  prove("LG6 a value that goes everywhere does not uncover the one before it", NEEDS, async (nouns) => {
    const { sessions } = nouns.lineage;
    await nouns.state.set("first", { key: "old", other: 1 });
    await sessions.fork("first", { id: "middle" });
    await nouns.state.patch("middle", { key: "new" }, { remove: ["other"] });
    await sessions.fork("middle", { id: "last" });
    await nouns.sessions.delete("middle", { everywhere: true });
    assert.deepEqual(await nouns.state.get("last"), {});
    assert.equal(await nouns.state.getKey("last", "key"), undefined);
    assert.deepEqual(await nouns.state.get("first"), { key: "old", other: 1 });
  }),

  prove("SE2 messages at a head are read from a point on, by agent, and from the end", NEEDS, async (nouns) => {
    const { sessions, heads } = nouns.lineage;
    const say = (session: string, agent: string, content: string) =>
      nouns.history.append({ session, agent }, { role: "user", content });
    for (const [agent, text] of ["ada 1", "bob 2", "ada 3"].map((one) => one.split(" ")))
      await say("chat", agent ?? "", text ?? "");
    await sessions.fork("chat", { id: "fork" });
    await say("fork", "bob", "4");
    const head = await heads.publish("fork");
    await say("fork", "ada", "later");
    const view = await sessions.at(`fork@${head.id}`);
    const shown = async (range: NonNullable<Parameters<View["messages"]>[0]>) =>
      (await view.messages(range))
        .map((one) => ("erased" in one ? "-" : one.content.map((block) => (block.type === "text" ? block.text : "?"))))
        .join("");
    const all = await view.messages();
    assert.equal(await shown({}), "1234");
    assert.equal(await shown({ after: all[1]?.id ?? "" }), "34", "behind one that is inherited");
    assert.equal(await shown({ after: 1 }), "4", "a seq is the fork's own");
    assert.equal(await shown({ after: all[0]?.id ?? "", limit: 2 }), "23");
    assert.equal(await shown({ offset: 1, limit: 2 }), "23");
    assert.equal(await shown({ offset: 3 }), "4");
    assert.equal(await shown({ agent: "ada" }), "13");
    assert.equal(await shown({ agent: "bob", last: 1 }), "4");
    assert.equal(await shown({ agent: "bob", offset: 1, limit: 5 }), "4");
    assert.equal(await shown({ last: 3 }), "234");
    assert.equal(await shown({ after: all[2]?.id ?? "", last: 3 }), "4");
    for (const range of [
      { last: 1, limit: 1 },
      { after: "nobody#1" },
      { after: -1 },
      { limit: 0 },
      { last: 0 },
      { until: 1 },
    ]) {
      await refuses(
        "InvalidArgument",
        () => view.messages(range as NonNullable<Parameters<View["messages"]>[0]>),
        JSON.stringify(range),
      );
    }
  }),
];
