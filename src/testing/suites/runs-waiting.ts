// Runs that wait: for a time, a signal, a person, a child; at several places at once; and nothing that wakes them is
// lost.
import assert from "node:assert/strict";
import type { Json } from "../../contracts/json.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, NEEDS, texts } from "./runs-agents.ts";

const MINUTE = 60_000;

const idle = agent((it) => it.done(null));

export const waitingCases: readonly Case[] = [
  prove(
    "RU10 a pause frees its worker, and ends when its time is over or a caller ends it",
    [...NEEDS, "clock"],
    async (nouns) => {
      const { runs, clock } = nouns;
      const recorder = new EffectRecorder();
      const pauses = agent(
        async (it) => {
          await it.tool("t", "before");
          await it.pause(5);
          return it.done(await it.tool("t", "after"));
        },
        { tools: { t: recorder.tool("t") } },
      );
      const { run, status } = await runs.execute(pauses, { session: "s" }, { wait: false });
      assert.deepEqual([status, run.owner, run.waitsFor], ["paused", null, []]);
      const until = present(run.pausedUntil);
      assert.ok(Math.abs(until - clock.now() - 5 * MINUTE) < 5000);
      const early = await runs.resume(pauses, run.id);
      assert.deepEqual([early.status, early.run.pausedUntil], ["paused", until], "not before its time");
      await clock.advance(5 * MINUTE);
      const done = await runs.resume(pauses, run.id);
      assert.deepEqual([done.status, done.value, recorder.count("t")], ["completed", "after", 2]);
      await endedOnce(nouns, done.run);
      const second = await runs.execute(pauses, { session: "s" }, { wait: false });
      const awake = await runs.unpause(second.run.id);
      assert.equal(awake.status, "running");
      assert.equal((await runs.resume(pauses, awake.id)).status, "completed", "and does not go to sleep again");
      await refuses("InvalidTransition", () => runs.unpause(awake.id));
      for (const minutes of [0, 61, 1.5]) {
        const bad = await runs.execute(
          agent(async (it) => it.done(await it.pause(minutes))),
          { session: "t" },
          { wait: false },
        );
        assert.equal(bad.error?.code, "InvalidArgument", `${minutes} minutes`);
      }
      const third = await runs.execute(pauses, { session: "u" }, { wait: false });
      await refuses("SessionBusy", () => runs.execute(pauses, { session: "u", input: "go on" }));
      const waited = await runs.execute(pauses, { session: "u" }, { wait: false });
      assert.deepEqual([waited.run.id, waited.status], [third.run.id, "paused"], "RU2: a rerun is no wake-up");
    },
  ),
  prove(
    "RU10 a caller's pause begins at once if the run waits, and after the iteration if a worker has it",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const held = gate();
      const works = agent(
        async (it, n: number) => {
          if (n === 0) await it.tool("t");
          return n === 1 ? it.done("end") : it.next(n + 1);
        },
        { initial: () => 0, tools: { t: { execute: () => held.pass().then(() => 1) } } },
      );
      const working = runs.execute(works, { session: "s", id: "r" }, { wait: false });
      await held.reached;
      assert.ok(present(await runs.pause("r", 3)).pauseRequested !== null);
      held.open();
      const { status, run } = await working;
      assert.deepEqual([status, run.iteration, run.pauseRequested], ["paused", 1, null]);
      await runs.unpause("r");
      assert.equal((await runs.resume(works, "r")).status, "completed");
      const waits = agent(async (it) => it.done(await it.waitFor("go")));
      const { run: asleep } = await runs.execute(waits, { session: "t" }, { wait: false });
      assert.equal((await runs.pause(asleep.id)).status, "paused");
      await runs.signal(asleep.id, "go", "kept");
      await runs.unpause(asleep.id);
      assert.equal((await runs.resume(waits, asleep.id)).value, "kept");
    },
  ),
  prove("RU10 a caller's pause ends alone: a sleep beside it keeps its own end", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const waits = agent(async (it) =>
      it.done(
        await it.parallel(
          (one) => one.sleep(60 * MINUTE).then(() => 1),
          (one) => one.waitFor("go"),
        ),
      ),
    );
    const { run } = await runs.execute(waits, { session: "s" }, { wait: false });
    await runs.pause(run.id);
    await runs.unpause(run.id);
    await runs.signal(run.id, "go", 1);
    const after = await runs.resume(waits, run.id);
    assert.deepEqual([after.status, after.run.wakesAt], ["paused", run.wakesAt]);
    await runs.unpause(run.id);
    const done = await runs.resume(waits, run.id);
    assert.equal(done.status, "completed", "nobody else paused it");
    await endedOnce(nouns, done.run);
  }),
  prove(
    "RU10 signals are delivered in order, also those that came before the run waited",
    [...NEEDS, "clock"],
    async (nouns) => {
      const { runs, clock } = nouns;
      const held = gate();
      const waits = agent(
        async (it) => {
          await it.tool("t");
          const both = [await it.waitFor("a"), await it.waitFor("a")];
          return it.done([...both, await it.waitFor("b", { timeoutMs: 10 * MINUTE })]);
        },
        { tools: { t: { execute: () => held.pass().then(() => 1) } } },
      );
      const working = runs.execute(waits, { session: "s", id: "r" }, { wait: false });
      await held.reached;
      await runs.signal("r", "a", 1);
      held.open();
      const { run } = await working;
      assert.deepEqual([run.status, run.waitsFor], ["waiting", [{ kind: "signal", name: "a" }]]);
      assert.equal((await runs.signal("r", "other", 0)).status, "waiting", "nobody waits for that");
      assert.equal((await runs.signal("r", "a", { two: 2 })).status, "running");
      const timed = await runs.resume(waits, "r");
      assert.deepEqual(timed.run.waitsFor, [{ kind: "signal", name: "b" }]);
      assert.ok(present(timed.run.wakesAt) > clock.now());
      await clock.advance(10 * MINUTE);
      const done = await runs.resume(waits, "r");
      assert.deepEqual([done.status, done.value], ["completed", [1, { two: 2 }, null]]);
      await endedOnce(nouns, done.run);
      const inOrder = agent(async (it) =>
        it.done([await it.waitFor("n"), await it.waitFor("n"), await it.waitFor("n")]),
      );
      const { id } = await runs.start(inOrder, { session: "u" });
      for (const n of [1, 2, 3]) await runs.signal(id, "n", n);
      assert.deepEqual((await runs.resume(inOrder, id)).value, [1, 2, 3], "the oldest first");
    },
  ),
  prove(
    "RU10 an iteration waits at several places at once, and what is at work is not cut off",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      const held = gate();
      const wide = agent(
        async (it) =>
          it.done(
            await it.parallel(
              (one) => one.waitFor("a"),
              (one) => one.waitFor("b"),
              async (one) => {
                await one.tool("slow");
                await one.pause(60);
                return "slept";
              },
            ),
          ),
        { tools: { slow: recorder.tool("slow", () => held.pass().then(() => "done")) } },
      );
      const working = runs.execute(wide, { session: "s", id: "r" }, { wait: false });
      await held.reached;
      held.open();
      const { run } = await working;
      assert.deepEqual([run.status, run.waitsFor.length], ["waiting", 2]);
      assert.ok(run.wakesAt !== null, "and for the time");
      await runs.signal("r", "b", "B");
      const again = await runs.resume(wide, "r");
      assert.deepEqual(again.run.waitsFor, [{ kind: "signal", name: "a" }]);
      await runs.signal("r", "a", "A");
      const paused = await runs.resume(wide, "r");
      assert.deepEqual([paused.status, paused.run.waitsFor], ["paused", []]);
      await runs.unpause("r");
      const done = await runs.resume(wide, "r");
      assert.deepEqual([done.value, recorder.count("slow")], [["A", "B", "slept"], 1]);
      await endedOnce(nouns, done.run);
    },
  ),
  prove("RU10 a wait beside a running tool ends before the tool: by a signal, by its time", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const held = gate();
    const [timed, signalled] = [Promise.withResolvers<unknown>(), Promise.withResolvers<unknown>()];
    const resolveWith = async (one: Promise<Json>, { resolve }: { resolve: (value: Json) => void }) => {
      const value = await one;
      resolve(value);
      return value;
    };
    const wide = agent(
      async (it) =>
        it.done(
          await it.parallel(
            (one) => resolveWith(one.waitFor("never", { timeoutMs: 20 }), timed),
            (one) => resolveWith(one.waitFor("go"), signalled),
            (one) => one.tool("slow"),
          ),
        ),
      { tools: { slow: { execute: () => held.pass().then(() => "done") } } },
    );
    const working = runs.execute(wide, { session: "s", id: "r" });
    await held.reached;
    assert.equal(await timed.promise, null);
    await runs.signal("r", "go", "gone");
    assert.equal(await signalled.promise, "gone");
    held.open();
    const { run, value } = await working;
    assert.deepEqual(value, [null, "gone", "done"]);
    await endedOnce(nouns, run);
  }),
  prove("ST2 of hundreds of signals at once none is refused, and none is lost", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const { id } = await runs.start(idle, { session: "s" });
    const all = Array.from({ length: 400 }, (_, i) => i);
    const resolveWith = await Promise.all(all.map((i) => runs.signal(id, "n", i)));
    assert.deepEqual(
      resolveWith.map(({ version }) => version),
      all.map((i) => i + 2),
      "in the order in which they were asked for",
    );
    assert.equal((await nouns.check()).status, "ok");
  }),
  prove("ST2 nor of those from several handles is any refused", [...NEEDS, "another"], async (nouns) => {
    const { runs } = nouns;
    const { id } = await runs.start(idle, { session: "s" });
    const handles = [runs, ...(await Promise.all([1, 2, 3].map(async () => (await nouns.another()).runs)))];
    const all = Array.from({ length: 100 }, (_, i) => i);
    await Promise.all(handles.flatMap((one, n) => all.map((i) => one.signal(id, "n", [n, i]))));
    const events = await runs.events(id, { limit: 1000 });
    assert.equal(events.filter(({ type }) => type === "run/signalled").length, 400);
    assert.equal((await runs.get(id))?.version, 401);
    assert.equal((await nouns.check()).status, "ok");
  }),
  prove("RU6 several tools in doubt are asked about at once", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const held = gate();
    let begun = 0;
    const pays = agent(
      async (it) => it.done(await it.parallel(...["a", "b"].map((x) => (one: typeof it) => one.tool("pay", x)))),
      {
        tools: {
          pay: recorder.tool("pay", async (input) => {
            if (++begun < 2) return held.pass().then(() => input);
            await Promise.resolve(held.pass());
            return input;
          }),
        },
      },
    );
    const { id } = await runs.start(pays, { session: "s" });
    const worker = runs.createWorker({ agents: [pays] });
    await worker.look();
    while (begun < 2) await new Promise((resolve) => setTimeout(resolve, 2));
    await worker.stop({ graceMs: 0 });
    const asked = await runs.resume(pays, id);
    assert.deepEqual([asked.status, asked.run.waitsFor.length], ["waiting", 2]);
    const pending = (await runs.pending()).items;
    assert.deepEqual(pending.map(({ input }) => input).sort(), ["a", "b"]);
    await runs.answer(present(pending[0]).id, { verdict: "result", result: 1 });
    const half = await runs.resume(pays, id);
    assert.deepEqual([half.status, half.run.waitsFor.length, (await runs.pending()).items.length], ["waiting", 1, 1]);
    await runs.answer(present(pending[1]).id, { verdict: "result", result: 2 });
    const done = await runs.resume(pays, id);
    assert.deepEqual(
      [done.status, (done.value as number[]).toSorted(), recorder.count("pay")],
      ["completed", [1, 2], 2],
    );
    await endedOnce(nouns, done.run);
  }),
  prove(
    "RU2 a child works in a session of its own, which the invocation names; its error is its parent's to handle",
    NEEDS,
    async (nouns) => {
      const { runs, lineage, sessions } = nouns;
      const child = agent(
        async (it) => {
          await it.message({ role: "user", content: `from the child: ${String(it.input)}` });
          return it.input === "bad" ? it.fail(new Error("no")) : it.done({ got: it.input });
        },
        { id: "kid" },
      );
      const parent = agent(async (it) => {
        const good = await it.spawn(child, { input: "good" });
        const bad = await it.spawn(child, { input: "bad", session: "kid-2" });
        return it.done([good.value, bad.status, bad.error?.message, good.run.session]);
      });
      const { value, run } = await runs.execute(parent, { session: "s" });
      const [got, status, message, session] = value as readonly string[];
      assert.deepEqual([got, status, message], [{ got: "good" }, "failed", "no"]);
      const view = await lineage.sessions.at("s");
      const rows = await view.invocations();
      assert.deepEqual(
        rows.map(({ callee, status: ended, type }) => [callee, ended, type]),
        [
          [session, "done", "spawn"],
          ["kid-2", "failed", "spawn"],
        ],
      );
      assert.equal((await sessions.get("kid-2"))?.kind, "spawned");
      assert.deepEqual(await texts(nouns, present(session)), ["from the child: good"]);
      const children = (await runs.list({ agent: "kid" })).items;
      assert.deepEqual(
        children.map(({ parent: of }) => of),
        [run.id, run.id],
      );
      await endedOnce(nouns, run);
      const taken = agent(async (it) => {
        const error = await it.spawn(child, { session: "s" }).catch((thrown: { code: string }) => thrown.code);
        return it.done(error);
      });
      assert.equal((await runs.execute(taken, { session: "t" })).value, "AlreadyExists");
    },
  ),
  prove("RU2 a child in the same session leaves nothing when it is to be forgotten", NEEDS, async (nouns) => {
    const { runs, lineage } = nouns;
    const helper = agent(
      async (it) => {
        await it.message({ role: "user", content: "scratch" });
        await it.message({ role: "user", content: "y".repeat(20_000) });
        return it.done((await it.tool("t", it.input)) as never);
      },
      { id: "helper", tools: { t: { execute: (input) => [input, "thought about"] } } },
    );
    const parent = agent(async (it) => {
      await it.message({ role: "user", content: "question" });
      const { value } = await it.spawn(helper, { sameSession: true, forget: true, input: 1 });
      const kept = await it.spawn(helper, { sameSession: true, input: 2 });
      await it.message({ role: "assistant", content: JSON.stringify(value) });
      return it.done(kept.run.session);
    });
    const { value, run } = await runs.execute(parent, { session: "s" });
    assert.equal(value, "s");
    assert.deepEqual(await texts(nouns, "s"), ["question", "scratch", "y".repeat(20_000), '[1,"thought about"]']);
    assert.equal((await lineage.sessions.at("s").then((view) => view.invocations())).length, 0);
    await endedOnce(nouns, run);
    const wrong = agent(async (it) => it.done(await it.spawn(helper, { forget: true }).catch((error) => error.code)));
    assert.equal((await runs.execute(wrong, { session: "u" })).value, "InvalidArgument");
  }),
  prove("RU13 a parent waits for a child that waits, and is woken by its end", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const child = agent(async (it) => it.done(await it.waitFor("go")), { id: "kid" });
    const parent = agent(async (it) => it.done((await it.spawn(child, { session: "kid" })).value));
    const { run } = await runs.execute(parent, { session: "s" }, { wait: false });
    const [kid] = (await runs.list({ agent: "kid" })).items;
    assert.deepEqual(run.waitsFor, [{ kind: "run", run: present(kid).id }]);
    await runs.signal(present(kid).id, "go", "now");
    const worker = runs.createWorker({ agents: [child, parent], pollMs: 10 });
    worker.start();
    while ((await runs.get(run.id))?.status !== "completed") await new Promise((resolve) => setTimeout(resolve, 5));
    await worker.stop();
    assert.equal((await runs.result(run.id))?.value, "now");
    await endedOnce(nouns, present(await runs.get(run.id)));
  }),
  prove("RU5 a parent that is cut off spawns its child once", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const held = gate();
    const child = agent(async (it) => it.done(await it.tool("t")), {
      id: "kid",
      tools: { t: recorder.tool("t", () => held.pass().then(() => "end"), { effect: "idempotent" }) },
    });
    const parent = agent(async (it) => it.done((await it.spawn(child)).value));
    const { id } = await runs.start(parent, { session: "s" });
    await cutOff(runs, parent, id, held.reached);
    held.open();
    const done = await runs.resume(parent, id);
    assert.deepEqual([done.status, done.value, recorder.count("t")], ["completed", "end", 2]);
    assert.equal((await runs.list({ agent: "kid" })).items.length, 1);
    await endedOnce(nouns, done.run);
  }),
  prove(
    "RU5 sleeping takes its time, and what slept through an interruption is not slept again",
    [...NEEDS, "clock"],
    async (nouns) => {
      const { runs, clock } = nouns;
      const sleeps = agent(async (it) => {
        await it.sleep(1);
        await it.sleep(30 * MINUTE);
        return it.done("rested");
      });
      const { run } = await runs.execute(sleeps, { session: "s" }, { wait: false });
      assert.equal(run.status, "paused");
      await clock.advance(30 * MINUTE);
      const { status, value } = await runs.resume(sleeps, run.id);
      assert.deepEqual([status, value], ["completed", "rested"]);
      await endedOnce(nouns, present(await runs.get(run.id)));
    },
  ),
];
