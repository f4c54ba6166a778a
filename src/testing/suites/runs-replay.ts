// Replays: an iteration that was interrupted does the same again, or is refused before it does anything.
import assert from "node:assert/strict";
import type { Json } from "../../contracts/json.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, NEEDS } from "./runs-agents.ts";

export const replayCases: readonly Case[] = [
  prove(
    "RU4 other arguments at the same place are NonDeterminism, before any effect; the run is not lost",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      const held = gate();
      const made = (amount: number, name = "first") =>
        agent(
          async (it) => {
            await it.tool(name, { amount });
            return it.done(await it.tool("second", {}));
          },
          {
            tools: {
              first: recorder.tool("first"),
              other: recorder.tool("other"),
              second: recorder.tool("second", () => held.pass().then(() => "end"), { effect: "idempotent" }),
            },
          },
        );
      const { id } = await runs.start(made(1), { session: "s" });
      await cutOff(runs, made(1), id, held.reached);
      const before = recorder.effects.length;
      const wrong = await refuses("NonDeterminism", () => runs.resume(made(2), id));
      assert.match(wrong.message, /1\/1/);
      await refuses("NonDeterminism", () => runs.resume(made(1, "other"), id));
      assert.equal(recorder.effects.length, before);
      held.open();
      const { status, run } = await runs.resume(made(1), id);
      assert.deepEqual([status, recorder.count("first"), recorder.count("other")], ["completed", 1, 0]);
      await endedOnce(nouns, run);
    },
  ),
  prove(
    "RU4 a verdict that leaves out a step begun before the interruption is NonDeterminism: no person would be asked about it",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      for (const [effect, done] of [
        ["non-idempotent", "paid"],
        ["idempotent", "paid"],
      ] as const) {
        const recorder = new EffectRecorder();
        const held = gate();
        const made = (does: readonly string[], ends: "done" | "next" = "done") =>
          agent(
            async (it) => {
              if (does.includes("note")) await it.message({ role: "user", content: "to pay" });
              const paid = does.includes("pay") ? await it.tool("pay", 5) : "skipped";
              return ends === "next" ? it.next(paid) : it.done(paid);
            },
            { tools: { pay: recorder.tool("pay", () => held.pass().then(() => done), { effect }) } },
          );
        const all = ["note", "pay"];
        const { id } = await runs.start(made(all), { session: effect });
        await cutOff(runs, made(all), id, held.reached);
        for (const ends of ["done", "next"] as const) {
          const wrong = await refuses("NonDeterminism", () => runs.resume(made(["note"], ends), id));
          assert.match(wrong.message, /1\/2 .* did tool pay .* returns its verdict without that/);
        }
        await refuses("NonDeterminism", () => runs.resume(made([]), id));
        held.open();
        const asked = await runs.resume(made(all), id);
        if (effect === "non-idempotent") {
          assert.equal(asked.status, "waiting", "it is asked about, whatever others tried");
          const [pending] = (await runs.pending()).items;
          await runs.answer(present(pending).id, { verdict: "result", result: done });
        }
        const { status, value, run } = asked.status === "waiting" ? await runs.resume(made(all), id) : asked;
        assert.deepEqual([status, value], ["completed", done]);
        await endedOnce(nouns, run);
      }
    },
  ),
  prove("RU4 work beside a verdict is the same when it is replayed", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const held = gate();
    const long = "word after word ".repeat(500);
    const step = (n: Json) => (n === 5 ? held.pass().then(() => "end") : `${long} ${n}`);
    const made = agent(
      async (it) => {
        const beside = it.parallel(
          async (one) => one.tool("fails"),
          async (two) => {
            for (const n of [1, 2, 3, 4, 5]) await two.tool("step", n);
            await two.tool("step", 6);
          },
        );
        await beside.catch(() => {});
        return it.done("without it");
      },
      {
        tools: {
          fails: recorder.tool("fails", () => held.reached.then(() => Promise.reject(new Error("no")))),
          step: recorder.tool("step", step, { effect: "idempotent" }),
        },
      },
    );
    const { id } = await runs.start(made, { session: "s" });
    // The verdict was given, and what is at work is waited for.
    await cutOff(runs, made, id, held.reached);
    held.open();
    const { status, value, run } = await runs.resume(made, id);
    assert.deepEqual([status, value], ["completed", "without it"]);
    assert.deepEqual(
      [recorder.count("step"), recorder.count("fails")],
      [6, 1],
      "the fifth again, and none after the verdict",
    );
    await endedOnce(nouns, run);
  }),
];
