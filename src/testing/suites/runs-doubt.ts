// Steps whose outcome is unknown, and runs that another worker or another version of the agent meets.
import assert from "node:assert/strict";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, NEEDS, texts } from "./runs-agents.ts";

export const doubtCases: readonly Case[] = [
  prove("RU6 a tool in doubt is not done again unless a person says so", NEEDS, async (nouns) => {
    const { runs, log } = nouns;
    const recorder = new EffectRecorder();
    for (const verdict of ["result", "retry", "fail"] as const) {
      const held = gate();
      const session = `s-${verdict}`;
      const pays = agent(
        async (it) => {
          await it.message({ role: "user", content: "pay" });
          const paid = await it.tool("pay", { amount: 5 }).catch((error: Error) => `refused: ${error.message}`);
          await it.message({ role: "assistant", content: JSON.stringify(paid) });
          return it.done(paid);
        },
        { tools: { pay: recorder.tool("pay", () => held.pass().then(() => "paid"), { retry: { attempts: 5 } }) } },
      );
      const { id } = await runs.start(pays, { session });
      await cutOff(runs, pays, id, held.reached);
      const before = recorder.count("pay");
      const asked = await runs.resume(pays, id);
      assert.deepEqual([asked.status, recorder.count("pay")], ["waiting", before], "it asks, and does nothing");
      const [decision, ...others] = (await runs.pending({ run: id })).items;
      const { id: question, step, input } = present(decision);
      assert.equal(others.length, 0);
      assert.deepEqual([step.name, step.status, input], ["pay", "started", { amount: 5 }]);
      assert.deepEqual(asked.run.waitsFor, [{ kind: "decision", decision: question }]);
      await refuses("InvalidArgument", () => runs.answer(question, { verdict: "maybe" as never }));
      const answer = verdict === "result" ? { verdict, result: "it was paid" } : { verdict };
      await runs.answer(question, { ...answer, by: "eve", note: "looked at the bank" });
      await refuses("Conflict", () => runs.answer(question, { verdict: "retry" }));
      held.open();
      const done = await runs.resume(pays, id);
      assert.equal(done.status, "completed");
      assert.equal(recorder.count("pay") - before, verdict === "retry" ? 1 : 0);
      const value = { result: "it was paid", retry: "paid" } as const;
      if (verdict === "fail") assert.match(String(done.value), /^refused: a person decided/);
      else assert.equal(done.value, value[verdict]);
      assert.deepEqual(await texts(nouns, session), ["pay", JSON.stringify(done.value)], "nothing twice");
      const audit = (await log.read(session, { limit: 100 })).find(({ type }) => type === "run/answered");
      assert.deepEqual(
        [audit?.data?.verdict, audit?.data?.by, audit?.data?.note],
        [verdict, "eve", "looked at the bank"],
      );
      await endedOnce(nouns, done.run);
      await refuses("InvalidTransition", () => runs.answer(question, { verdict: "retry" }));
    }
    const keys = recorder.effects.filter(({ tool }) => tool === "pay").map(({ key, again }) => `${key} ${again}`);
    assert.equal(keys.length, 4);
    assert.equal(keys[2], keys[1]?.replace("false", "true"), "RU7: tried again under the same key, and told so");
    await refuses("NotFound", () => runs.answer("s-fail#9999", { verdict: "retry" }));
  }),
  prove("RU6 one permission is one try: cut off once more, it asks once more", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    let held = gate();
    const pays = agent(async (it) => it.done(await it.tool("pay")), {
      tools: { pay: recorder.tool("pay", () => held.pass().then(() => "paid")) },
    });
    const { id } = await runs.start(pays, { session: "s" });
    await cutOff(runs, pays, id, held.reached);
    for (const round of [1, 2]) {
      await runs.resume(pays, id);
      const [decision] = (await runs.pending({ run: id })).items;
      await runs.answer(present(decision).id, { verdict: "retry" });
      held = gate();
      await cutOff(runs, pays, id, held.reached);
      assert.equal(recorder.count("pay"), 1 + round);
    }
    const asked = await runs.resume(pays, id);
    assert.deepEqual([asked.status, recorder.count("pay")], ["waiting", 3]);
    assert.equal(new Set(recorder.effects.map(({ key }) => key)).size, 1);
    await runs.cancel(id);
    assert.deepEqual((await runs.pending()).items, [], "a run that has ended asks nothing");
  }),
  prove(
    "RU5 what is recorded is used, what is in doubt and idempotent is done again under its key",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      const held = gate();
      let asked = 0;
      const upserts = agent(
        async (it) => {
          const at = await it.now();
          const drawn = it.random();
          const reply = await it.model("q");
          const first = await it.tool("put", 1);
          const second = await it.tool("slow", 2);
          return it.done([at, drawn, reply.output, first, second]);
        },
        {
          tools: {
            put: recorder.tool("put", (input) => input, { effect: "idempotent" }),
            slow: recorder.tool("slow", () => held.pass().then(() => "slow"), { effect: "idempotent" }),
          },
          models: { m: { call: () => ({ output: ++asked }) } },
        },
      );
      const { id } = await runs.start(upserts, { session: "s" });
      await cutOff(runs, upserts, id, held.reached);
      const recovery = await runs.recover(id);
      assert.deepEqual([recovery.resumeIteration, recovery.needsPerson], [1, false]);
      assert.deepEqual(
        recovery.cached.map(({ name }) => name),
        ["now", "m", "put"],
      );
      assert.deepEqual(
        recovery.inDoubt.map(({ name }) => name),
        ["slow"],
      );
      held.open();
      const { value, run } = await runs.resume(upserts, id);
      const [at, drawn, reply, first, second] = value as readonly unknown[];
      assert.deepEqual([typeof at, typeof drawn, reply, first, second], ["number", "number", 1, 1, "slow"]);
      assert.deepEqual(
        [recorder.count("put"), recorder.count("slow"), asked],
        [1, 2, 1],
        "also of idempotent ones: not again",
      );
      const [once, twice] = recorder.effects.filter(({ tool }) => tool === "slow");
      assert.deepEqual([once?.key, once?.again, twice?.again], [twice?.key, false, true]);
      await endedOnce(nouns, run);
    },
  ),
  prove("RU12 a run is pinned to the version and the tools of its agent", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const waits = (version: string, tools = { t: recorder.tool("t") }) =>
      agent(async (it) => it.done(await it.waitFor("go")), { version, tools });
    const { run } = await runs.execute(waits("1"), { session: "s" }, { wait: false });
    await runs.signal(run.id, "go", 1);
    await refuses("AgentMismatch", () => runs.resume(waits("2"), run.id));
    await refuses("AgentMismatch", () =>
      runs.resume(waits("1", { t: recorder.tool("t"), u: recorder.tool("u") } as never), run.id),
    );
    await refuses("AgentMismatch", () => runs.resume({ ...waits("1"), id: "bob" }, run.id));
    const changed = waits("1", { t: recorder.tool("t", () => 1, { effect: "idempotent" }) });
    await refuses("AgentMismatch", () => runs.resume(changed, run.id));
    const { status, value } = await runs.resume(waits("2"), run.id, { allowMismatch: true });
    assert.deepEqual([status, value], ["completed", 1]);
  }),
  prove("RU9 a run with a living worker is never recovered nor taken over", [...NEEDS, "another"], async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const held = gate();
    const works = agent(async (it) => it.done(await it.tool("t")), {
      tools: { t: recorder.tool("t", () => held.pass().then(() => "end")) },
    });
    const other = await nouns.another();
    const working = runs.execute(works, { session: "s", leaseMs: 300 });
    await held.reached;
    const [run] = (await other.runs.list({ session: "s" })).items;
    const { id } = present(run);
    await refuses("Conflict", () => other.runs.recover(id));
    await refuses("Conflict", () => other.runs.resume(works, id));
    assert.deepEqual(await other.runs.recoverAll(), []);
    held.open();
    assert.equal((await working).status, "completed");
    assert.equal(recorder.count("t"), 1);
    await endedOnce(nouns, (await working).run);
  }),
];
