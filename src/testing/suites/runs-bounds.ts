// What runs are asked and may spend: any JSON as an argument, whole answers, and no further than a limit.
import assert from "node:assert/strict";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, NEEDS } from "./runs-agents.ts";

export const boundsCases: readonly Case[] = [
  prove("RU4 any text that JSON can hold is an argument like others", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const held = gate();
    const odd = { text: "lone \ud800 and \u0000", "\udfff": 1, __proto__: null };
    const asks = agent(
      async (it) => {
        const got = await it.tool("echo", odd);
        await it.tool("wait");
        return it.done(got);
      },
      {
        tools: {
          echo: recorder.tool("echo"),
          wait: recorder.tool("wait", () => held.pass(), { effect: "idempotent" }),
        },
      },
    );
    await runs.start(asks, { session: "s", id: "r" });
    await cutOff(runs, asks, "r", held.reached);
    held.open();
    const done = await runs.resume(asks, "r");
    assert.deepEqual([done.status, done.value], ["completed", { text: odd.text, "\udfff": 1 }]);
    assert.deepEqual([recorder.count("echo"), recorder.effects[0]?.input], [1, { text: odd.text, "\udfff": 1 }]);
  }),
  prove("RU6 an answer says all of it: what a step gave is given, or it is no answer", NEEDS, async ({ runs }) => {
    const held = gate();
    const pays = agent(async (it) => it.done(await it.tool("pay")), { tools: { pay: { execute: () => held.pass() } } });
    await runs.start(pays, { session: "s", id: "r" });
    await cutOff(runs, pays, "r", held.reached);
    await runs.resume(pays, "r");
    const [question] = (await runs.pending()).items;
    const { id } = present(question);
    await refuses("InvalidArgument", () => runs.answer(id, { verdict: "result" } as never));
    await refuses("InvalidArgument", () => runs.answer(id, { verdict: "fail", result: 1 } as never));
    await runs.answer(id, { verdict: "result", result: null });
    assert.equal((await runs.resume(pays, "r")).status, "completed");
  }),
  prove("RU3 no model is asked any more once the run has spent what it may", NEEDS, async (nouns) => {
    const { runs } = nouns;
    let asked = 0;
    const greedy = agent(
      async (it) => {
        for (let n = 0; n < 10; n++) await it.model(n);
        return it.done();
      },
      {
        models: {
          m: {
            call: () => {
              asked++;
              return { output: 1, inputTokens: 10, outputTokens: 5, costUsd: 0.02 };
            },
          },
        },
      },
    );
    for (const [limits, most] of [
      [{ costUsd: 0.05 }, 3],
      [{ tokens: 30 }, 2],
    ] as const) {
      asked = 0;
      const { run, status } = await runs.execute(greedy, { session: `s ${most}`, limits });
      assert.deepEqual([status, run.stopReason, asked], ["failed", `limit:${Object.keys(limits)[0]}`, most]);
      assert.deepEqual([run.tokens, Math.round((run.costUsd ?? 0) * 100)], [most * 15, most * 2], "all of it is told");
      await endedOnce(nouns, run);
      await refuses("InvalidArgument", () => runs.retry(run.id, { limits }));
      await refuses("InvalidArgument", () => runs.retry(run.id));
      // What was answered is not asked again by the run that retries it.
      const wider = await runs.retry(run.id, { limits: { costUsd: 1, tokens: 1000 } });
      assert.equal((await runs.resume(greedy, wider.id)).status, "completed");
      assert.equal(asked, 10);
    }
  }),
  prove("RU3 costs that no number holds end nothing", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const costly = agent(
      async (it, n: number) => {
        await it.model(n);
        return n === 3 ? it.done() : it.next(n + 1);
      },
      { initial: () => 1, models: { m: { call: () => ({ output: 1, costUsd: 1.5e308 }) } } },
    );
    const { status, run } = await runs.execute(costly, { session: "s" });
    assert.deepEqual([status, run.costUsd], ["completed", Number.MAX_VALUE]);
  }),
];
