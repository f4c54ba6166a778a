// Iterations that were ended from outside: they have no further effects, and the next worker knows what had happened.
import assert from "node:assert/strict";
import type { AgentDefinition, Iteration } from "../../contracts/agent-definitions.ts";
import type { RunLimits } from "../../contracts/run-record.ts";
import type { StepCall } from "../../contracts/steps.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, NEEDS, type Nouns } from "./runs-agents.ts";

/** Until it is mended. */
function cardThatFails() {
  return {
    isBroken: true,
    pay() {
      if (this.isBroken) throw new Error("timeout");
      return "by card";
    },
  };
}

/** Charges three times; holds at the second, and minds no signal. */
function charging(recorder: EffectRecorder): {
  readonly charges: AgentDefinition;
  readonly held: ReturnType<typeof gate>;
} {
  const held = gate();
  const charges = agent(
    async (it) => {
      for (const n of [1, 2, 3]) await it.tool("charge", n);
      await it.message({ role: "user", content: "all charged" });
      return it.done(await it.now());
    },
    { tools: { charge: recorder.tool("charge", (n, { run }) => (n === 2 && run === "r1" ? held.pass() : n)) } },
  );
  return { charges, held };
}

/**
 * Ended in the middle of its second charge: that one is asked about, and the third is done by the run that retries it.
 */
async function takenUp(nouns: Nouns, limits: RunLimits, end: () => Promise<unknown>, status: string): Promise<void> {
  const { runs, log } = nouns;
  const recorder = new EffectRecorder();
  const { charges, held } = charging(recorder);
  const working = runs.execute(charges, { session: "s", id: "r1", limits, leaseMs: 300 });
  await held.reached;
  await end();
  const first = await working;
  assert.deepEqual([first.status, first.run.epoch], [status, 2], "its lease is over with it");
  held.open();
  // Whatever the iteration would do now, it has all the time it needs.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  const after = await log.read("s", { limit: 1000 });
  const over = after.findIndex(({ type }) => type === `run/${status}`);
  assert.deepEqual(
    after.slice(over + 1).filter(({ run }) => run === "r1"),
    [],
    "nothing follows its end",
  );
  assert.deepEqual(
    recorder.effects.map(({ input }) => input),
    [1, 2],
  );
  await runs.retry("r1", { id: "r2", limits: {} });
  const asks = await runs.resume(charges, "r2");
  assert.equal(asks.status, "waiting");
  const [question, ...more] = (await runs.pending({ run: "r2" })).items;
  assert.deepEqual([present(question).input, more], [2, []]);
  await runs.answer(present(question).id, { verdict: "result", result: "charged" });
  const done = await runs.resume(charges, "r2");
  assert.equal(done.status, "completed");
  assert.deepEqual(
    recorder.effects.map(({ input }) => input),
    [1, 2, 3],
    "each once",
  );
  await endedOnce(nouns, first.run);
  await endedOnce(nouns, done.run);
}

