// Tools that a person must permit: nothing happens before the answer, and one permission is one try.
import assert from "node:assert/strict";
import type { AgentDefinition } from "../../contracts/agent-definitions.ts";
import type { RunResult } from "../../contracts/run-results.ts";
import type { RunInput, Runs } from "../../contracts/runs.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, NEEDS } from "./runs-agents.ts";

/** Begins a run and works on it until it ends or waits. */
async function begin(runs: Runs, definition: AgentDefinition, input: RunInput): Promise<RunResult> {
  const { id } = await runs.start(definition, input);
  return runs.resume(definition, id);
}

export const approvalCases: readonly Case[] = [
  prove("RU16 a tool with approve is done once a person says go ahead, and not before", NEEDS, async (nouns) => {
    const { runs, log } = nouns;
    const recorder = new EffectRecorder();
    const pays = agent(async (it) => it.done(await it.tool("pay", { order: 7 })), {
      tools: { pay: recorder.tool("pay", () => "paid", { approve: true }) },
    });
    const waiting = await begin(runs, pays, { session: "s", id: "r" });
    assert.equal(waiting.status, "waiting");
    assert.equal(recorder.effects.length, 0, "nothing happens before the answer");
    const [decision, ...others] = (await runs.pending({ run: "r" })).items;
    const asked = present(decision);
    assert.deepEqual(others, []);
    assert.deepEqual(waiting.run.waitsFor, [{ kind: "decision", decision: asked.id }]);
    assert.deepEqual(
      [asked.reason, asked.input, asked.step.name, asked.step.status, asked.step.id, asked.answer],
      ["approval", { order: 7 }, "pay", "asked", asked.id, null],
    );
    assert.deepEqual(
      (await runs.steps("r")).map(({ name, status }) => [name, status]),
      [["pay", "asked"]],
    );
    // Nothing wakes it: it keeps waiting, and asks no second time.
    assert.equal((await runs.resume(pays, "r")).status, "waiting");
    assert.equal((await runs.pending({ run: "r" })).items.length, 1);
    await runs.answer(asked.id, { verdict: "retry", by: "eve" });
    const { status, value, run } = await runs.resume(pays, "r");
    assert.deepEqual([status, value], ["completed", "paid"]);
    assert.deepEqual(
      recorder.effects.map(({ again, key }) => [again, key]),
      [[false, asked.step.idempotencyKey]],
      "its first try",
    );
    const types = (await log.read("s")).map(({ type }) => type).filter((type) => /step|answered/.test(type));
    assert.deepEqual(types, ["step/started", "run/answered", "step/begun", "step/done"]);
    const { items } = await runs.decisions({ run: "r" });
    assert.deepEqual(
      items.map(({ reason, answer, step }) => [reason, answer?.verdict, answer?.by, step.status]),
      [["approval", "retry", "eve", "done"]],
    );
    await endedOnce(nouns, run);
  }),
  prove("RU16 a person may refuse, or give the result instead: the tool is not done", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const pays = agent(
      async (it) => it.done(await it.tool("pay").catch((error) => [error.name, error.code, error.message])),
      { tools: { pay: recorder.tool("pay", () => "paid", { approve: true }) } },
    );
    for (const [id, answer, wanted, status] of [
      ["refused", { verdict: "fail" }, ["StepFailed", "Denied", "a person refused it"], "failed"],
      ["given", { verdict: "result", result: "by hand" }, "by hand", "done"],
    ] as const) {
      await begin(runs, pays, { session: id, id });
      const [decision] = (await runs.pending({ run: id })).items;
      await runs.answer(present(decision).id, answer);
      const { value, run } = await runs.resume(pays, id);
      assert.deepEqual(value, wanted);
      assert.deepEqual(
        (await runs.steps(id)).map((step) => step.status),
        [status],
      );
      await refuses("InvalidTransition", () => runs.answer(present(decision).id, answer));
      await endedOnce(nouns, run);
    }
    assert.equal(recorder.effects.length, 0);
  }),
  prove("RU16 approve may decide by the input", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const pays = agent(async (it) => it.done(await it.tool("pay", it.input)), {
      tools: { pay: recorder.tool("pay", () => "paid", { approve: (input) => Number(input) > 100 }) },
    });
    const small = await begin(runs, pays, { session: "small", input: 100 });
    assert.equal(small.value, "paid");
    assert.equal((await begin(runs, pays, { session: "large", input: 101 })).status, "waiting");
    assert.equal(recorder.effects.length, 1);
    const late = agent(async (it) => it.done(await it.tool("pay", 1)), {
      tools: { pay: recorder.tool("pay", () => "paid", { approve: (async () => false) as never }) },
    });
    const { status, error } = await begin(runs, late, { session: "late" });
    assert.deepEqual([status, error?.code], ["failed", "InvalidArgument"]);
    assert.match(present(error).message, /returned a promise/);
    await endedOnce(nouns, small.run);
  }),
  prove("RU16 several tools that need approval are asked about at once", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const held = gate();
    const pay = recorder.tool("pay", (input) => `paid ${input}`, { approve: true });
    const look = recorder.tool("look", () => held.pass().then(() => "seen"), { effect: "idempotent" });
    const pays = agent(
      async (it) =>
        it.done(
          await it.parallel(
            (one) => one.tool("pay", 1),
            (two) => two.tool("pay", 2).catch((error) => error.code),
            (three) => three.tool("look"),
          ),
        ),
      { tools: { pay, look } },
    );
    const { id } = await runs.start(pays, { session: "s" });
    const worker = runs.createWorker({ agents: [pays], pollMs: 10 });
    await worker.look();
    await held.reached;
    // Asked while something else of the iteration is still at work.
    let asked = (await runs.pending({ run: id })).items;
    while (asked.length < 2) {
      await new Promise((turn) => setTimeout(turn, 5));
      asked = (await runs.pending({ run: id })).items;
    }
    assert.deepEqual(asked.map(({ input }) => input).toSorted(), [1, 2]);
    for (const one of asked) await runs.answer(one.id, { verdict: one.input === 1 ? "retry" : "fail" });
    held.open();
    while ((await runs.get(id))?.endedAt === null) await new Promise((turn) => setTimeout(turn, 5));
    await worker.stop();
    const result = present(await runs.result(id));
    assert.deepEqual(result.value, ["paid 1", "Denied", "seen"]);
    assert.equal(recorder.count("pay"), 1);
    await endedOnce(nouns, result.run);
  }),
  prove("RU16 cut off after permission the step is in doubt: one permission is one try", NEEDS, async (nouns) => {
    const { runs } = nouns;
    for (const effect of ["non-idempotent", "idempotent"] as const) {
      const recorder = new EffectRecorder();
      const held = gate();
      const pays = agent(async (it) => it.done(await it.tool("pay")), {
        tools: { pay: recorder.tool("pay", () => held.pass().then(() => "paid"), { approve: true, effect }) },
      });
      await begin(runs, pays, { session: effect, id: effect });
      const [first] = (await runs.pending({ run: effect })).items;
      const asked = present(first);
      await runs.answer(asked.id, { verdict: "retry", reason: "approval" });
      await cutOff(runs, pays, effect, held.reached);
      held.open();
      const next = await runs.resume(pays, effect);
      if (effect === "non-idempotent") {
        assert.deepEqual([next.status, recorder.effects.length], ["waiting", 1], "asked anew, and not done again");
        const [second] = (await runs.pending({ run: effect })).items;
        assert.deepEqual([second?.reason, second?.id, second?.step.status], ["in-doubt", asked.id, "started"]);
        // An answer to the first question is refused with the reason.
        await refuses("Conflict", () => runs.answer(asked.id, { verdict: "retry", reason: "approval" }));
        await runs.answer(asked.id, { verdict: "retry", reason: "in-doubt" });
        const { items } = await runs.decisions({ run: effect, order: "oldest" });
        assert.deepEqual(
          items.map(({ reason, step }) => [reason, step.status]),
          [
            ["approval", "started"],
            ["in-doubt", "started"],
          ],
        );
      }
      const { value, run } = next.status === "waiting" ? await runs.resume(pays, effect) : next;
      assert.equal(value, "paid");
      assert.deepEqual(
        recorder.effects.map(({ again }) => again),
        [false, true],
      );
      assert.equal(new Set(recorder.effects.map(({ key }) => key)).size, 1);
      await endedOnce(nouns, run);
    }
  }),
  prove("RU16 a recovery lists the steps that wait for approval; none of them is in doubt", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const held = gate();
    const pays = agent(
      async (it) => {
        if (it.iteration === 1) return it.next(null);
        await it.parallel(
          (one) => one.tool("pay", 5),
          (two) => two.tool("look"),
        );
        return it.done("end");
      },
      {
        tools: {
          pay: recorder.tool("pay", () => "paid", { approve: true }),
          look: recorder.tool("look", () => held.pass().then(() => "seen"), { effect: "idempotent" }),
        },
      },
    );
    const { id } = await runs.start(pays, { session: "s", leaseMs: 1000 });
    await cutOff(runs, pays, id, held.reached);
    while ((await runs.pending({ run: id })).items.length === 0) await new Promise((turn) => setTimeout(turn, 5));
    const recovery = await runs.recover(id);
    assert.deepEqual(
      [recovery.cached, recovery.inDoubt, recovery.asked].map((steps) => steps.map(({ name }) => name)),
      [[], ["look"], ["pay"]],
    );
    assert.equal(recovery.needsPerson, true);
    const pending = present(await runs.checkpoint(id)).pendingToolCalls;
    assert.deepEqual(pending.map(({ tool, input }) => [tool, input]).toSorted(), [
      ["look", null],
      ["pay", 5],
    ]);
    const [decision] = (await runs.pending({ run: id })).items;
    await runs.answer(present(decision).id, { verdict: "retry" });
    held.open();
    const { status, run } = await runs.resume(pays, id);
    assert.deepEqual([status, recorder.count("pay")], ["completed", 1]);
    await endedOnce(nouns, run);
  }),
  prove("RU16 a retry asks again: an approval counts only for the run that it was given to", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    let isBroken = true;
    const tools = {
      pay: recorder.tool(
        "pay",
        () => {
          if (isBroken) throw new Error("no money");
          return "paid";
        },
        { approve: true },
      ),
      fail: recorder.tool("fail", () => Promise.reject(new Error("broken"))),
    };
    const pays = agent(async (it) => it.done(await it.tool("pay")), { tools });
    const answer = async (id: string, verdict: "retry" | "fail") => {
      const [decision] = (await runs.pending({ run: id })).items;
      await runs.answer(present(decision).id, { verdict });
      return runs.resume(pays, id);
    };
    await begin(runs, pays, { session: "s", id: "r1" });
    assert.equal((await answer("r1", "fail")).error?.code, "Denied");
    assert.equal(recorder.count("pay"), 0);
    await runs.retry("r1", { id: "r2" });
    assert.equal((await runs.resume(pays, "r2")).status, "waiting", "refused there: asked again here");
    assert.equal((await answer("r2", "retry")).error?.message, "no money");
    assert.equal(recorder.count("pay"), 1);
    isBroken = false;
    await runs.retry("r2", { id: "r3" });
    assert.equal((await runs.resume(pays, "r3")).status, "waiting");
    assert.equal(recorder.count("pay"), 1);
    const { value, run } = await answer("r3", "retry");
    assert.deepEqual([value, recorder.count("pay")], ["paid", 2]);
    await endedOnce(nouns, run);
    // A question that was open when its run failed goes with that run.
    const both = agent(
      async (it) =>
        it.done(
          await it.parallel(
            (one) => one.tool("pay"),
            async (two) => {
              await two.sleep(20);
              return two.tool("fail");
            },
          ),
        ),
      { tools },
    );
    assert.equal((await begin(runs, both, { session: "t", id: "t1" })).status, "failed");
    assert.deepEqual((await runs.pending({ run: "t1" })).items, []);
    await runs.retry("t1", { id: "t2" });
    const mended = { ...both, tools: { ...tools, fail: recorder.tool("fail", () => "mended") } };
    assert.equal((await runs.resume(mended, "t2")).status, "waiting");
    assert.deepEqual(
      (await runs.pending({ run: "t2" })).items.map(({ reason }) => reason),
      ["approval"],
    );
    const [decision] = (await runs.pending({ run: "t2" })).items;
    await runs.answer(present(decision).id, { verdict: "retry" });
    const last = await runs.resume(mended, "t2");
    assert.deepEqual([last.value, recorder.count("pay")], [["paid", "mended"], 3]);
    await endedOnce(nouns, last.run);
  }),
  prove(
    "RU16 one permission covers the tries that the tool's retry policy allows after a failure",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      const pays = agent(async (it) => it.done(await it.tool("pay")), {
        tools: {
          pay: recorder.tool(
            "pay",
            (_, { attempt }) => {
              if (attempt === 1) throw new Error("busy");
              return "paid";
            },
            { approve: true, retry: { attempts: 2, backoffMs: 1 } },
          ),
        },
      });
      await begin(runs, pays, { session: "s", id: "r" });
      const [decision] = (await runs.pending({ run: "r" })).items;
      await runs.answer(present(decision).id, { verdict: "retry" });
      const { value, run } = await runs.resume(pays, "r");
      assert.deepEqual([value, recorder.count("pay")], ["paid", 2]);
      await endedOnce(nouns, run);
    },
  ),
  prove("RU12 a run is pinned to which of its tools ask for approval", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const made = (approve?: boolean) =>
      agent(async (it) => it.done(await it.tool("pay")), {
        tools: { pay: recorder.tool("pay", () => "paid", approve === undefined ? {} : { approve }) },
      });
    await runs.start(made(true), { session: "s", id: "r" });
    const without = await refuses("AgentMismatch", () => runs.resume(made(), "r"));
    assert.match(without.message, /was begun with the tool "pay" asking a person for approval/);
    await runs.start(made(), { session: "t", id: "plain" });
    const withIt = await refuses("AgentMismatch", () => runs.resume(made(true), "plain"));
    assert.match(withIt.message, /was begun with the tool "pay" asking no person for approval/);
    assert.equal((await runs.get("plain"))?.toolset, (await runs.start(made(false), { session: "u" })).toolset);
    assert.equal((await runs.resume(made(false), "plain")).value, "paid");
    await refuses("InvalidArgument", () => runs.start(made("yes" as never), { session: "v" }));
  }),
];
