// What callers do to runs: cancel, retry, save checkpoints of their own, listen.
import assert from "node:assert/strict";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, endedOnce, gate, NEEDS } from "./runs-agents.ts";

export const verbCases: readonly Case[] = [
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
      session: "s",
      agent: "ada",
      iteration: 3,
      state: { at: "3" },
      pendingToolCalls: pending,
      lastToolResult: { ok: true },
      pauseUntil: 99,
      stopReason: "paused",
      startedAt: 1,
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
    "RU13 a worker claims due runs by priority, no more than its limit, and releases what it has",
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
  prove("RU8 tokens reach listeners, and are stored nowhere", NEEDS, async ({ runs, log }) => {
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