export const leftCases: readonly Case[] = [
  // An unhandled rejection would end the process, and the test runner would report it.
  prove("RU9 a failed step that the iteration does not await ends only itself", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const floats = agent(
      async (it) => {
        void it.tool("bad");
        void it.tool("none");
        void it.message(7 as never);
        await it
          .parallel(
            async (one) => one.tool("bad"),
            () => {
              throw new Error("at once");
            },
          )
          .catch(() => {});
        await it.tool("good");
        return it.done("well");
      },
      { tools: { bad: recorder.tool("bad", () => Promise.reject(new Error("bad"))), good: recorder.tool("good") } },
    );
    const { status, value, run } = await runs.execute(floats, { session: "s" });
    assert.deepEqual([status, value], ["completed", "well"]);
    await endedOnce(nouns, run);
  }),
  prove("RU9 a thrown value of any type ends the step or the run", NEEDS, async (nouns) => {
    const look = () => {
      throw new Error("do not look");
    };
    const strange = new Proxy({}, { get: look, getPrototypeOf: look, ownKeys: look });
    for (const where of ["tool", "iterate"]) {
      const throws = agent(
        async (it) => {
          if (where === "tool") await it.tool("t").catch(() => {});
          throw strange;
        },
        { tools: { t: { execute: () => Promise.reject(strange) } } },
      );
      const { status, error, run } = await nouns.runs.execute(throws, { session: where });
      assert.deepEqual([status, error?.code], ["failed", "Error"]);
      const steps = await nouns.runs.steps(run.id);
      assert.deepEqual(
        steps.map((step) => step.status),
        where === "tool" ? ["failed"] : [],
      );
      await endedOnce(nouns, run);
    }
  }),
  prove("RU11 a cancelled run does nothing any more, also if its tools ignore the signal", NEEDS, async (nouns) => {
    await takenUp(nouns, {}, () => nouns.runs.cancel("r1"), "cancelled");
  }),
  prove("RU11 so it is with one whose time is over", [...NEEDS, "clock"], async (nouns) => {
    await takenUp(nouns, { wallMs: 60_000 }, () => nouns.clock.advance(60_000), "failed");
  }),
  prove(
    "RU6 an answer reaches the iteration that waits for it, beside what else of it is at work",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      const [paying, fetching] = [gate(), gate()];
      let isUp = false;
      const ships = agent(
        async (it) => {
          const both = await it.parallel(
            async (one) => {
              await one.waitFor("go");
              await one.tool("fetch");
              return one.tool("ship");
            },
            async (two) => two.tool("pay", 1),
          );
          return it.done(both);
        },
        {
          tools: {
            pay: recorder.tool("pay", () => (isUp ? "paid" : paying.pass())),
            fetch: recorder.tool("fetch", () => fetching.pass().then(() => "fetched"), { effect: "idempotent" }),
            ship: recorder.tool("ship", () => "shipped"),
          },
        },
      );
      await runs.start(ships, { session: "s", id: "r" });
      await cutOff(runs, ships, "r", paying.reached);
      isUp = true;
      assert.equal((await runs.resume(ships, "r")).status, "waiting");
      const [question] = (await runs.pending()).items;
      await runs.signal("r", "go");
      const working = runs.resume(ships, "r");
      await fetching.reached;
      await runs.answer(present(question).id, { verdict: "result", result: "it was paid" });
      // Longer than waiting runs are left alone.
      await new Promise((resolve) => setTimeout(resolve, 1500));
      fetching.open();
      const done = await working;
      assert.deepEqual([done.status, done.value], ["completed", ["shipped", "it was paid"]]);
      assert.deepEqual([recorder.count("pay"), recorder.count("fetch"), recorder.count("ship")], [1, 1, 1]);
      await endedOnce(nouns, done.run);
    },
  ),
  prove("RU11 nor when what it did instead was in doubt, and a person said that it happened", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const [held, next] = [gate(), gate()];
    const pays = agent(
      async (it) => {
        const way = await it.tool("card").catch(() => it.tool("bank"));
        await it.tool("next");
        return it.done(way);
      },
      {
        tools: {
          card: recorder.tool("card", () => Promise.reject(new Error("timeout"))),
          bank: recorder.tool("bank", () => held.pass()),
          next: recorder.tool("next", () => next.pass().then(() => 1), { effect: "idempotent" }),
        },
      },
    );
    await runs.start(pays, { session: "s", id: "r1" });
    await cutOff(runs, pays, "r1", held.reached);
    await runs.cancel("r1");
    await runs.retry("r1", { id: "r2" });
    assert.equal((await runs.resume(pays, "r2")).status, "waiting");
    const [question] = (await runs.pending()).items;
    await runs.answer(present(question).id, { verdict: "result", result: "by bank" });
    await cutOff(runs, pays, "r2", next.reached);
    next.open();
    const done = await runs.resume(pays, "r2");
    assert.deepEqual([done.value, recorder.count("card"), recorder.count("bank")], ["by bank", 1, 1]);
    await endedOnce(nouns, done.run);
  }),
  prove("RU11 a retry does not repeat a failed step with which the run had continued", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const card = cardThatFails();
    const pays = agent(
      async (it) => {
        const way = await it.tool("card").catch(() => it.tool("bank"));
        if (card.isBroken) throw new Error("a mistake of its own");
        return it.done(way);
      },
      { tools: { card: recorder.tool("card", () => card.pay()), bank: recorder.tool("bank", () => "by bank") } },
    );
    await runs.execute(pays, { session: "s", id: "r1" });
    card.isBroken = false;
    await runs.retry("r1", { id: "r2" });
    const done = await runs.resume(pays, "r2");
    assert.deepEqual([done.value, recorder.count("card"), recorder.count("bank")], ["by bank", 1, 1]);
    await endedOnce(nouns, done.run);
  }),
  prove(
    "RU11 what failed and ended the run is tried again, also when something else was thrown for it",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      const card = cardThatFails();
      const pays = agent(
        async (it) => {
          const [way] = await it.parallel(
            (one) =>
              one.tool("card").catch((cause: unknown) => {
                throw new Error("could not pay", { cause });
              }),
            (two: Iteration) => two.tool("note"),
          );
          return it.done(way);
        },
        {
          tools: {
            card: recorder.tool("card", () => card.pay()),
            note: recorder.tool("note", () => new Promise((done) => setTimeout(done, 50, 1))),
          },
        },
      );
      const first = await runs.execute(pays, { session: "s", id: "r1" });
      assert.equal(first.error?.message, "could not pay");
      card.isBroken = false;
      await runs.retry("r1", { id: "r2" });
      const done = await runs.resume(pays, "r2");
      assert.deepEqual([done.value, recorder.count("card"), recorder.count("note")], ["by card", 2, 1]);
    },
  ),
  prove("RU6 a retry of a cancelled run asks its questions anew", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const held = gate();
    const pays = agent(async (it) => it.done(await it.tool("pay")), {
      tools: { pay: recorder.tool("pay", () => held.pass()) },
    });
    await runs.start(pays, { session: "s", id: "r1" });
    await cutOff(runs, pays, "r1", held.reached);
    assert.equal((await runs.resume(pays, "r1")).status, "waiting");
    await runs.cancel("r1");
    await runs.retry("r1", { id: "r2" });
    assert.equal((await runs.resume(pays, "r2")).status, "waiting");
    const [question] = (await runs.pending()).items;
    assert.equal(present(question).run, "r2");
    await runs.answer(present(question).id, { verdict: "result", result: 7 });
    const done = await runs.resume(pays, "r2");
    assert.deepEqual([done.status, done.value, recorder.count("pay")], ["completed", 7, 1]);
    await endedOnce(nouns, done.run);
  }),
  prove(
    "RU12 a tool that was not repeatable when its step began is not repeated, also if it is declared repeatable now",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      const held = gate();
      const of = (effect: "idempotent" | "non-idempotent") =>
        agent(async (it) => it.done(await it.tool("pay")), {
          tools: { pay: recorder.tool("pay", () => held.pass(), { effect }) },
        });
      await runs.start(of("non-idempotent"), { session: "s", id: "r" });
      await cutOff(runs, of("non-idempotent"), "r", held.reached);
      const { status } = await runs.resume(of("idempotent"), "r", { allowMismatch: true });
      assert.deepEqual([status, recorder.count("pay")], ["waiting", 1]);
    },
  ),
  prove(
    "RU6 a tool that is cut off by the signal is in doubt, not failed: a worker that stops politely is like one that dies",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      const reached = { pay: Promise.withResolvers<void>(), look: Promise.withResolvers<void>() };
      // As fetch(url, { signal }) does.
      const minding =
        (name: "pay" | "look") =>
        (_input: unknown, { signal, again }: StepCall) => {
          if (again) return name;
          reached[name].resolve();
          return new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(new Error("the operation was aborted")));
          });
        };
      const retry = { attempts: 3 };
      const works = agent(async (it) => it.done([await it.tool("look"), await it.tool("pay")]), {
        tools: {
          look: recorder.tool("look", minding("look"), { effect: "idempotent", retry }),
          pay: recorder.tool("pay", minding("pay"), { effect: "non-idempotent", retry }),
        },
      });
      await runs.start(works, { session: "s", id: "r" });
      await cutOff(runs, works, "r", reached.look.promise);
      await cutOff(runs, works, "r", reached.pay.promise);
      assert.deepEqual([(await runs.resume(works, "r")).status, recorder.count("pay")], ["waiting", 1]);
      const [question] = (await runs.pending()).items;
      await runs.answer(present(question).id, { verdict: "retry" });
      const done = await runs.resume(works, "r");
      assert.deepEqual(done.value, ["look", "pay"]);
      assert.equal(new Set(recorder.effects.map(({ key }) => key)).size, 2, "each under one key");
      await endedOnce(nouns, done.run);
    },
  ),
  prove(
    "RU2 SE10 a child in a fork of its session leaves none of its messages, and the store is sound",
    NEEDS,
    async (nouns) => {
      const { runs, history, check } = nouns;
      const helps = agent(
        async (it) => {
          await it.message({ role: "user", content: "to be forgotten" });
          return it.done();
        },
        { id: "helper" },
      );
      const asks = agent(async (it) => {
        await it.spawn(helps, { sameSession: true, forget: true });
        return it.done();
      });
      await runs.execute(asks, { session: "s", id: "r" });
      await runs.fork("r", { id: "f", session: "fork", iteration: 0 });
      assert.equal((await runs.resume(asks, "f")).status, "completed");
      assert.deepEqual(await history.get({ session: "fork", agent: "helper" }), []);
      assert.deepEqual((await check({ mode: "deep" })).issues, []);
    },
  ),
  prove("RU11 a run is retried once, also if the run that retried it was deleted", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    let broken = 2;
    const works = agent(
      async (it) => {
        await it.tool("pay", 1);
        await it.tool("fail");
        return it.done(await it.tool("pay", 2));
      },
      {
        tools: {
          pay: recorder.tool("pay"),
          fail: recorder.tool("fail", () => {
            if (broken-- > 0) throw new Error("not yet");
            return null;
          }),
        },
      },
    );
    await runs.execute(works, { session: "s", id: "r1" });
    await runs.retry("r1", { id: "r2" });
    await refuses("Conflict", () => runs.delete("r1"));
    assert.equal((await runs.resume(works, "r2")).status, "failed");
    await refuses("Conflict", () => runs.retry("r1", { id: "r3" }));
    await runs.retry("r2", { id: "r4" });
    await refuses("Conflict", () => runs.delete("r1"));
    assert.equal((await runs.resume(works, "r4")).status, "completed");
    for (const id of ["r4", "r2"]) assert.equal(await runs.delete(id), true);
    await refuses("Conflict", () => runs.retry("r1", { id: "r5" }));
    assert.deepEqual(
      recorder.effects.filter(({ tool }) => tool === "pay").map(({ input }) => input),
      [1, 2],
    );
  }),
  ...[false, true].map((sameSession) =>
    prove(
      `RU11 a child that was cancelled with its parent is retried with it, ${sameSession ? "in its session" : "in one of its own"}`,
      NEEDS,
      async (nouns) => {
        const { runs } = nouns;
        const recorder = new EffectRecorder();
        const held = gate();
        const helps = agent(
          async (it) => {
            await it.message({ role: "user", content: "I help" });
            for (const n of [1, 2, 3]) await it.tool("pay", n);
            return it.done("helped");
          },
          { id: "helper", tools: { pay: recorder.tool("pay", (n) => (n === 2 ? held.pass() : n)) } },
        );
        const asks = agent(async (it) => it.done((await it.spawn(helps, { sameSession, forget: sameSession })).value));
        const working = runs.execute(asks, { session: "s", id: "r1", leaseMs: 300 }, { wait: false });
        await held.reached;
        await runs.cancel("r1");
        const first = await working;
        assert.equal(first.status, "cancelled");
        held.open();
        await runs.retry("r1", { id: "r2" });
        const worker = runs.createWorker({ agents: [asks, helps], pollMs: 20 });
        worker.start();
        let [question] = (await runs.pending()).items;
        while (question === undefined) {
          await new Promise((resolve) => setTimeout(resolve, 20));
          [question] = (await runs.pending()).items;
        }
        assert.deepEqual([question.step.name, question.input], ["pay", 2]);
        await runs.answer(question.id, { verdict: "result", result: "paid" });
        let done = present(await runs.result("r2"));
        while (done.run.endedAt === null) {
          await new Promise((resolve) => setTimeout(resolve, 20));
          done = present(await runs.result("r2"));
        }
        await worker.stop();
        assert.deepEqual([done.status, done.value], ["completed", "helped"]);
        assert.deepEqual(
          recorder.effects.map(({ input }) => input),
          [1, 2, 3],
          "each once",
        );
        await endedOnce(nouns, done.run);
      },
    ),
  ),
];
