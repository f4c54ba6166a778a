// Runs: iterations under a lease, what is recorded of them, and what happens when they are cut off, wait, or are told
// to.
import assert from "node:assert/strict";
import { present, refuses } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { agent, EffectRecorder, endedOnce, gate, NEEDS, texts } from "./runs-agents.ts";
import { approvalCases } from "./runs-approval.ts";
import { boundsCases } from "./runs-bounds.ts";
import { doubtCases } from "./runs-doubt.ts";
import { executeCases } from "./runs-execute.ts";
import { hardExecuteCases } from "./runs-execute-hard.ts";
import { familyCases } from "./runs-family.ts";
import { leftCases } from "./runs-left.ts";
import { modelCases } from "./runs-models.ts";
import { peopleCases } from "./runs-people.ts";
import { readCases } from "./runs-reads.ts";
import { erasedReadCases } from "./runs-reads-erased.ts";
import { replayCases } from "./runs-replay.ts";
import { travelCases } from "./runs-travel.ts";
import { typesCases } from "./runs-types.ts";
import { verbCases } from "./runs-verbs.ts";
import { waitingCases } from "./runs-waiting.ts";
import { watchingCases } from "./runs-watching.ts";

export function runRunsSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(
    `${name}: runs`,
    [
      ...loopCases,
      ...doubtCases,
      ...verbCases,
      ...waitingCases,
      ...travelCases,
      ...typesCases,
      ...watchingCases,
      ...replayCases,
      ...approvalCases,
      ...modelCases,
      ...peopleCases,
      ...leftCases,
      ...executeCases,
      ...hardExecuteCases,
      ...boundsCases,
      ...familyCases,
      ...readCases,
      ...erasedReadCases,
    ],
    make,
    options,
  );
}

