// Calls of execute() in hard cases: nested children, inputs that are hard to compare, owners that only look gone, steps
// that an iteration does not await.
import assert from "node:assert/strict";
import type { Json } from "../../contracts/json.ts";
import type { RunWait } from "../../contracts/run-waits.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, gatedAgent, NEEDS } from "./runs-agents.ts";

const later = (ms: number) => new Promise((go) => setTimeout(go, ms));

export const hardExecuteCases: readonly Case[] = [
  prove(
    "RU2 a grandchild that waits is continued through its parents, and nothing is claimed in vain",
    NEEDS,
    async (nouns) => {
      const { runs, log } = nouns;
      const recorder = new EffectRecorder();
      const grandchild = agent(async (it) => it.done(await it.tool("pay")), {
        id: "grandchild",
        tools: { pay: recorder.tool("pay", () => "paid", { approve: true }) },
      });
      const child = agent(async (it) => it.done((await it.spawn(grandchild)).value), { id: "child" });
      const parent = agent(async (it) => it.done((await it.spawn(child)).value));
      const told = Promise.withResolvers<RunWait>();
      const done = runs.execute(parent, { session: "s", id: "top" }, { onWait: told.resolve });
      await told.promise;
      await later(600);
      const claims = (await log.read("s", { limit: 1000 })).filter(({ type }) => type === "run/claimed").length;
      assert.ok(claims <= 2, `${claims} claims while it waited`);
      const [question] = (await runs.pending()).items;
      await runs.answer(present(question).id, { verdict: "retry" });
      assert.deepEqual([(await done).value, recorder.count("pay")], ["paid", 1]);
    },
  ),
  prove("RU2 a child whose wait runs out of time is continued through its parent", NEEDS, async (nouns) => {
    const { runs, log } = nouns;
    const child = agent(async (it) => it.done(await it.waitFor("never", { timeoutMs: 300 })), { id: "child" });
    const parent = agent(async (it) => it.done((await it.spawn(child)).status));
    const done = await runs.execute(parent, { session: "s", id: "top" });
    assert.equal(done.value, "completed");
    const claims = (await log.read("s", { limit: 1000 })).filter(({ type }) => type === "run/claimed").length;
    assert.ok(claims <= 3, `${claims} claims`);
  }),
  prove("RU2 any input is the same input again, also half a character, and is read once", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const echo = agent((it) => it.done(it.input));
    const odd = { text: "half \ud83d", "\udfff": [1, { b: 1, a: 2 }] };
    const same = { "\udfff": [1, { a: 2, b: 1 }], text: "half \ud83d" };
    assert.equal((await runs.execute(echo, { session: "s", id: "odd", input: odd })).status, "completed");
    assert.deepEqual((await runs.execute(echo, { session: "s", id: "odd", input: same })).value, odd);
    assert.equal((await runs.start(echo, { session: "s", id: "odd", input: same })).status, "completed");
    const moving = { x: 1 };
    const begun = runs.execute(echo, { session: "s", id: "moving", input: moving });
    moving.x = 2;
    assert.deepEqual((await begun).value, { x: 1 });
    assert.deepEqual((await runs.execute(echo, { session: "s", id: "moving", input: { x: 1 } })).value, { x: 1 });
  }),
  prove("RU2 the same id means the last of several retries", NEEDS, async (nouns) => {
    const { runs } = nouns;
    let failures = 2;
    const flaky = agent(async (it) => it.done(await it.tool("t")), {
      tools: {
        t: {
          execute: () => {
            if (failures-- > 0) throw new Error("no");
            return "yes";
          },
        },
      },
    });
    const input = { session: "s", id: "r1" };
    assert.equal((await runs.execute(flaky, input)).status, "failed");
    const first = await runs.retry("r1");
    assert.equal((await runs.execute(flaky, input)).run.id, first.id);
    const second = await runs.retry(first.id);
    const done = await runs.execute(flaky, input);
    assert.deepEqual([done.run.id, done.value], [second.id, "yes"]);
  }),
  prove(
    "RU3 a worker that sends heartbeats keeps its run, however long it works",
    [...NEEDS, "another"],
    async (nouns) => {
      const { runs } = nouns;
      const other = await nouns.another();
      const { held, works } = gatedAgent("by the first");
      const first = other.runs.execute(works, { session: "s", id: "r1", leaseMs: 300 });
      await held.reached;
      const waits: RunWait[] = [];
      const second = runs.execute(works, { session: "s", id: "r1" }, { onWait: (wait) => waits.push(wait) });
      await later(1200);
      assert.equal((await runs.get("r1"))?.epoch, 1, "nobody took it");
      assert.equal(waits.length, 1, "told once");
      held.open();
      assert.deepEqual([(await first).value, (await second).value], ["by the first", "by the first"]);
    },
  ),
  prove("RU6 a step in doubt that the iteration does not await is asked about all the same", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const held = gate();
    const careless = agent(
      async (it) => {
        void it.tool("pay");
        return it.done("ok");
      },
      { tools: { pay: recorder.tool("pay", () => held.pass()) } },
    );
    await runs.start(careless, { session: "s", id: "r1" });
    await cutOff(runs, careless, "r1", held.reached);
    held.open();
    assert.equal((await runs.resume(careless, "r1")).status, "waiting");
    const [question] = (await runs.pending()).items;
    await runs.answer(present(question).id, { verdict: "result", result: "seen" });
    const done = await runs.resume(careless, "r1");
    assert.deepEqual([done.status, done.value, recorder.count("pay")], ["completed", "ok", 1]);
    await endedOnce(nouns, done.run);
  }),
  prove("RU16 a permission that the iteration does not await is waited for, and used", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const careless = agent(
      async (it, n: number) => {
        if (n > 0) return it.done(n);
        void it.tool("pay");
        return it.next(n + 1);
      },
      { initial: () => 0, tools: { pay: recorder.tool("pay", () => 1, { approve: true }) } },
    );
    const waiting = await runs.execute(careless, { session: "s", id: "r1" }, { wait: false });
    assert.deepEqual([waiting.status, waiting.run.iteration], ["waiting", 0]);
    const [question] = (await runs.pending()).items;
    await runs.answer(present(question).id, { verdict: "retry" });
    const done = await runs.execute(careless, { session: "s", id: "r1" });
    assert.deepEqual([done.status, done.value, recorder.count("pay")], ["completed", 1, 1]);
  }),
  prove("RU16 whether a person is asked is decided by the validated input", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const input = {
      "~standard": {
        version: 1 as const,
        vendor: "test",
        validate: (value: unknown) => ({ value: { amount: 500, ...(value as object) } }),
      },
    };
    const approve = (({ amount }: { readonly amount: number }) => amount > 100) as never;
    const pays = agent(async (it) => it.done(await it.tool("pay", it.input)), {
      tools: { pay: { ...recorder.tool("pay", (nouns) => nouns, { approve }), input } as never },
    });
    const small = await runs.execute(pays, { session: "small", input: { amount: 5 } });
    assert.deepEqual([small.status, small.value], ["completed", { amount: 5 }]);
    const large = await runs.execute(pays, { session: "large", input: {} }, { wait: false });
    assert.deepEqual([large.status, recorder.count("pay")], ["waiting", 1], "the default is above the bound");
  }),
  prove(
    "RU16 a rule of approval that throws refuses the step, and a replay gets the same error",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      let isBroken = true;
      const approve = () => {
        if (isBroken) throw new Error("no rule");
        return false;
      };
      const held = gate();
      const asks = agent(
        async (it) => {
          const said = await it.tool("pay").catch((error: Error) => error.message);
          await it.message({ role: "assistant", content: String(said) });
          await it.tool("wait");
          return it.done(said as Json);
        },
        {
          tools: {
            pay: recorder.tool("pay", () => 1, { approve }),
            wait: { effect: "idempotent", execute: () => held.pass() },
          },
        },
      );
      await runs.start(asks, { session: "s", id: "r1" });
      await cutOff(runs, asks, "r1", held.reached);
      isBroken = false;
      held.open();
      const done = await runs.resume(asks, "r1");
      assert.deepEqual([done.value, recorder.count("pay")], ["no rule", 0]);
    },
  ),
  prove("RU17 a reply that is none is a failure like any other, and is tried again", NEEDS, async (nouns) => {
    const { runs } = nouns;
    for (const garbage of [null, {}, { output: 1, inputTokens: -1 }]) {
      let asked = 0;
      const asks = agent(async (it) => it.done((await it.model("hi")).output), {
        models: {
          m: {
            retry: { attempts: 3, backoffMs: 1 },
            call: () => (++asked < 3 ? garbage : { output: "fine" }) as never,
          },
        },
      });
      assert.equal((await runs.execute(asks, { session: "s" })).value, "fine");
      assert.equal(asked, 3);
    }
  }),
  prove(
    "RU2 a call that is closed or aborted while it watches an owner says so",
    [...NEEDS, "another"],
    async (nouns) => {
      const { runs } = nouns;
      const other = await nouns.another();
      const { held, works } = gatedAgent(1);
      const first = runs.execute(works, { session: "s", id: "r1", leaseMs: 60_000 });
      await held.reached;
      const stop = new AbortController();
      const resumed = other.runs.resume(works, "r1", { signal: stop.signal, onWait: () => stop.abort() });
      await refuses("Aborted", () => resumed);
      const closing = await nouns.another();
      const watched = closing.runs.resume(works, "r1", { onWait: () => void closing.close() });
      await refuses("Closed", () => watched);
      held.open();
      assert.equal((await first).value, 1);
    },
  ),
  prove("RU2 onWait is called once with what a call waits for, and may throw", [...NEEDS, "history"], async (nouns) => {
    const { runs, history } = nouns;
    const told: string[] = [];
    const first = Promise.withResolvers<void>();
    const waits = agent(async (it) => it.done(await it.waitFor("go")));
    const onWait = ({ reason }: { readonly reason: string }) => {
      told.push(reason);
      first.resolve();
      throw new Error("of the listener");
    };
    const waiting = runs.execute(waits, { session: "s", id: "r1" }, { onWait });
    await first.promise;
    // Each of them wakes the call, which looks and waits again.
    for (const content of ["a", "b", "c"]) {
      await history.append({ session: "s", agent: "ada" }, { role: "user", content });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await runs.signal("r1", "go", 1);
    assert.equal((await waiting).value, 1);
    assert.deepEqual(told, ["signal"]);
    assert.equal((await runs.get("r1"))?.idle, null, "a run that has ended is not idle");
  }),
  prove(
    "RU2 a call whose store is closed before its run has ended is Closed, and the run can be continued",
    [...NEEDS, "another"],
    async ({ runs, another }) => {
      const [first, second] = [gate(), gate()];
      const left = [first, second];
      const works = agent(async (it) => {
        await left.shift()?.pass();
        return it.done(1);
      });
      const [one, two, three] = [await another(), await another(), await another()];
      const working = one.runs.execute(works, { session: "s", id: "r1" });
      await first.reached;
      await Promise.all([refuses("Closed", () => working), one.close()]);
      const resumed = two.runs.resume(works, "r1");
      await second.reached;
      await Promise.all([refuses("Closed", () => resumed), two.close()]);
      assert.equal((await runs.execute(works, { session: "s", id: "r1" })).value, 1);
      const waits = agent(async (it) => it.done(await it.waitFor("go")));
      const waiting = three.runs.execute(waits, { session: "t", id: "r2" }, { onWait: () => void three.close() });
      await refuses("Closed", () => waiting);
      await runs.signal("r2", "go", 2);
      assert.equal((await runs.execute(waits, { session: "t", id: "r2" })).value, 2);
    },
  ),
];
