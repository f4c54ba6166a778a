// The messages for a run that waits for a person or has failed: they contain the question, and how to answer it.
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { RunWait } from "../contracts/run-waits.ts";
import { open } from "../open.ts";
import { agent } from "../testing/suites/runs-agents.ts";

let hf: Holdfast;
beforeEach(async () => {
  hf = await open(":memory:");
});
afterEach(() => hf.close());

test("RU2 onWait and run.idle name the tool, the question, and the command that answers it", async () => {
  const reached = Promise.withResolvers<void>();
  let done = 0;
  const pay = {
    approve: true,
    execute: () => {
      reached.resolve();
      return ++done === 1 ? new Promise(() => {}) : "paid";
    },
  };
  const pays = agent(async (it) => it.done(await it.tool("pay", 7)), { tools: { pay } });
  /** The arguments of `onWait` of a call that waits for the run, and the run's `idle`. */
  async function readWait(): Promise<readonly [string, string]> {
    const told = Promise.withResolvers<RunWait>();
    const stop = new AbortController();
    const call = hf.runs.execute(pays, { session: "s", id: "n 2" }, { onWait: told.resolve, signal: stop.signal });
    const { message } = await told.promise;
    stop.abort();
    await expect(call).rejects.toMatchObject({ code: "Aborted" });
    const idle = (await hf.runs.get("n 2"))?.idle;
    const { run } = await hf.runs.execute(pays, { session: "s", id: "n 2" }, { wait: false });
    expect(run.idle).toEqual(idle);
    return [message, `${idle?.message} ${idle?.hint}`];
  }

  const [asked, shown] = await readWait();
  const id = (await hf.runs.pending()).items[0]?.id ?? "";
  const how =
    "`npx holdfast runs pending 'n 2'` shows the question and the commands that answer it; " +
    `a program calls runs.answer("${id}", …).`;
  expect(asked).toBe(
    `Run "n 2" waits for a person's decision on ${id} (approval: may the tool "pay" be done?). ${how}`,
  );
  expect(shown).toBe(asked);
  await hf.runs.answer(id, { verdict: "retry" });
  const worker = hf.runs.createWorker({ agents: [pays] });
  await worker.look();
  await reached.promise;
  await worker.stop({ graceMs: 0 });
  const [doubted, still] = await readWait();
  expect(doubted).toBe(
    `Run "n 2" waits for a person's decision on ${id} (in doubt: did the tool "pay" happen?). ${how}`,
  );
  expect(still).toBe(doubted);
});

test("RU2 the hint of a failed run names the command that retries it", async () => {
  const fails = agent((it) => it.fail(new Error("no")));
  const { error } = await hf.runs.execute(fails, { session: "s", id: "f1" });
  expect(error?.hint).toContain('`npx holdfast runs retry f1` or runs.retry("f1") continues it');
});
