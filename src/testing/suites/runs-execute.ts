// execute() called again: it begins a run, continues it, or returns what came of it, and waits for what the run waits
// for.
import assert from "node:assert/strict";
import type { RunWait } from "../../contracts/run-waits.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, gatedAgent, NEEDS } from "./runs-agents.ts";

const paying = (recorder: EffectRecorder) =>
  agent(async (it) => it.done(await it.tool("pay", it.input)), { tools: { pay: recorder.tool("pay") } });

export const executeCases: readonly Case[] = [
  prove("RU2 execute with an id begins the run, and called again returns what came of it", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const pays = paying(recorder);
    const first = await runs.execute(pays, { session: "s", id: "r1", input: { amount: 5, to: "ada" } });
    const again = await runs.execute(pays, { session: "s", id: "r1", input: { to: "ada", amount: 5 } });
    assert.deepEqual([first.status, again.status, again.value], ["completed", "completed", { amount: 5, to: "ada" }]);
    assert.deepEqual([again.run.id, again.run.version], [first.run.id, first.run.version]);
    assert.equal(recorder.count("pay"), 1);
    // What has ended is returned, whatever the program has become since.
    const newer = await runs.execute(
      { ...pays, version: "2" },
      { session: "s", id: "r1", input: { amount: 5, to: "ada" } },
    );
    assert.equal(newer.status, "completed");
    await endedOnce(nouns, first.run);
  }),
  prove("RU2 the same id with another session, agent or input is a Conflict", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const pays = paying(recorder);
    await runs.execute(pays, { session: "s", id: "r1", input: 1 });
    await refuses("Conflict", () => runs.execute(pays, { session: "s", id: "r1", input: 2 }));
    await refuses("Conflict", () => runs.execute(pays, { session: "s", id: "r1" }));
    await refuses("Conflict", () => runs.execute(pays, { session: "t", id: "r1", input: 1 }));
    await refuses("Conflict", () => runs.execute({ ...pays, id: "bob" }, { session: "s", id: "r1", input: 1 }));
    await refuses("Conflict", () => runs.start(pays, { session: "s", id: "r1", input: 2 }));
    assert.equal((await runs.start(pays, { session: "s", id: "r1", input: 1 })).status, "completed");
    assert.equal(recorder.count("pay"), 1);
  }),
  prove("RU2 execute continues a run that was cut off, with its id or without one", NEEDS, async (nouns) => {
    const { runs } = nouns;
    for (const session of ["named", "unnamed"]) {
      const recorder = new EffectRecorder();
      const held = gate();
      let isFirst = true;
      const pays = agent(
        async (it) => {
          const paid = await it.tool("pay", it.input);
          if (isFirst) await held.pass();
          return it.done(paid);
        },
        { tools: { pay: recorder.tool("pay") } },
      );
      await runs.start(pays, { session, id: session, input: 7 });
      await cutOff(runs, pays, session, held.reached);
      isFirst = false;
      const id = session === "named" ? { id: session } : {};
      const done = await runs.execute(pays, { session, ...id, input: 7 });
      assert.deepEqual([done.run.id, done.status, done.value, recorder.count("pay")], [session, "completed", 7, 1]);
      held.open();
      await endedOnce(nouns, done.run);
    }
  }),
  prove("RU2 without an id anything else that is unfinished is SessionBusy, which names it", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const waits = agent(async (it) => it.done(await it.waitFor("go")));
    const { run } = await runs.execute(waits, { session: "s", input: 1 }, { wait: false });
    const otherInput = await refuses("SessionBusy", () => runs.execute(waits, { session: "s", input: 2 }));
    for (const text of [run.id, "runs.resume", "runs.cancel"]) {
      assert.ok(`${otherInput.message} ${otherInput.hint}`.includes(text), `${text} in ${otherInput.hint}`);
    }
    await refuses("SessionBusy", () => runs.execute({ ...waits, id: "bob" }, { session: "s", input: 1 }));
    await refuses("SessionBusy", () => runs.execute(waits, { session: "s", id: "another", input: 1 }));
    await refuses("AgentMismatch", () => runs.execute({ ...waits, version: "2" }, { session: "s", input: 1 }));
    // A living worker of this process has it: another call without an id is another piece of work.
    await runs.cancel(run.id);
    const { held, works } = gatedAgent(1);
    const working = runs.execute(works, { session: "s" });
    await held.reached;
    await refuses("SessionBusy", () => runs.execute(works, { session: "s" }));
    held.open();
    assert.equal((await working).status, "completed");
  }),
  prove("RU2 calls at once with one id all get the one result", [...NEEDS, "another"], async (nouns) => {
    const recorder = new EffectRecorder();
    const pays = paying(recorder);
    const others = await Promise.all([nouns.another(), nouns.another()]);
    const all = [nouns, ...others].flatMap(({ runs }) => [runs, runs]);
    const results = await Promise.all(all.map((runs) => runs.execute(pays, { session: "s", id: "r1", input: 3 })));
    assert.deepEqual(
      results.map(({ status, value }) => [status, value]),
      results.map(() => ["completed", 3]),
    );
    assert.equal(recorder.count("pay"), 1);
    await endedOnce(nouns, present(results[0]).run);
  }),
  prove("RU2 a run that waits is waited for and never given the input; a signal delivers", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const asks = agent(async (it) => it.done(await it.waitFor("approval")));
    const waits: RunWait[] = [];
    const { run } = await runs.execute(asks, { session: "s", id: "r1", input: { order: 7 } }, { wait: false });
    const rerun = runs.execute(asks, { session: "s", id: "r1", input: { order: 7 } }, { onWait: (w) => waits.push(w) });
    while (waits.length === 0) await new Promise((later) => setTimeout(later, 5));
    assert.deepEqual([waits[0]?.reason, waits[0]?.waitsFor], ["signal", [{ kind: "signal", name: "approval" }]]);
    assert.ok(waits[0]?.message.includes('runs.signal("r1", "approval"'), waits[0]?.message);
    assert.equal((await runs.get("r1"))?.status, "waiting");
    await runs.signal(run.id, "approval", { ok: true });
    const done = await rerun;
    assert.deepEqual([done.status, done.value], ["completed", { ok: true }]);
    assert.equal(waits.length, 1, "each thing that is waited for is told once");
  }),
  prove(
    "RU2 a paused run is waited for until its time, or until a person ends the pause",
    [...NEEDS, "clock"],
    async (nouns) => {
      const { runs, clock } = nouns;
      const naps = agent(async (it) => {
        await it.pause(5);
        return it.done("rested");
      });
      for (const [id, wake] of [
        ["time", () => clock.advance(5 * 60_000 + 1)],
        ["person", () => runs.unpause("person")],
      ] as const) {
        const told = Promise.withResolvers<RunWait>();
        const done = runs.execute(naps, { session: id, id }, { onWait: told.resolve });
        const wait = await told.promise;
        assert.deepEqual([wait.reason, wait.run], ["paused", id]);
        assert.ok((wait.atMostMs ?? 0) > 0 && (wait.atMostMs ?? 0) <= 5 * 60_000, `at most ${wait.atMostMs}`);
        await wake();
        // The clock of the suite moves by hand: it is advanced for callers that poll.
        const ticking = setInterval(() => void clock.advance(500), 5);
        assert.equal((await done.finally(() => clearInterval(ticking))).value, "rested");
      }
    },
  ),
  prove(
    "RU2 a failed run gives its recorded error with the way to retry it, and its retry's result after that",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      let isBroken = true;
      const flaky = agent(
        async (it) => {
          await it.tool("first");
          return it.done(await it.tool("second"));
        },
        {
          tools: {
            first: recorder.tool("first"),
            second: recorder.tool("second", () => {
              if (isBroken) throw new Error("no connection");
              return "sent";
            }),
          },
        },
      );
      const input = { session: "s", id: "r1" };
      const failed = await runs.execute(flaky, input);
      const again = await runs.execute(flaky, input);
      assert.deepEqual([failed.status, again.status, again.error?.message], ["failed", "failed", "no connection"]);
      assert.ok(again.error?.hint?.includes('runs.retry("r1")'), again.error?.hint);
      assert.equal(recorder.count("second"), 1, "a rerun does not retry by itself");
      isBroken = false;
      await runs.retry("r1");
      const done = await runs.execute(flaky, input);
      assert.deepEqual([done.status, done.value, recorder.count("first")], ["completed", "sent", 1]);
      await runs.execute(
        agent((it) => it.waitFor("never").then(() => it.done())),
        { session: "t", id: "r2" },
        { wait: false },
      );
      await runs.cancel("r2");
      const cancelled = await runs.execute(
        agent((it) => it.done()),
        { session: "t", id: "r2" },
      );
      assert.deepEqual([cancelled.status, cancelled.error?.hint?.includes('runs.retry("r2")')], ["cancelled", true]);
    },
  ),
  prove("RU2 after a rewind the same id means the run that began in its place", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const asks = agent(async (it) => it.done(await it.waitFor("go")));
    await runs.execute(asks, { session: "s", id: "r1" }, { wait: false });
    const anew = await runs.rewind("r1", { iteration: 0 });
    assert.equal((await runs.get("r1"))?.status, "cancelled");
    await runs.signal(anew.id, "go", "again");
    const done = await runs.execute(asks, { session: "s", id: "r1" });
    assert.deepEqual([done.run.id, done.value], [anew.id, "again"]);
  }),
  prove("RU4 a run contains the reason why a call could not continue it", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const held = gate();
    const first = agent(
      async (it) => {
        await it.tool("one");
        await it.tool("wait");
        return it.done(1);
      },
      { tools: { one: { execute: () => 1 }, wait: { effect: "idempotent", execute: () => held.pass() } } },
    );
    await runs.start(first, { session: "s", id: "r1" });
    await cutOff(runs, first, "r1", held.reached);
    held.open();
    const changed = { ...first, iterate: agent(async (it) => it.done(await it.tool("wait"))).iterate };
    const refused = await refuses("NonDeterminism", () => runs.execute(changed, { session: "s", id: "r1" }));
    assert.ok(refused.hint?.includes('runs.rewind("r1"'), refused.hint);
    const { error, idle, owner } = present(await runs.get("r1"));
    assert.deepEqual([error?.code, idle?.reason, owner], ["NonDeterminism", "retry-later", null]);
    assert.equal((await runs.execute(first, { session: "s", id: "r1" })).status, "completed");
  }),
  prove("RU2 a child that waits is continued by its parent's call, without a worker", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const kid = agent(async (it) => it.done(await it.waitFor("go")), { id: "kid" });
    const parent = agent(async (it) => it.done((await it.spawn(kid)).value));
    const told = Promise.withResolvers<RunWait>();
    const done = runs.execute(parent, { session: "s", id: "top" }, { onWait: told.resolve });
    const wait = await told.promise;
    assert.equal(wait.reason, "run");
    const child = present((await runs.list({ agent: "kid" })).items[0]);
    assert.deepEqual(wait.waitsFor, [{ kind: "run", run: child.id }]);
    await runs.signal(child.id, "go", "went");
    assert.deepEqual([(await done).status, (await done).value], ["completed", "went"]);
  }),
  prove("RU2 a call that is aborted lets go of the run, and another continues it", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const held = gate();
    let isFirst = true;
    const works = agent(async (it) => {
      await it.now();
      if (isFirst) await held.pass();
      return it.done("ended");
    });
    const stop = new AbortController();
    const first = runs.execute(works, { session: "s", id: "r1" }, { signal: stop.signal });
    await held.reached;
    stop.abort();
    await refuses("Aborted", () => first);
    isFirst = false;
    held.open();
    assert.equal((await runs.get("r1"))?.owner, null);
    assert.equal((await runs.get("r1"))?.idle?.reason, "queued");
    assert.equal((await runs.execute(works, { session: "s", id: "r1" })).value, "ended");
    await refuses("Aborted", () => runs.execute(works, { session: "s", id: "r2" }, { signal: stop.signal }));
    assert.equal(await runs.get("r2"), null, "nothing was begun");
  }),
  prove(
    "RU3 a call waits for the worker that has the run, and says whom it waits for",
    [...NEEDS, "another"],
    async (nouns) => {
      const { runs } = nouns;
      const other = await nouns.another();
      const { held, works } = gatedAgent("by the first");
      const first = other.runs.execute(works, { session: "s", id: "r1", leaseMs: 60_000 });
      await held.reached;
      const told = Promise.withResolvers<RunWait>();
      const second = runs.execute(works, { session: "s", id: "r1" }, { onWait: told.resolve });
      const wait = await told.promise;
      const owner = (await runs.get("r1"))?.owner;
      assert.deepEqual([wait.reason, wait.owner?.worker], ["owner", owner]);
      assert.ok((wait.atMostMs ?? 0) > 0 && (wait.atMostMs ?? 0) <= 60_000);
      held.open();
      assert.deepEqual([(await first).value, (await second).value], ["by the first", "by the first"]);
    },
  ),
];