const loopCases: readonly Case[] = [
  prove("RU8 every iteration ends in a checkpoint and a head; what it did is in the log", NEEDS, async (nouns) => {
    const { runs, lineage } = nouns;
    const recorder = new EffectRecorder();
    const counts = agent(
      async (it, { n }: { n: number }) => {
        await it.message({ role: "user", content: `turn ${n}` });
        const reply = await it.model({ ask: n });
        const doubled = await it.tool("double", { n });
        await it.message({ role: "assistant", content: `${JSON.stringify(reply.output)} ${JSON.stringify(doubled)}` });
        return n === 3 ? it.done({ sum: n }) : it.next({ n: n + 1 });
      },
      {
        tools: { double: recorder.tool("double", (input) => (input as { n: number }).n * 2) },
        models: { m: { call: () => ({ output: "yes", inputTokens: 10, outputTokens: 2, costUsd: 0.5 }) } },
        initial: () => ({ n: 1 }),
      },
    );
    const { run, status, value, error } = await runs.execute(counts, { session: "s", input: "go" });
    assert.deepEqual([status, value, error, run.stopReason], ["completed", { sum: 3 }, null, "done"]);
    assert.deepEqual([run.iteration, run.tokens, run.costUsd, run.owner], [2, 36, 1.5, null]);
    assert.deepEqual(await texts(nouns, "s"), ["turn 1", '"yes" 2', "turn 2", '"yes" 4', "turn 3", '"yes" 6']);
    assert.equal((await lineage.heads.list("s")).items.length, 3, "one for each iteration");
    const steps = await runs.steps(run.id, { iteration: 2 });
    assert.deepEqual(
      steps.map(({ path, kind, name, status: done, attempt }) => [path, kind, name, done, attempt]),
      [
        ["1", "message", "message", "done", 1] as const,
        ["2", "model", "m", "done", 1] as const,
        ["3", "tool", "double", "done", 1] as const,
        ["4", "message", "message", "done", 1] as const,
      ],
    );
    const calls = await lineage.sessions.at("s").then((view) => view.calls());
    assert.deepEqual(
      calls.map(({ type, model, inputTokens, costUsd }) => [type, model, inputTokens, costUsd]),
      Array.from({ length: 3 }, () => ["leaf", "m", 10, 0.5]),
    );
    const point = present(await runs.checkpoint(run.id));
    assert.deepEqual([point.iteration, point.state, point.lastToolResult], [2, { n: 3 }, 4]);
    assert.deepEqual((await runs.checkpoint(run.id, 1))?.state, { n: 2 });
    await endedOnce(nouns, run);
  }),
  prove("RU2 one root run at a time: others get SessionBusy", NEEDS, async (nouns) => {
    const { runs, history, lineage } = nouns;
    const waits = agent(async (it) => it.done(await it.waitFor("go")));
    const { run, status } = await runs.execute(waits, { session: "s" }, { wait: false });
    assert.deepEqual([status, run.waitsFor], ["waiting", [{ kind: "signal", name: "go" }]]);
    await refuses("SessionBusy", () => runs.start(waits, { session: "s" }));
    await refuses("SessionBusy", () => lineage.heads.publish("s"));
    await history.append({ session: "s", agent: "bob" }, { role: "user", content: "meanwhile" });
    await refuses("SessionBusy", () => history.clear({ session: "s", agent: "bob" }));
    const head = await lineage.heads.list("s");
    assert.equal(head.items.length, 0);
    await refuses("SessionBusy", () => runs.execute(waits, { session: "s", input: { hello: 1 } }));
    await runs.signal(run.id, "go", { hello: 2 });
    const done = await runs.execute(waits, { session: "s" });
    assert.deepEqual([done.run.id, done.status, done.value], [run.id, "completed", { hello: 2 }]);
    await history.clear({ session: "s", agent: "bob" });
    await endedOnce(nouns, done.run);
  }),
  prove("RU11 a step that fails is tried again by its policy, and what remains fails the run", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    let failures = 2;
    const flaky = agent(async (it) => it.done(await it.tool("flaky")), {
      tools: {
        flaky: recorder.tool(
          "flaky",
          () => {
            if (failures-- > 0) throw new Error("not today");
            return "fine";
          },
          { retry: { attempts: 3, backoffMs: 1 } },
        ),
      },
    });
    const good = await runs.execute(flaky, { session: "s" });
    assert.deepEqual([good.status, good.value], ["completed", "fine"]);
    const keys = recorder.effects.map(({ key }) => key);
    assert.equal(new Set(keys).size, 3, "RU7: a try after a recorded failure has a key of its own");
    failures = 5;
    const bad = await runs.execute(flaky, { session: "s" });
    assert.deepEqual(
      [bad.status, bad.run.error, bad.run.stopReason],
      ["failed", { code: "Error", message: "not today" }, "failed"],
    );
    assert.equal(recorder.count("flaky"), 6);
    assert.deepEqual((await runs.get(bad.run.id))?.error, bad.run.error);
    await endedOnce(nouns, bad.run);
    // One that the iteration lives with.
    const patient = agent(
      async (it) => {
        const answer = await it
          .tool("never")
          .catch((error: Error & { code?: string }) => `${error.name} ${error.code}`);
        return it.done(answer);
      },
      { tools: { never: { execute: () => Promise.reject(Object.assign(new Error("no"), { code: "ENOPE" })) } } },
    );
    assert.equal((await runs.execute(patient, { session: "t" })).value, "StepFailed ENOPE");
  }),
  prove("RU11 limits end a run, and it says which", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const endless = agent(
      async (it, n: number) => {
        await it.model(n);
        return it.next(n + 1);
      },
      { initial: () => 0, models: { m: { call: () => ({ output: 1, inputTokens: 5, outputTokens: 5, costUsd: 1 }) } } },
    );
    const stopped = async (limits: object) => {
      const { run, status, error } = await runs.execute(endless, { session: "s", limits });
      await endedOnce(nouns, run);
      return [status, run.stopReason, run.iteration, error?.code];
    };
    assert.deepEqual(await stopped({ iterations: 3 }), ["failed", "limit:iterations", 3, "LimitExceeded"]);
    assert.deepEqual(await stopped({ tokens: 25 }), ["failed", "limit:tokens", 3, "LimitExceeded"]);
    assert.deepEqual(await stopped({ costUsd: 2 }), ["failed", "limit:costUsd", 2, "LimitExceeded"]);
    const slow = agent(async (it) => it.done(await it.tool("hang")), {
      tools: {
        hang: { execute: (_input, { signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)) },
      },
    });
    const { run } = await runs.execute(slow, { session: "t", limits: { wallMs: 30 } });
    assert.deepEqual([run.status, run.stopReason], ["failed", "limit:wallMs"]);
    await refuses("InvalidArgument", () => runs.start(endless, { session: "u", limits: { iterations: 0 } }));
    await refuses("InvalidArgument", () => runs.start(endless, { session: "u", limits: { days: 1 } as never }));
  }),
  prove("RU5 branches of parallel work have places of their own, whichever is faster", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const wide = agent(
      async (it) => {
        const all = await it.parallel(
          async (one) => [await one.tool("t", "a1"), await one.tool("t", "a2")],
          async (one) => [await one.tool("t", "b1"), one.random() !== it.random()],
        );
        return it.done(all);
      },
      { tools: { t: recorder.tool("t") } },
    );
    const { run, value } = await runs.execute(wide, { session: "s" });
    assert.deepEqual(value, [
      ["a1", "a2"],
      ["b1", true],
    ]);
    assert.deepEqual((await runs.steps(run.id)).map(({ path }) => path).sort(), ["1.1.1", "1.1.2", "1.2.1"]);
    await endedOnce(nouns, run);
  }),
  prove(
    "RU8 steps that the iteration does not await end before the iteration; none begins after it",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      let late: Promise<unknown> | null = null;
      const careless = agent(
        (it) => {
          void it.tool("slow", 1);
          late = new Promise((resolve) => {
            setTimeout(() => resolve(it.tool("slow", 2).catch((error: { code: string }) => error.code)), 30);
          });
          return it.done("over");
        },
        { tools: { slow: recorder.tool("slow", () => new Promise((resolve) => setTimeout(resolve, 10, "done"))) } },
      );
      const { run, value } = await runs.execute(careless, { session: "s" });
      assert.equal(value, "over");
      assert.deepEqual(
        (await runs.steps(run.id)).map(({ status }) => status),
        ["done"],
      );
      assert.equal(await late, "InvalidTransition");
      await endedOnce(nouns, run);
      const held = gate();
      const tools = {
        quick: recorder.tool("quick", () => 1),
        slow: recorder.tool("slow", () => held.pass().then(() => 2)),
      };
      const working = runs.execute(
        agent(
          (it) => {
            void it.tool("slow");
            void it.tool("quick");
            return it.done("both");
          },
          { tools },
        ),
        { session: "t", id: "both" },
      );
      const quickly = async () =>
        (await runs.steps("both")).some(({ name, status }) => name === "quick" && status === "done");
      await held.reached;
      while (!(await quickly())) await new Promise((resolve) => setTimeout(resolve));
      for (let looks = 0; looks < 20; looks++) {
        await new Promise((resolve) => setTimeout(resolve));
        assert.equal((await runs.get("both"))?.status, "running", "one of them is still at work");
      }
      held.open();
      const both = await working;
      assert.deepEqual([both.status, both.value], ["completed", "both"]);
      assert.deepEqual(
        (await runs.steps("both")).map(({ status }) => status),
        ["done", "done"],
      );
      await endedOnce(nouns, both.run);
    },
  ),
  prove("RU9 what cannot be kept fails its step or its run, and loses neither", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const gives = (what: unknown) =>
      agent(async (it) => it.done(await it.tool("t")), {
        tools: { t: { execute: () => what, retry: { attempts: 3 } } },
      });
    for (const what of [circle, 1n, { at: Number.NaN }, "x".repeat(70_000_000)]) {
      const { run, status, error } = await runs.execute(gives(what), { session: "s" });
      assert.equal(status, "failed");
      assert.ok(["InvalidJson", "LimitExceeded"].includes(error?.code ?? ""), `${error?.code}: ${error?.message}`);
      assert.equal((await runs.steps(run.id)).length, 1, "it is not tried again");
      await endedOnce(nouns, run);
    }
    const nothing = await runs.execute(gives(undefined), { session: "s" });
    assert.deepEqual([nothing.status, nothing.value], ["completed", null], "what gave nothing has happened");
    assert.equal((await runs.steps(nothing.run.id)).length, 1);
    await endedOnce(nouns, nothing.run);
    for (const what of [null, []]) assert.deepEqual((await runs.execute(gives(what), { session: "s" })).value, what);
    const lived = await runs.execute(
      agent(async (it) => it.done(await it.tool("t").catch((error) => error.code)), {
        tools: { t: { execute: () => 1n } },
      }),
      { session: "s" },
    );
    assert.equal(lived.value, "InvalidJson", "the agent may live with it");
    for (const forgets of [
      agent((it) => it.next(undefined as never)),
      agent((it) => it.done(), { initial: () => undefined as never }),
      agent((it) => it.done(), {
        initial: () => {
          throw Object.assign(new Error("no"), { code: "InvalidJson" });
        },
      }),
    ]) {
      const { run, status, error } = await runs.execute(forgets, { session: "s" });
      assert.deepEqual([status, error?.code], ["failed", "InvalidJson"]);
      await endedOnce(nouns, run);
    }
    const ends = await runs.execute(
      agent((it) => it.done()),
      { session: "s" },
    );
    assert.deepEqual([ends.status, ends.value], ["completed", null]);
    const state = await runs.execute(
      agent((it) => it.next({ bad: () => 1 } as never)),
      { session: "s" },
    );
    assert.deepEqual([state.status, state.error?.code], ["failed", "InvalidJson"]);
    const value = await runs.execute(
      agent((it) => it.done(circle)),
      { session: "s" },
    );
    assert.deepEqual([value.status, value.error?.code], ["failed", "InvalidJson"]);
    const unknown = await runs.execute(
      agent(async (it) => it.done(await it.tool("hammer"))),
      { session: "s" },
    );
    assert.deepEqual([unknown.status, unknown.error?.code], ["failed", "NotFound"]);
    const verdict = await runs.execute(agent((() => 7) as never), { session: "s" });
    assert.deepEqual([verdict.status, verdict.error?.code], ["failed", "InvalidArgument"]);
    await refuses("InvalidJson", () =>
      runs.start(
        agent((it) => it.done()),
        { session: "s", input: circle },
      ),
    );
    await refuses("InvalidArgument", () => runs.start({ id: "x", version: "1" } as never, { session: "s" }));
    await refuses("InvalidId", () =>
      runs.start(
        agent((it) => it.done()),
        { session: "" },
      ),
    );
    await refuses("NotFound", () => runs.steps("nobody"));
    await refuses("NotFound", () => runs.signal("nobody", "x"));
    await refuses("InvalidTransition", () => runs.signal(state.run.id, "x"));
    await refuses("InvalidTransition", () => runs.cancel(state.run.id));
    await refuses("Conflict", () =>
      runs.start(
        agent((it) => it.done()),
        { session: "z", id: state.run.id },
      ),
    );
  }),
];
