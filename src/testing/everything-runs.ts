// Creates runs of every kind that the public API can make: ended in every way, waiting for everything, retried,
// deleted.
import type { Runs } from "../contracts/runs.ts";
import { agent, cutOff, gate } from "./suites/runs-agents.ts";

const LONG = "a result too long for its row, word after word. ".repeat(60);

export async function fillRuns(runs: Runs): Promise<void> {
  const worker = agent(
    async (it, n: number) => {
      await it.message({ role: "user", content: `turn ${n}` });
      const reply = await it.model({ n });
      await it.parallel(
        (one) => one.tool("long", n),
        (one) => one.sleep(0),
      );
      const helped = await it.spawn(helper, { input: n, sameSession: n === 1, forget: n === 1 });
      await it.now();
      return n === 3 ? it.done([reply.output, helped.status]) : it.next(n + 1);
    },
    {
      initial: () => 1,
      tools: { long: { execute: (n) => `${LONG}${n}` } },
      models: { m: { model: "m-1", provider: "p", call: () => ({ output: LONG, inputTokens: 1, costUsd: 0.25 }) } },
    },
  );
  const helper = agent(
    async (it) => {
      await it.message({ role: "user", content: "scratch" });
      return it.input === 3 ? it.fail("no") : it.done(it.input);
    },
    { id: "helper" },
  );
  await runs.execute(worker, { session: "worked", id: "run-worked", limits: { iterations: 9 }, priority: 1 });
  await runs.execute(worker, { session: "worked", id: "run-deleted" });
  await runs.delete("run-deleted");
  await runs.saveCheckpoint({ session: "worked", agent: "bob", iteration: 1, state: "old" });
  await runs.deleteCheckpoint("worked", "bob");
  await runs.saveCheckpoint({ session: "worked", agent: "bob", iteration: 2, state: { long: LONG } });
  await fillWaiting(runs);
  await fillAsked(runs);
  await fillFailed(runs);
}

async function fillWaiting(runs: Runs): Promise<void> {
  const waits = agent(
    async (it, n: number) => {
      const heard = await it.waitFor("go", { timeoutMs: 3_600_000 });
      return n === 2 ? it.done(heard) : it.next(n + 1);
    },
    { initial: () => 1 },
  );
  await runs.execute(waits, { session: "waits", id: "run-waits" }, { wait: false });
  await runs.signal("run-waits", "go", 1);
  await runs.resume(waits, "run-waits");
  await runs.signal("run-waits", "other", { long: LONG });
  const pauses = agent(async (it) => it.done(await it.pause(30)));
  await runs.execute(pauses, { session: "pauses", id: "run-pauses" }, { wait: false });
}

/** A run with two questions about the same step, of which one is answered. */
async function fillAsked(runs: Runs): Promise<void> {
  let held = gate();
  const pays = agent(async (it) => it.done(await it.tool("pay", 5)), {
    tools: { pay: { execute: () => held.pass().then(() => "paid") } },
  });
  await runs.start(pays, { session: "asked", id: "run-asked" });
  await cutOff(runs, pays, "run-asked", held.reached);
  await runs.resume(pays, "run-asked");
  for (const { id } of (await runs.pending({ run: "run-asked" })).items)
    await runs.answer(id, { verdict: "retry", by: "eve" });
  held = gate();
  await cutOff(runs, pays, "run-asked", held.reached);
  await runs.resume(pays, "run-asked");
}

async function fillFailed(runs: Runs): Promise<void> {
  const fails = agent(async (it, n: number) => (n === 2 ? it.done(await it.tool("down")) : it.next(n + 1)), {
    initial: () => 1,
    tools: { down: { execute: () => Promise.reject(new Error("down")) } },
  });
  await runs.execute(fails, { session: "failed", id: "run-failed" });
  await runs.retry("run-failed", { id: "run-again" });
  await runs.cancel("run-again");
  await runs.fork("run-failed", { iteration: 1, session: "branched", id: "run-branched" });
  await runs.rewind("run-failed", { iteration: 1, state: 1, id: "run-rewound" });
}
