// Runs: iterations under a lease, what is recorded of them, and what happens when they are cut off, wait, or are told to.
import assert from "node:assert/strict";
import { present, refuses } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, NEEDS, texts } from "./runs-agents.ts";
import { approvalCases } from "./runs-approval.ts";
import { boundsCases } from "./runs-bounds.ts";
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
    assert.deepEqual(await texts(nouns, "s"), [...["turn 1", '"yes" 2', "turn 2", '"yes" 4', "turn 3", '"yes" 6']]);
    assert.equal((await lineage.heads.list("s")).items.length, 3, "one for each iteration");
    const steps = await runs.steps(run.id, { iteration: 2 });
    assert.deepEqual(
      steps.map(({ path, kind, name, status: done, attempt }) => [path, kind, name, done, attempt]),
      [
        ...[["1", "message", "message", "done", 1] as const, ["2", "model", "m", "done", 1] as const],
        ...[["3", "tool", "double", "done", 1] as const, ["4", "message", "message", "done", 1] as const],
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
  prove("RU2 one root run at a time: others are told that the session is busy", NEEDS, async (nouns) => {
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
      [...["failed", { code: "Error", message: "not today" }, "failed"]],
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
  prove("RU8 steps that nobody awaits end before their iteration does; none begins after it", NEEDS, async (nouns) => {
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
  }),
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

const doubtCases: readonly Case[] = [
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
      if (verdict === "fail") assert.match(String(done.value), /^refused: a person said/);
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
  prove("RU9 a run somebody is at work on is never recovered nor taken over", [...NEEDS, "another"], async (nouns) => {
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

const verbCases: readonly Case[] = [
  prove(
    "RU1 runs are listed by session, agent, status and time, newest first, page by page",
    NEEDS,
    async ({ runs }) => {
      const once = (id: string) => agent((it) => it.done(it.input), { id });
      for (const n of [1, 2, 3, 4, 5]) {
        await runs.execute(once(n % 2 === 0 ? "even" : "odd"), { session: `s${n}`, id: `r${n}`, input: n });
      }
      await runs.execute(
        agent((it) => it.fail("no"), { id: "odd" }),
        { session: "s1", id: "r6" },
      );
      const ids = async (filter: Parameters<typeof runs.list>[0]) =>
        (await runs.list(filter)).items.map(({ id }) => id);
      assert.deepEqual(await ids({}), ["r6", "r5", "r4", "r3", "r2", "r1"]);
      assert.deepEqual(await ids({ agent: "even" }), ["r4", "r2"]);
      assert.deepEqual(await ids({ session: "s1" }), ["r6", "r1"]);
      assert.deepEqual(await ids({ status: "failed" }), ["r6"]);
      assert.deepEqual(await ids({ agent: "odd", status: "completed", session: "s1" }), ["r1"]);
      assert.deepEqual(await ids({ createdBefore: 1 }), []);
      const first = await runs.list({ limit: 4 });
      const second = await runs.list({ limit: 4, cursor: present(first.next) });
      assert.deepEqual([first.items.length, second.items.map(({ id }) => id), second.next], [4, ["r2", "r1"], null]);
      assert.deepEqual((await runs.result("r3"))?.value, 3);
      assert.equal(await runs.get("nobody"), null);
      await refuses("InvalidArgument", () => runs.list({ status: "odd" as never }));
    },
  ),
  prove("RU3 a run at work is cancelled by its worker, one that waits at once", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const held = gate();
    const works = agent(async (it) => it.done(await it.tool("t")), {
      tools: {
        t: {
          execute: (_input, { signal }) => {
            void held.pass();
            return new Promise((resolve) => signal.addEventListener("abort", () => resolve("stopped")));
          },
        },
      },
    });
    const working = runs.execute(works, { session: "s", id: "r" }, { wait: false });
    await held.reached;
    const asked = await runs.cancel("r");
    assert.deepEqual([asked.status, asked.cancelRequested], ["running", true]);
    const { status, error, run } = await working;
    assert.deepEqual([status, error?.code, run.stopReason], ["cancelled", "Aborted", "cancelled"]);
    await endedOnce(nouns, run);
    const waits = agent(async (it) => it.done(await it.waitFor("go")));
    const { run: asleep } = await runs.execute(waits, { session: "t" }, { wait: false });
    const cancelled = await runs.cancel(asleep.id);
    assert.deepEqual([cancelled.status, (await runs.result(asleep.id))?.error?.code], ["cancelled", "Aborted"]);
    await endedOnce(nouns, cancelled);
  }),
  prove("RU8 checkpoints of loops that are not ours: saved, loaded, deleted", [...NEEDS, "clock"], async (nouns) => {
    const { runs, log, check } = nouns;
    assert.equal(await runs.loadCheckpoint("s", "ada"), null);
    const pending = [{ id: "c1", tool: "search", input: { q: 1 }, startedAt: 5 }];
    const saved = await runs.saveCheckpoint({
      ...{ session: "s", agent: "ada", iteration: 3, state: { at: "3" }, pendingToolCalls: pending },
      ...{ lastToolResult: { ok: true }, pauseUntil: 99, stopReason: "paused", startedAt: 1 },
    });
    assert.deepEqual(await runs.loadCheckpoint("s", "ada"), saved);
    assert.deepEqual(saved.pendingToolCalls, pending);
    await runs.saveCheckpoint({ session: "s", agent: "ada", iteration: 4, state: "x".repeat(50_000) });
    const last = present(await runs.loadCheckpoint("s", "ada"));
    assert.deepEqual([last.iteration, last.pendingToolCalls, last.run], [4, [], null]);
    assert.equal(await runs.loadCheckpoint("s", "bob"), null);
    assert.equal(await runs.deleteCheckpoint("s", "bob"), false);
    assert.equal(await runs.deleteCheckpoint("s", "ada"), true);
    assert.equal(await runs.loadCheckpoint("s", "ada"), null);
    assert.equal(await runs.deleteCheckpoint("s", "ada"), false);
    assert.equal((await log.verify("s")).ok, true);
    assert.deepEqual((await check()).issues, []);
    await refuses("InvalidArgument", () => runs.saveCheckpoint({ session: "s", agent: "ada", iteration: -1 }));
    await refuses("InvalidJson", () =>
      runs.saveCheckpoint({ session: "s", agent: "ada", iteration: 1, state: (() => 1) as never }),
    );
  }),
  prove(
    "RU13 a worker takes what is due by priority, no more than it may, and gives back what it has",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const order: string[] = [];
      const held = gate();
      const works = agent(async (it) => it.done(await it.tool("t")), {
        tools: {
          t: {
            effect: "idempotent",
            execute: async (_input, { run }) => {
              order.push(run);
              await held.pass();
              return run;
            },
          },
        },
      });
      for (const [n, priority] of [0, 5, 1].entries())
        await runs.start(works, { session: `s${n}`, id: `r${n}`, priority });
      const worker = runs.createWorker({ agents: [works], concurrency: 2 });
      assert.equal(await worker.look(), 2);
      assert.equal(await worker.look(), 0, "it is full");
      assert.deepEqual(worker.working.toSorted(), ["r1", "r2"]);
      await held.reached;
      await worker.stop({ graceMs: 0 });
      const given_back = await runs.get("r1");
      assert.deepEqual([given_back?.owner, given_back?.status], [null, "running"]);
      held.open();
      const next = runs.createWorker({ agents: [works], pollMs: 10 });
      next.start();
      for (const n of [0, 1, 2]) {
        while ((await runs.get(`r${n}`))?.status !== "completed")
          await new Promise((resolve) => setTimeout(resolve, 5));
        assert.equal((await runs.result(`r${n}`))?.value, `r${n}`);
      }
      await next.stop();
      for (const n of [0, 1, 2]) await endedOnce(nouns, present(await runs.get(`r${n}`)));
    },
  ),
  prove("RU8 tokens are shown to who listens, and stored nowhere", NEEDS, async ({ runs, log }) => {
    const speaks = agent(async (it) => it.done((await it.model("q")).output), {
      models: {
        m: {
          call: async (_request, { token }) => {
            for (const word of ["he", "llo"]) token(word);
            return { output: "hello" };
          },
        },
      },
    });
    const over = new AbortController();
    const heard: string[] = [];
    const listening = (async () => {
      for await (const { text } of runs.tokens({ signal: over.signal })) heard.push(text);
    })();
    await runs.execute(speaks, { session: "s" });
    over.abort();
    await listening;
    assert.deepEqual(heard, ["he", "llo"]);
    const events = JSON.stringify(await log.read("s", { limit: 100 }));
    assert.ok(!events.includes("llo"));
  }),
];
