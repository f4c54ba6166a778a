// Archives of forks: each is complete alone, and they share what they inherit.
import assert from "node:assert/strict";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { fileOf, isSameBytes, present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { CHECKED, elsewhere, everything, makeRich, NEEDS, scope } from "./archive-fixture.ts";

export const forkCases: readonly Case[] = [
  prove("AR3 a fork is complete alone: with what it inherits, and nothing that came later", NEEDS, async (nouns) => {
    await makeRich(nouns, "source");
    const fork = await nouns.lineage.sessions.fork("source", { id: "fork" });
    await nouns.history.append(scope("source"), { role: "user", content: "after the fork, a secret" });
    await nouns.history.append(scope("fork"), { role: "user", content: "in the fork" });
    const head = await nouns.lineage.heads.publish("fork", { final: 1 });
    const second = await nouns.lineage.sessions.fork(`fork@${head.id}`, { id: "second" });
    await nouns.history.append(scope("second"), { role: "user", content: "in the second" });
    await nouns.lineage.heads.publish(second.id);
    const file = await fileOf({ sessions: nouns.archives }, "second");
    await elsewhere(async (other) => {
      const report = await other.sessions.import([file]);
      assert.deepEqual([...report.inherited].sort(), ["fork", "source"]);
      assert.deepEqual(await everything(other, "second"), await everything(nouns, "second"));
      isSameBytes(await fileOf(other, "second"), file);
      assert.equal(await other.sessions.get("source"), null, "only what is inherited is here");
      assert.equal(await other.blobs.exists(present((await nouns.history.session("source")).at(-1)).ref), false);
      const third = await other.sessions.fork("second", { id: "third" });
      assert.equal((await other.history.session(third.id)).length, (await nouns.history.session("second")).length);
    });
    assert.equal(fork.id, "fork");
  }),

  prove("AR3 forks of one session share what they inherit, in whichever order they come", NEEDS, async (nouns) => {
    const say = (session: string, content: string) => nouns.history.append(scope(session), { role: "user", content });
    await say("source", "one");
    await nouns.lineage.sessions.fork("source", { id: "early" });
    await say("source", "two");
    await nouns.state.set("source", { a: 1 });
    await nouns.lineage.sessions.fork("source", { id: "late" });
    await say("late", "mine");
    const [early, late, source] = await Promise.all(
      ["early", "late", "source"].map((id) => fileOf({ sessions: nouns.archives }, id)),
    );
    for (const order of [
      [early, late],
      [late, early],
      [source, early, late],
    ]) {
      await elsewhere(async (other) => {
        for (const file of order) await other.sessions.import([present(file)]);
        for (const id of ["early", "late"]) assert.deepEqual(await everything(other, id), await everything(nouns, id));
      });
    }
    await elsewhere(async (other) => {
      await other.history.append(scope("source"), { role: "user", content: "another past" });
      await refuses("Conflict", () => other.sessions.import([present(early)]));
      assert.equal(await other.sessions.get("early"), null);
    });
  }),

  prove("AR3 a fork whose source was deleted is as complete as before", NEEDS, async (nouns) => {
    await makeRich(nouns, "source", 1000);
    const head = await nouns.lineage.heads.publish("source");
    await nouns.lineage.sessions.fork(`source@${head.id}`, { id: "fork" });
    await nouns.history.append(scope("fork"), { role: "user", content: "in the fork" });
    const before = await everything(nouns, "fork");
    await nouns.sessions.delete("source");
    const file = await fileOf({ sessions: nouns.archives }, "fork");
    await elsewhere(async (other) => {
      await other.sessions.import([file]);
      assert.deepEqual(await everything(other, "fork"), before);
      assert.deepEqual((await other.check()).issues, []);
      isSameBytes(await fileOf(other, "fork"), file);
    });
  }),

  prove(
    "AR3 what is here only in part, or by name, takes nothing, and says what completes it",
    CHECKED,
    async (nouns) => {
      const { import: take } = nouns.archives;
      const files = await elsewhere(async (other) => {
        await other.history.append(scope("source"), { role: "user", content: "before" });
        await other.sessions.fork("source", { id: "fork" });
        await other.invocations.spawn("fork", { session: { id: "named" } }, async () => 1);
        return { fork: await fileOf(other, "fork"), source: await fileOf(other, "source") };
      });
      const { inherited, partial } = await take([files.fork]);
      assert.deepEqual([inherited, partial], [["source"], ["source"]]);
      const { state, tasks, sessions, lineage } = nouns;
      for (const id of ["source", "named"]) {
        const writes: readonly (() => Promise<unknown>)[] = [
          () => sessions.create({ id }),
          () => nouns.history.append(scope(id), { role: "user", content: "mine" }),
          () => state.set(id, { a: 1 }),
          () => tasks.create(id, ["one"]),
        ];
        for (const [i, write] of writes.entries()) {
          const { message, hint } = await refuses("SessionDeleted", write, `write ${i} to ${id}`);
          assert.match(message, /only in part|only the name/);
          assert.match(hint ?? "", /mport(ing)? (its|the session.s) own archive/);
        }
        for (const read of [() => lineage.heads.publish(id), () => lineage.sessions.fork(id)]) {
          assert.match(
            (await refuses("SessionDeleted", read)).hint ?? "",
            /mport(ing)? (its|the session.s) own archive/,
          );
        }
        assert.equal(await sessions.get(id), null);
      }
      assert.equal(await sessions.delete("source"), null);
      assert.match((await refuses("Conflict", () => sessions.delete("named"))).message, /"fork" names it/);
      assert.deepEqual(
        (await sessions.list()).items.map(({ id }) => id),
        ["fork"],
      );
      const { issues, counts } = await nouns.check();
      assert.deepEqual([issues, counts.partialSessions], [[], 2]);
      await take([files.source]);
      assert.equal((await sessions.get("source"))?.messages, 1);
      assert.deepEqual((await nouns.check()).issues, []);
    },
  ),
  prove("AR3 a session that came in part with a fork is completed by its own archive", CHECKED, async (nouns) => {
    const { import: take } = nouns.archives;
    const made = await elsewhere(async (other) => {
      await makeRich(other, "source", 1000);
      const head = present(await other.heads.current("source"));
      await other.sessions.fork(`source@${head.id}`, { id: "fork" });
      await other.history.append(scope("fork"), { role: "user", content: "in the fork" });
      await other.history.append(scope("source"), { role: "user", content: "after the fork" });
      await other.state.patch("source", { replaced: "again" });
      await other.heads.publish("source");
      await other.sessions.create({ id: "caller" });
      await other.invocations.attach("caller", "source", { mode: "continue" }, async () => 1);
      await other.sessions.setAlias("source", "the source");
      return {
        source: await fileOf(other, "source"),
        fork: await fileOf(other, "fork"),
        caller: await fileOf(other, "caller"),
        inSource: await everything(other, "source"),
        inFork: await everything(other, "fork"),
      };
    });
    for (const file of [made.fork, made.caller]) await take([file]);
    assert.equal(await nouns.sessions.get("source"), null);
    const report = await take([made.source]);
    assert.equal(report.sessions[0]?.outcome, "imported");
    assert.deepEqual((await nouns.check()).issues, []);
    assert.deepEqual(await everything(nouns, "source"), made.inSource);
    assert.deepEqual(await everything(nouns, "fork"), made.inFork);
    isSameBytes(await fileOf({ sessions: nouns.archives }, "source"), made.source);
    isSameBytes(await fileOf({ sessions: nouns.archives }, "fork"), made.fork);
    assert.equal((await nouns.sessions.get("the source"))?.id, "source");
    assert.equal((await take([made.source])).sessions[0]?.outcome, "there");
    await nouns.history.append(scope("source"), { role: "user", content: "goes on" });
    await nouns.lineage.heads.publish("source");
    await nouns.sessions.delete("source");
    assert.deepEqual(await everything(nouns, "fork"), made.inFork);
    assert.deepEqual((await nouns.check()).issues, []);
    await refuses("SessionDeleted", () => take([made.source]));
  }),

  prove(
    "AR3 what was cleared since goes when the whole comes, and what was cleared before does not come back",
    CHECKED,
    async (nouns) => {
      const { import: take } = nouns.archives;
      const made = await elsewhere(async (other) => {
        await other.history.append(scope("source"), { role: "user", content: "short secret" });
        await other.history.append(scope("source"), { role: "user", content: "long secret ".repeat(500) });
        await other.sessions.fork("source", { id: "fork" });
        const [early, fork] = [await fileOf(other, "source"), await fileOf(other, "fork")];
        await other.history.clear(scope("source"));
        return { early, fork, late: await fileOf(other, "source"), later: await fileOf(other, "fork") };
      });
      await take([made.fork]);
      const secret = present((await nouns.history.session("fork")).at(-1));
      await take([made.late]);
      assert.equal((await nouns.history.session("fork")).length, 0);
      assert.equal(await nouns.blobs.exists(secret.ref), false);
      assert.equal((await nouns.check()).counts.orphanBlobs, 0);
      assert.equal((await nouns.check()).counts.orphanBlobs, 0);
      assert.deepEqual((await nouns.check()).issues, []);
      await elsewhere(async (other) => {
        await other.sessions.import([made.later]);
        await refuses("Conflict", () => other.sessions.import([made.early]));
        assert.deepEqual((await other.check()).issues, []);
        await other.sessions.import([made.late]);
        assert.deepEqual((await other.check()).issues, []);
      });
    },
  ),

  prove("AR3 a session of another past does not complete one that is here in part", CHECKED, async (nouns) => {
    const { import: take } = nouns.archives;
    const say = (store: Holdfast, content: string) => store.history.append(scope("source"), { role: "user", content });
    const fork = await elsewhere(async (other) => {
      for (const content of ["one", "two", "three"]) await say(other, content);
      await other.sessions.fork("source", { id: "fork" });
      return fileOf(other, "fork");
    });
    await take([fork]);
    for (const said of [["one"], ["another", "past", "of", "it"]]) {
      const file = await elsewhere(async (other) => {
        for (const content of said) await say(other, content);
        return fileOf(other, "source");
      });
      await refuses("Conflict", () => take([file]));
    }
    assert.equal((await nouns.history.session("fork")).length, 3);
    // With its last fork goes what is here of it; then it may come with whatever past it has.
    await nouns.sessions.delete("fork");
    assert.deepEqual((await nouns.check()).issues, []);
    await elsewhere(async (other) => {
      await say(other, "another");
      const file = await fileOf(other, "source");
      const all = await Promise.all([1, 2, 3].map(() => take([file])));
      const outcomes = all.map(({ sessions }) => sessions[0]?.outcome).sort();
      assert.deepEqual(outcomes, ["imported", "there", "there"]);
    });
    assert.deepEqual((await nouns.check()).issues, []);
  }),

  prove("AR3 what was erased stays erased", NEEDS, async (nouns) => {
    await nouns.history.append(scope("chat"), { role: "user", content: "the secret ".repeat(500) });
    const head = await nouns.lineage.heads.publish("chat");
    await nouns.history.clear(scope("chat"));
    const file = await fileOf({ sessions: nouns.archives }, "chat");
    await elsewhere(async (other) => {
      const report = await other.sessions.import([file]);
      assert.equal(report.blobs, 0);
      const [message] = await (await other.sessions.at(`chat@${head.id}`)).messages();
      assert.equal(message !== undefined && "erased" in message, true);
      assert.equal((await other.log.verify("chat")).ok, true);
    });
  }),
];
