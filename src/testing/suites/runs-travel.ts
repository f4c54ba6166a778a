// Runs that are taken up, gone on from and deleted.
import assert from "node:assert/strict";
import type { Iteration } from "../../contracts/agent-definitions.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, NEEDS, texts } from "./runs-agents.ts";

/** Says where it is in each of four iterations; gives its state. */
const counts = agent(
  async (it, { n, by }: { n: number; by: number }) => {
    await it.message({ role: "user", content: `at ${n}` });
    return n >= 4 * by ? it.done(n) : it.next({ n: n + by, by });
  },
  { initial: () => ({ n: 1, by: 1 }) },
);

export const travelCases: readonly Case[] = [
  prove("RU11 a run that retries another draws the same random numbers", NEEDS, async (nouns) => {
    const { runs } = nouns;
    for (const n of [1, 2, 3, 4, 5, 6]) {
      const recorder = new EffectRecorder();
      let isBroken = 2;
      const child = agent(
        async (it) => {
          const drawn = [it.random(), it.random()];
          await it.tool("kid", drawn);
          if (isBroken === 1) await it.tool("breaks");
          return it.done(drawn);
        },
        {
          id: "kid",
          tools: { kid: recorder.tool("kid"), breaks: { execute: () => Promise.reject(new Error("broken")) } },
        },
      );
      const lucky = agent(
        async (it) => {
          const isLeft = it.random() < 0.5;
          const pay = (to: Iteration) => to.tool("pay", 5);
          await it.parallel(
            async (left) => isLeft && pay(left),
            async (right) => !isLeft && pay(right),
          );
          await it.tool("send", it.random());
          const { value } = await it.spawn(child);
          await it.tool("last");
          return it.done(value);
        },
        {
          tools: {
            pay: recorder.tool("pay"),
            send: recorder.tool("send"),
            last: recorder.tool("last", () => (isBroken-- > 0 ? Promise.reject(new Error("broken")) : "end")),
          },
        },
      );
      let { run, status } = await runs.execute(lucky, { session: `s${n}` });
      while (status === "failed") ({ run, status } = await runs.resume(lucky, (await runs.retry(run.id)).id));
      assert.deepEqual([status, run.error], ["completed", null]);
      assert.deepEqual(
        ["pay", "send", "kid", "last"].map((name) => recorder.count(name)),
        [1, 1, 1, 3],
      );
    }
  }),
  prove(
    "RU11 a retry continues a failed run at the failed step, and repeats no completed step",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      let isDown = true;
      const works = agent(
        async (it, n: number) => {
          await it.message({ role: "user", content: `turn ${n}` });
          const lived = await it.tool("lived", n).catch(() => "lived with");
          await it.tool("first", n);
          if (n === 1) await it.tool("down", n);
          return n === 2 ? it.done(lived) : it.next(n + 1);
        },
        {
          initial: () => 0,
          tools: {
            lived: recorder.tool("lived", () => Promise.reject(new Error("always"))),
            first: recorder.tool("first"),
            down: recorder.tool("down", (input) => (isDown ? Promise.reject(new Error("down")) : input)),
          },
        },
      );
      const failed = await runs.execute(works, { session: "s" });
      assert.deepEqual([failed.status, failed.run.iteration], ["failed", 1]);
      isDown = false;
      const taken = await runs.retry(failed.run.id, { id: "again" });
      assert.deepEqual([taken.id, taken.status, taken.iteration, taken.owner], ["again", "running", 1, null]);
      const done = await runs.resume(works, "again");
      assert.deepEqual([done.status, done.value], ["completed", "lived with"]);
      assert.deepEqual([recorder.count("first"), recorder.count("lived"), recorder.count("down")], [3, 3, 2]);
      assert.deepEqual(await texts(nouns, "s"), ["turn 0", "turn 1", "turn 2"], "no message twice");
      await endedOnce(nouns, failed.run);
      await endedOnce(nouns, done.run);
      await refuses("InvalidTransition", () => runs.retry("again"));
      await refuses("NotFound", () => runs.retry("nobody"));
      const limited = await runs.execute(counts, { session: "t", limits: { iterations: 2 } });
      assert.equal(limited.run.stopReason, "limit:iterations");
      const more = await runs.retry(limited.run.id, { limits: { iterations: 10 } });
      assert.equal((await runs.resume(counts, more.id)).value, 4);
    },
  ),
  prove(
    "RU6 a step in doubt is asked about also by the run that takes its run up, which is needed until then",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      const held = gate();
      const pays = agent(
        async (it) => {
          await it.tool("first");
          return it.done(await it.tool("pay", 5));
        },
        { tools: { first: recorder.tool("first"), pay: recorder.tool("pay", () => held.pass().then(() => "paid")) } },
      );
      await runs.start(pays, { session: "s", id: "old" });
      await cutOff(runs, pays, "old", held.reached);
      await runs.cancel("old");
      await runs.retry("old", { id: "new" });
      assert.equal((await runs.resume(pays, "new")).status, "waiting");
      const [decision, ...others] = (await runs.pending()).items;
      assert.deepEqual([decision?.run, decision?.step.name, decision?.input, others.length], ["new", "pay", 5, 0]);
      await refuses("Conflict", () => runs.delete("old"));
      await runs.answer(present(decision).id, { verdict: "result", result: "it was" });
      const done = await runs.resume(pays, "new");
      assert.deepEqual(
        [done.status, done.value, recorder.count("first"), recorder.count("pay")],
        ["completed", "it was", 1, 1],
      );
      await endedOnce(nouns, done.run);
      assert.equal(await runs.delete("old"), true, "nobody needs it any more");
      assert.deepEqual((await nouns.check()).issues, []);
    },
  ),
  prove("RU11 a deleted run cannot be retried", NEEDS, async ({ runs }) => {
    const fails = agent(async (it) => it.done(await it.tool("down")), {
      tools: { down: { execute: () => Promise.reject(new Error("down")) } },
    });
    await runs.execute(fails, { session: "s", id: "one" });
    await runs.retry("one", { id: "two" });
    await runs.resume(fails, "two");
    await runs.delete("one");
    await refuses("Conflict", () => runs.retry("two"));
    assert.equal((await runs.list()).items.length, 1, "and nothing was begun");
  }),
  prove("RU8 fork continues from an iteration in its own session, with another state", NEEDS, async (nouns) => {
    const { runs, sessions } = nouns;
    const { run } = await runs.execute(counts, { session: "s" });
    const fork = await runs.fork(run.id, { iteration: 2, state: { n: 30, by: 10 }, session: "f" });
    assert.deepEqual([fork.session, fork.iteration, fork.status], ["f", 2, "running"]);
    const done = await runs.resume(counts, fork.id);
    assert.deepEqual([done.status, done.value], ["completed", 40]);
    assert.deepEqual(await texts(nouns, "f"), ["at 1", "at 2", "at 30", "at 40"]);
    assert.deepEqual(await texts(nouns, "s"), ["at 1", "at 2", "at 3", "at 4"], "the run it came from is as it was");
    assert.equal((await sessions.get("f"))?.origin, "fork");
    await endedOnce(nouns, done.run);
    const whole = await runs.fork(run.id, { iteration: 0 });
    assert.equal((await runs.resume(counts, whole.id)).value, 4);
    assert.deepEqual(await texts(nouns, whole.session), ["at 1", "at 2", "at 3", "at 4"]);
    const last = await runs.fork(run.id);
    assert.equal(last.iteration, 3);
    const ofFork = await runs.fork(fork.id, { iteration: 2 });
    assert.equal((await runs.resume(counts, ofFork.id)).value, 40, "also where that began");
    await refuses("NotFound", () => runs.fork(run.id, { iteration: 9 }));
    await refuses("AlreadyExists", () => runs.fork(run.id, { session: "f" }));
    await refuses("InvalidJson", () => runs.fork(run.id, { state: () => 1 }));
  }),
  prove(
    "RU8 rewind moves the session back and continues from there; a run that waits ends with it",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const { run } = await runs.execute(counts, { session: "s" }, { wait: false });
      const back = await runs.rewind(run.id, { iteration: 1, state: { n: 7, by: 1 } });
      assert.deepEqual(await texts(nouns, "s"), ["at 1"]);
      assert.equal((await runs.resume(counts, back.id)).value, 7);
      assert.deepEqual(await texts(nouns, "s"), ["at 1", "at 7"]);
      await endedOnce(nouns, run);
      const waits = agent(
        async (it, n: number) => {
          await it.message({ role: "user", content: `w${n}` });
          return n === 2 ? it.done(await it.waitFor("go")) : it.next(n + 1);
        },
        { initial: () => 0 },
      );
      const { run: asleep } = await runs.execute(waits, { session: "t" }, { wait: false });
      const again = await runs.rewind(asleep.id, { iteration: 1 });
      assert.equal((await runs.get(asleep.id))?.status, "cancelled");
      assert.deepEqual([again.iteration, await texts(nouns, "t")], [1, ["w0"]]);
      const next = await runs.resume(waits, again.id);
      assert.deepEqual([next.status, await texts(nouns, "t")], ["waiting", ["w0", "w1", "w2"]]);
      await refuses("SessionBusy", () => runs.rewind(asleep.id, { iteration: 1 }));
      await refuses("InvalidArgument", () => runs.rewind(asleep.id, { iteration: -1 }));
      await endedOnce(nouns, present(await runs.get(asleep.id)));
    },
  ),
  prove("RU8 rewind to iteration 0 begins anew from before the run", NEEDS, async (nouns) => {
    const { runs, history, check, log, lineage } = nouns;
    // In a session that the run made itself, no head is left.
    const { run } = await runs.execute(counts, { session: "s" }, { wait: false });
    const anew = await runs.rewind(run.id, { iteration: 0, id: "anew" });
    assert.deepEqual([anew.id, anew.iteration, anew.status, anew.owner], ["anew", 0, "running", null]);
    assert.deepEqual([await texts(nouns, "s"), await lineage.heads.current("s")], [[], null]);
    const done = await runs.resume(counts, "anew");
    assert.deepEqual([done.status, done.value], ["completed", 4]);
    assert.deepEqual(await texts(nouns, "s"), ["at 1", "at 2", "at 3", "at 4"]);
    await endedOnce(nouns, run);
    await endedOnce(nouns, done.run);
    await refuses("Conflict", () => runs.rewind(run.id, { iteration: 0 }));

    // What was there before it stays, with the head that was current; a run that waits ends.
    await history.append({ session: "t", agent: "bob" }, { role: "user", content: "before" });
    const head = await lineage.heads.publish("t");
    const waits = agent(async (it, n: number) => {
      await it.message({ role: "user", content: `w${n}` });
      return n === 1 ? it.done(await it.waitFor("go")) : it.next(n + 1);
    });
    const { run: asleep } = await runs.execute(waits, { session: "t", input: 0 }, { wait: false });
    assert.notEqual((await lineage.heads.current("t"))?.id, head.id);
    const again = await runs.rewind(asleep.id, { iteration: 0, state: 1 });
    assert.equal((await runs.get(asleep.id))?.status, "cancelled");
    assert.deepEqual([await texts(nouns, "t"), (await lineage.heads.current("t"))?.id], [["before"], head.id]);
    await runs.resume(waits, again.id);
    assert.deepEqual(await texts(nouns, "t"), ["before", "w1"]);
    // Once more, of the run that the rewind began.
    const third = await runs.rewind(again.id, { iteration: 0 });
    assert.deepEqual([third.iteration, await texts(nouns, "t")], [0, ["before"]]);
    for (const id of ["s", "t"]) assert.equal((await log.verify(id)).ok, true);
    const { issues } = await check({ mode: "deep" });
    assert.deepEqual(issues, []);
  }),
  prove("LG6 a deleted run leaves what it was, and nothing of what it carried", NEEDS, async (nouns) => {
    const { runs, log, check } = nouns;
    const secret = "a secret nobody keeps";
    const works = agent(
      async (it) => {
        await it.tool("t", { secret, long: `${secret} `.repeat(2000) });
        return it.done({ secret });
      },
      { tools: { t: { execute: () => secret } } },
    );
    const waits = agent(async (it) => it.done(await it.waitFor("go")), { id: "bob" });
    const { run } = await runs.execute(works, { session: "s", input: { secret } }, { wait: false });
    const { run: asleep } = await runs.execute(waits, { session: "t" }, { wait: false });
    await refuses("InvalidTransition", () => runs.delete(asleep.id));
    await runs.signal(asleep.id, "go", { secret });
    const ended = await runs.cancel(asleep.id);
    assert.equal(await runs.delete(run.id), true);
    assert.equal(await runs.delete(ended.id), true);
    assert.equal(await runs.delete(run.id), false);
    assert.equal(await runs.get(run.id), null);
    assert.deepEqual((await runs.list()).items, []);
    for (const session of ["s", "t"]) {
      assert.equal((await log.verify(session)).ok, true);
      const events = await log.read(session, { limit: 100 });
      assert.ok(events.some(({ type }) => type === "run/deleted"));
      assert.ok(!JSON.stringify(events).includes(secret));
    }
    assert.deepEqual((await check()).issues, []);
  }),
  prove(
    "RU7 a run's id is not used again, deleted or gone with its session",
    [...NEEDS, "stats", "query"],
    async (nouns) => {
      const { runs, sessions, check, stats, query } = nouns;
      const recorder = new EffectRecorder();
      const works = agent(async (it) => it.done(await it.tool("t")), { tools: { t: recorder.tool("t", () => 1) } });
      await runs.execute(works, { session: "s", id: "deleted" });
      await runs.execute(works, { session: "t", id: "gone" });
      const { run } = await runs.execute(
        agent((it, n: number) => (n === 1 ? it.fail("no") : it.next(1))),
        { session: "u" },
      );
      assert.equal(await runs.delete("deleted"), true);
      await sessions.delete("t");
      for (const id of ["deleted", "gone"]) {
        assert.equal(await runs.get(id), null);
        assert.equal(await runs.delete(id), false);
        for (const used of [
          () => runs.execute(works, { session: "v", id }),
          () => runs.start(works, { session: "s", id }),
          () => runs.retry(run.id, { id }),
          () => runs.fork(run.id, { id }),
          () => runs.rewind(run.id, { iteration: 1, id }),
        ]) {
          const { message, retryable } = await refuses("Conflict", used);
          assert.ok(message.includes("cannot be used again") && !retryable, message);
        }
      }
      for (const used of [
        () => runs.fork(run.id, { id: run.id }),
        () => runs.rewind(run.id, { iteration: 1, id: run.id }),
      ])
        await refuses("AlreadyExists", used);
      assert.equal(recorder.count("t"), 2);
      assert.deepEqual(
        (await runs.list()).items.map(({ id }) => id),
        [run.id],
      );
      assert.deepEqual((await stats()).nouns.runs, { rows: 1, deleted: 2 });
      assert.deepEqual(await query("[:find [?id ...] :where [_ :run/id ?id]]"), [run.id]);
      assert.deepEqual(await query("[:find [?s ...] :where [_ :run/status ?s]]"), ["failed"]);
      assert.deepEqual((await check()).issues, []);
    },
  ),
  prove("RU2 a session is not deleted under a run that has not ended", NEEDS, async (nouns) => {
    const { runs, sessions, log } = nouns;
    const waits = agent(async (it) => it.done(await it.waitFor("go")));
    const { run } = await runs.execute(waits, { session: "s" }, { wait: false });
    const { hint } = await refuses("SessionBusy", () => sessions.delete("s"));
    assert.ok(hint?.includes("cancel"));
    assert.equal((await log.verify("s")).ok, true);
    await runs.cancel(run.id);
    await sessions.delete("s");
    assert.equal(await runs.get(run.id), null);
    for (let n = 0; n < 10; n++) {
      await sessions.create({ id: `t${n}` });
      const both = await Promise.allSettled([sessions.delete(`t${n}`), runs.start(waits, { session: `t${n}` })]);
      assert.equal(both.filter(({ status }) => status === "fulfilled").length, 1, "of two at once one happens");
    }
    assert.deepEqual((await nouns.check()).issues, []);
  }),
];
